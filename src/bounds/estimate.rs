//! How many there are in each class of a grid, by noisy counts: post-processing.
//!
//! Far up nearly all classes are empty, and there are many: their noise, times values of thousands,
//! would decide. So a count far above all others is believed only if noise hardly gets there, the
//! less the farther away it is: a false belief costs noise in proportion to the bound, and its chance
//! falls faster than that grows.
//!
//! Above the last class that is believed a tail goes on that noise hides. What it could be is weighed
//! by the noisy counts: power laws that continue the octave below, none of which falls more slowly than
//! that one does below the octave before, as tails seldom become heavier.

use super::grid::Grid;

/// How many scales of noise a count has to be, at least, to be believed next to others.
const BELIEVED: f64 = 6.0;
/// How many more for each natural logarithm of how far away it is.
const FARTHER: f64 = 1.3;
/// How many more for each further class that is looked at together.
const TOGETHER: f64 = 2.0;
/// At most so many classes are looked at together: two octaves.
const MOST_TOGETHER: usize = 4;
/// The classes of an octave, by which tails continue.
const OCTAVE: usize = 2;
/// The exponents of the tails that are weighed: the number above c falls with c^-a.
const EXPONENTS: [f64; 8] = [1.2, 1.6, 2.2, 3.0, 4.5, 7.0, 12.0, 1000.0];

/// None is negative. `noisy`: a count for each class; `scale`: of its Laplace noise.
pub(super) fn estimate(grid: &Grid, noisy: &[i64], scale: f64) -> Vec<f64> {
    let noisy: Vec<f64> = noisy.iter().map(|count| *count as f64).collect();
    let last = last_believed(grid, &noisy, scale);
    let mut estimates: Vec<f64> = noisy.iter().map(|count| count.max(0.0)).collect();
    estimates.truncate(last + 1);
    let tail = tail(grid, &noisy, scale, last, &estimates);
    estimates.extend(tail);
    estimates
}

/// The highest class that is believed not to be empty; the first one always is.
fn last_believed(grid: &Grid, noisy: &[f64], scale: f64) -> usize {
    let mut last = 0;
    for class in 1..noisy.len() {
        if noisy[class] <= 0.0 {
            continue;
        }
        let farther = (grid.upper(class) / grid.upper(last)).ln();
        let most = MOST_TOGETHER.min(class - last);
        let is_believed = (1..=most).any(|together| {
            let sum: f64 = noisy[class + 1 - together..=class].iter().sum();
            sum > scale * (BELIEVED + FARTHER * farther + TOGETHER * (together - 1) as f64)
        });
        if is_believed {
            last = class;
        }
    }
    last
}

/// Of the classes above the last that is believed.
fn tail(grid: &Grid, noisy: &[f64], scale: f64, last: usize, believed: &[f64]) -> Vec<f64> {
    let above = last + 1..noisy.len();
    let octave = OCTAVE.min(last);
    let mass: f64 = believed[last + 1 - octave..].iter().sum();
    if octave == 0 || mass == 0.0 {
        return vec![0.0; above.len()];
    }
    // of those above the lower end of the octave, what is above an upper end, less what is above the last
    let beyond =
        |class: usize, exponent: f64| (grid.upper(class) / grid.upper(last)).powf(-exponent);
    let tails = EXPONENTS.map(|exponent| {
        let in_octave = beyond(last - octave, exponent) - 1.0;
        let of_class = |class: usize| {
            let next = if class + 1 < noisy.len() { beyond(class, exponent) } else { 0.0 };
            mass * (beyond(class - 1, exponent) - next) / in_octave
        };
        above.clone().map(of_class).collect::<Vec<f64>>()
    });
    let fall = fall(grid, believed, octave);
    let steepest = EXPONENTS.len() - 1;
    // log-likelihoods, less that of empty classes
    let mut likelihoods = tails.each_ref().map(|tail| {
        let of_class = |(expected, noisy): (&f64, &f64)| noisy.abs() - (noisy - expected).abs();
        tail.iter().zip(&noisy[above.clone()]).map(of_class).sum::<f64>() / scale
    });
    for (likelihood, exponent) in likelihoods.iter_mut().zip(EXPONENTS).take(steepest) {
        if exponent < fall {
            *likelihood = f64::NEG_INFINITY;
        }
    }
    let largest = likelihoods.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights = likelihoods.map(|likelihood| (likelihood - largest).exp());
    let all: f64 = weights.iter().sum();
    let mean =
        |n: usize| tails.iter().zip(&weights).map(|(tail, weight)| tail[n] * weight).sum::<f64>();
    (0..above.len()).map(|n| mean(n) / all).collect()
}

