//! How far off estimates by the cut are, size by size.
//!
//! Of a cumulative count, where v is the noise's variance and there are d groups per size; E =
//! v (2v + 1)^(-1/2) is the mean of discrete Laplace noise without its sign.
//!
//! - Rows, as sizes are known to within E: E d groups are on the wrong side.
//! - Columns and rows together where d >= 1, whose posterior smooths itself: 1.15 d v^(1/4) (1 + v / 450),
//!   which was found by measuring, up to v = 800; twice that of rows at most, and E at least.
//! - Columns that were smoothed as a random walk with steps of variance d, as in a region below
//!   another that it is like ([`coco`](crate::coco)): the stationary variance of such a walk seen from both sides,
//!   (v d)^(1/2) / 2, or that of rows where it is less. Of integers there is less to gain where noise is
//!   small, so v + 4 for v; and of groups that are many, steps are not those of a walk alone: that, measured,
//!   takes d^(1/4) times as much, twice at most.
//!
//! Columns have the weight of these and of their own noise together. The mean errors of the leaves of seven
//! hierarchies agree with these within a tenth, nearly all, from d = 0.005 to 100 and with v from 0.4 to
//! 800, and beyond within a third.

/// How far off an estimate by the cut is.
#[derive(Debug, Clone, Copy)]
pub(in crate::hierarchy) struct CutNoise {
    pub variance: f64,
    /// Whether what was released of a region above smoothed the columns.
    pub smoothed: bool,
    /// The largest size that occurs.
    pub max_size: u64,
}

/// Where no group of a stretch was seen there may be some: as many as this in each.
const UNSEEN: f64 = 0.1;

/// Sizes are looked at in stretches from 0, 1, 2, 3, 4, 6, 8, 12, 16, ... on: which one this is in.
pub(super) fn stretch(size: u64) -> usize {
    match size.checked_ilog2() {
        None | Some(0) => size as usize,
        Some(log) => 2 * log as usize + (size >> (log - 1) & 1) as usize,
    }
}

/// The first size of a stretch.
pub(super) fn begin(stretch: usize) -> u64 {
    stretch.checked_sub(1).map_or(0, end)
}

/// The first size after a stretch.
fn end(stretch: usize) -> u64 {
    match stretch {
        0 | 1 => stretch as u64 + 1,
        _ => (1 << (stretch / 2)) + (stretch as u64 % 2 + 1) * (1 << (stretch / 2 - 1)),
    }
}

/// The number of sizes of a stretch that are below `max_size`. How many groups are of that size at most is
/// known: all.
pub(in crate::hierarchy) fn width(stretch: usize, max_size: u64) -> f64 {
    end(stretch).min(max_size).saturating_sub(begin(stretch)) as f64
}

impl CutNoise {
    /// Of a cumulative count where there are so many groups per size.
    pub(in crate::hierarchy) fn variance_at(self, density: f64) -> f64 {
        let v = self.variance;
        let rows = mean_magnitude(v) * density;
        if self.smoothed {
            let walk = ((v + 4.0) * density).sqrt() / 2.0;
            parallel(walk * density.sqrt().sqrt().clamp(1.0, 2.0), v).min(rows)
        } else if density < 1.0 {
            rows
        } else {
            let columns = 1.15 * density * v.sqrt().sqrt() * (1.0 + v / 450.0);
            parallel(columns.min(2.0 * rows), v).max(mean_magnitude(v))
        }
    }

    /// How many groups per size may be in each stretch, for all that this noise tells, where an estimate has so
    /// many. Noise moves a group past as many sizes as it is large, or past as many groups if these are fewer
    /// sizes: about so far around those of other stretches count as well, up to as many as the noise is large.
    pub(super) fn within_reach(self, densities: &[f64]) -> Vec<f64> {
        let reach = self.variance.sqrt();
        // sizes are below 2^32, so twice as far is a number, too
        let farthest = (reach as u64).min(self.max_size);
        let mut before = vec![0.0];
        for (stretch, density) in densities.iter().enumerate() {
            before.push(before[stretch] + density * width(stretch, self.max_size));
        }
        let below = |size: u64| {
            let stretch = stretch(size);
            before[stretch] + densities[stretch] * (size - begin(stretch)) as f64
        };
        let around = |stretch: usize, sizes: u64| {
            let from = begin(stretch).saturating_sub(sizes);
            let to = end(stretch).saturating_add(sizes).min(self.max_size);
            (below(to) - below(from), (to - from) as f64)
        };
        let may_be = |(stretch, density): (usize, &f64)| {
            let mut sizes = 0;
            while around(stretch, sizes).0 < reach && sizes < farthest {
                sizes = (2 * sizes).clamp(1, farthest);
            }
            let (groups, width) = around(stretch, sizes);
            density.max(groups.min(reach) / width.max(1.0))
        };
        densities.iter().enumerate().map(may_be).collect()
    }
}

/// The mean of discrete Laplace noise of that variance, without its sign.
pub(in crate::hierarchy) fn mean_magnitude(variance: f64) -> f64 {
    variance / (2.0 * variance + 1.0).sqrt()
}

/// The variance of the weighted mean of two numbers with these variances.
pub(in crate::hierarchy) fn parallel(a: f64, b: f64) -> f64 {
    if a + b > 0.0 { a * b / (a + b) } else { 0.0 }
}

/// How many groups there are per size in each stretch, of which so many have each of these sizes; those of
/// `max_size` aside.
pub(in crate::hierarchy) fn densities(
    sizes: impl Iterator<Item = (u64, f64)>,
    max_size: u64,
) -> Vec<f64> {
    let mut groups = vec![UNSEEN; stretch(max_size) + 1];
    for (size, of_size) in sizes.filter(|(size, _)| *size < max_size) {
        groups[stretch(size)] += of_size;
    }
    per_size(groups, max_size)
}

/// The same where so many groups are expected to have a size or a larger one.
pub(in crate::hierarchy) fn expected_densities(
    at_least: impl Fn(u64) -> f64,
    max_size: u64,
) -> Vec<f64> {
    let groups = |stretch| {
        let [from, to] = [begin(stretch), end(stretch)].map(|size| at_least(size.min(max_size)));
        UNSEEN + from - to
    };
    per_size((0..=stretch(max_size)).map(groups).collect(), max_size)
}

fn per_size(of_stretches: Vec<f64>, max_size: u64) -> Vec<f64> {
    let groups = of_stretches.into_iter().enumerate();
    groups.map(|(stretch, groups)| groups / width(stretch, max_size).max(1.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_begin_where_they_should() {
        let edges = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32];
        for (number, ends) in edges.windows(2).enumerate() {
            assert!((ends[0]..ends[1]).all(|size| stretch(size) == number));
            assert_eq!(width(number, 1000), (ends[1] - ends[0]) as f64);
            assert_eq!([begin(number), end(number)], [ends[0], ends[1]]);
        }
    }

    /// Groups of size 10 and more are all that is left.
    #[test]
    fn the_largest_size_is_no_question() {
        assert_eq!([6, 7, 8].map(|number| width(number, 10)), [2.0, 0.0, 0.0]);
        let found = densities([(3, 7.0), (9, 5.0), (10, 9.0), (12, 4.0)].into_iter(), 10);
        assert_eq!(found, [0.1, 0.1, 0.1, 7.1, 0.05, 0.05, 2.55]);
        let expected = expected_densities(|size| 100.0 - size as f64, 10);
        let same = [1.1, 1.1, 1.1, 1.1, 1.05, 1.05, 1.05];
        assert!(expected.iter().zip(same).all(|(found, same)| (found - same).abs() < 1e-9));
    }

    /// 1,000 groups of size 12 to 15 and 40 further on, of 100 at most, seen with noise of 10 and of 0.9.
    #[test]
    fn empty_stretches_are_known_beyond_the_reach_of_noise() {
        let found = densities([(13, 1000.0), (70, 40.0)].into_iter(), 100);
        let within = |reach: f64| {
            let noise = CutNoise { variance: reach * reach, smoothed: false, max_size: 100 };
            noise.within_reach(&found)
        };
        let reached = within(10.0);
        // sizes 4 and 5, with two more on either side none, with eight those of 12 to 13
        assert!((reached[stretch(4)] - 10.0 / 14.0).abs() < 1e-9, "{reached:?}");
        // sizes 24 to 31 begin ten sizes after 14, and end too far before 64
        assert!(reached[stretch(24)] > found[stretch(24)] && reached[stretch(24)] <= 10.0 / 28.0);
        assert_eq!(reached[stretch(12)], found[stretch(12)]);
        let apart = |(reached, found): (&f64, &f64)| (reached - found).abs();
        assert!(within(0.9)[2..6].iter().zip(&found[2..6]).map(apart).all(|apart| apart < 1e-9));
        // of any noise there are no more than all
        assert!(within(1e300).iter().all(|density| *density <= found[stretch(12)]));
    }
}