/// The exponent by which the last octave that is believed is less than the one before it; 0 where that
/// cannot be told.
fn fall(grid: &Grid, believed: &[f64], octave: usize) -> f64 {
    let last = believed.len() - 1;
    let middle = last - octave;
    let first = middle.saturating_sub(octave);
    let mass = |classes: &[f64]| classes.iter().sum::<f64>();
    let (before, after) = (mass(&believed[first + 1..=middle]), mass(&believed[middle + 1..]));
    if first == middle || before <= 0.0 || after <= 0.0 {
        return 0.0;
    }
    (before / after).ln() / (grid.upper(middle) / grid.upper(first)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(grid: &Grid, of: &[(usize, i64)]) -> Vec<i64> {
        let mut counts = vec![0; grid.classes()];
        of.iter().for_each(|(class, count)| counts[*class] = *count);
        counts
    }

    #[test]
    fn what_ends_at_once_has_no_tail() {
        let grid = Grid::up_to(1000);
        let noisy = counts(&grid, &[(0, 500), (1, 800), (2, 900), (7, -3), (9, 4)]);
        let estimates = estimate(&grid, &noisy, 1.0);
        assert_eq!(estimates[..3], [500.0, 800.0, 900.0]);
        assert!(estimates[3..].iter().sum::<f64>() < 0.5, "{estimates:?}");
    }

    #[test]
    fn what_falls_slowly_goes_on_below_the_noise() {
        let grid = Grid::up_to(1000);
        let above = |class: usize| 1500.0 / grid.upper(class).powi(2);
        let noisy: Vec<i64> = (0..grid.classes())
            .map(|class| if class == 0 { 5000 } else { (above(class - 1) - above(class)) as i64 })
            .collect();
        // 160 are believed, 94 are not
        let last = 2;
        let estimates = estimate(&grid, &noisy, 20.0);
        let (hidden, true_tail) = (estimates[last + 1..].iter().sum::<f64>(), above(last));
        assert!(hidden > true_tail / 4.0 && hidden < true_tail * 2.0, "{hidden} of {true_tail}");
    }

    #[test]
    fn far_away_a_count_has_to_be_larger() {
        let grid = Grid::up_to(1 << 40);
        let (near, far) = (3, 59); // 4 and 2^30
        let is_believed = |class: usize, count: i64| {
            estimate(&grid, &counts(&grid, &[(0, 10_000), (class, count)]), 10.0)[class]
                == count as f64
        };
        // 60 and 13 ln 4, 13 ln 2^30
        assert!(is_believed(near, 79) && !is_believed(near, 77));
        assert!(is_believed(far, 331) && !is_believed(far, 330));
        // some small ones together
        let together = counts(&grid, &[(0, 10_000), (3, 40), (4, 40), (5, 40), (6, 40)]);
        assert_eq!(estimate(&grid, &together, 10.0)[6], 40.0);
    }

    #[test]
    fn nothing_is_negative_whatever_is_measured() {
        for grid in [Grid::up_to(1), Grid::up_to(2), Grid::up_to(1 << 40)] {
            for count in [i64::MIN, -1, 0, 1, i64::MAX] {
                let estimates = estimate(&grid, &vec![count; grid.classes()], 1.0);
                assert!(estimates.iter().all(|n| *n >= 0.0 && n.is_finite()), "{estimates:?}");
                assert_eq!(estimates.len(), grid.classes());
            }
        }
    }
}
