//! Randomized responses, all together: the distribution of their joint loss on a lattice.

/// Independent randomized responses of the epsilons m_i h, h the lattice's step: for the neighbour
/// that is there, response i has the loss m_i h with probability e^(m_i h) / (1 + e^(m_i h)), else
/// -m_i h. Larger epsilons than the ones asked for dominate them.
pub(super) struct Responses {
    step: f64,
    /// Of each number of cells that true responses add up to, S: then the loss is (2 S - W) h, W
    /// their sum over all.
    probabilities: Vec<f64>,
    /// Each probability, and a sum of them, errs by at most this share.
    error: f64,
}

impl Responses {
    /// Rounded up to a lattice of about `cells` cells, or not at all if a smaller one has room for
    /// all of the epsilons.
    pub(super) fn new(epsilons: &[f64], cells: usize) -> Responses {
        let (step, widths) = lattice(epsilons, cells);
        let total: usize = widths.iter().sum();
        let mut probabilities = vec![0.0; total + 1];
        probabilities[0] = 1.0;
        let mut reached = 0;
        for &width in &widths {
            let false_share = 1.0 / (1.0 + (width as f64 * step).exp());
            let true_share = 1.0 / (1.0 + (-(width as f64) * step).exp());
            reached += width;
            for cell in (0..=reached).rev() {
                let told_true = if cell >= width { probabilities[cell - width] } else { 0.0 };
                probabilities[cell] = probabilities[cell] * false_share + told_true * true_share;
            }
        }
        // A product, a sum and a share err by at most 2^-53, 2^-53 and some 4 (1 + w h) 2^-53, w h
        // being the argument of an exponential; a sum of n numbers by n 2^-53.
        let operations = 8.0 * widths.len() as f64 + total as f64 + 4.0 * step * total as f64;
        Responses { step, probabilities, error: 2.0 * operations * f64::EPSILON }
    }

    /// The largest loss there can be: the sum of the epsilons.
    pub(super) fn worst(&self) -> f64 {
        self.loss(self.probabilities.len() - 1)
    }

    fn loss(&self, cell: usize) -> f64 {
        (2.0 * cell as f64 - (self.probabilities.len() - 1) as f64) * self.step
    }

    /// The smallest epsilon, not below 0, for which all responses together are (epsilon, `delta`)-DP,
    /// rounded up. `delta` is positive.
    //
    // delta(epsilon) is the sum of P(s) (1 - e^(epsilon - l_s)) over the losses l_s > epsilon, that is
    // A - e^(epsilon - l) C between two neighbouring losses, the upper of which is l: A is the sum of
    // P(s) from there on, C that of P(s) e^(l - l_s).
    pub(super) fn epsilon(&self, delta: f64) -> f64 {
        let fall = (-2.0 * self.step).exp();
        let (mut above, mut weighted) = (0.0, 0.0);
        for cell in (0..self.probabilities.len()).rev() {
            let probability = self.probabilities[cell];
            above += probability;
            weighted = weighted * fall + probability;
            let (at_most, at_least) = (above * (1.0 + self.error), weighted * (1.0 - self.error));
            // the delta at the next loss below, where A and C are still these
            if at_most - at_least * fall >= delta {
                let epsilon = self.loss(cell) + ((at_most - delta) / at_least).ln();
                let magnitude = self.worst() + 1.0;
                return (epsilon + magnitude * 16.0 * f64::EPSILON).max(0.0);
            }
            if self.loss(cell) <= 0.0 {
                return 0.0;
            }
        }
        0.0
    }

    /// The mean over the losses of `delta` at epsilon less the loss, rounded up, for a function with
    /// values up to 1; what is likely less than `negligible` all together is not asked.
    pub(super) fn mean(&self, epsilon: f64, negligible: f64, delta: impl Fn(f64) -> f64) -> f64 {
        let each = negligible / self.probabilities.len() as f64;
        let term = |(cell, &probability): (usize, &f64)| {
            let loss = self.loss(cell);
            let asked = || delta(epsilon - loss - loss.abs() * 4.0 * f64::EPSILON);
            if probability > each { probability * asked() } else { 0.0 }
        };
        let mean: f64 = self.probabilities.iter().enumerate().map(term).sum();
        mean * (1.0 + self.error) + negligible
    }
}

/// A step, and for each epsilon how many times it makes up for it: exactly so, but for rounding, if
/// all are multiples of a part of the smallest one, and otherwise at least.
fn lattice(epsilons: &[f64], cells: usize) -> (f64, Vec<usize>) {
    let total: f64 = epsilons.iter().sum();
    let smallest = epsilons.iter().copied().fold(f64::INFINITY, f64::min);
    let nearest = |step: f64| -> Option<Vec<usize>> {
        let multiple = |epsilon: &f64| {
            let multiple = (epsilon / step).round();
            ((multiple * step - epsilon).abs() <= 1e-9 * epsilon).then_some(multiple as usize)
        };
        if total / step > cells as f64 { None } else { epsilons.iter().map(multiple).collect() }
    };
    let widths = (1..=MOST_PARTS).find_map(|parts| nearest(smallest / f64::from(parts)));
    let widths = widths.unwrap_or_else(|| {
        let step = total / cells as f64;
        epsilons.iter().map(|epsilon| (epsilon / step).ceil().max(1.0) as usize).collect()
    });
    let step = epsilons.iter().zip(&widths).map(|(epsilon, width)| epsilon / *width as f64);
    let step = step.fold(0.0, f64::max) * (1.0 + 2.0 * f64::EPSILON);
    (step, widths)
}

/// Of the smallest epsilon, of which the others are tried as multiples.
const MOST_PARTS: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Over all answers: delta at epsilon.
    fn enumerated(epsilons: &[f64], epsilon: f64) -> f64 {
        let answers = 0..1u32 << epsilons.len();
        let delta = answers.map(|answer| {
            let mut share = 1.0;
            let mut loss = 0.0;
            for (place, each) in epsilons.iter().enumerate() {
                let sign = if answer >> place & 1 == 1 { *each } else { -*each };
                share /= 1.0 + (-sign).exp();
                loss += sign;
            }
            share * (-(epsilon - loss).exp_m1()).max(0.0)
        });
        delta.sum()
    }

    proptest! {
        #[test]
        fn it_is_what_all_answers_add_up_to(
            units in prop::collection::vec(1..9u32, 1..9), unit in 0.01f64..0.8,
            ln_delta in -14.0f64..-1.0,
        ) {
            let epsilons: Vec<f64> = units.iter().map(|n| f64::from(*n) * unit).collect();
            let epsilon = Responses::new(&epsilons, 1 << 12).epsilon(ln_delta.exp());
            prop_assert!(enumerated(&epsilons, epsilon) <= ln_delta.exp());
            if epsilon > 0.0 {
                prop_assert!(enumerated(&epsilons, epsilon - 1e-9) > ln_delta.exp());
            }
        }

        #[test]
        fn what_fits_no_lattice_is_rounded_up(
            epsilons in prop::collection::vec(0.01f64..1.0, 1..9), ln_delta in -14.0f64..-1.0,
        ) {
            let epsilon = Responses::new(&epsilons, 1 << 12).epsilon(ln_delta.exp());
            prop_assert!(enumerated(&epsilons, epsilon) <= ln_delta.exp());
            let total: f64 = epsilons.iter().sum();
            if epsilon > 0.0 {
                let coarse = 9.0 * total / f64::from(1 << 12);
                prop_assert!(enumerated(&epsilons, epsilon - coarse) > ln_delta.exp());
            }
        }
    }

    #[test]
    fn thirty_of_a_tenth() {
        let epsilon = Responses::new(&[0.1; 30], 1 << 16).epsilon(1e-6);
        assert_eq!(format!("{epsilon:.3}"), "2.346");
        // hardly anything is certain
        assert_eq!(Responses::new(&[0.1; 30], 1 << 16).epsilon(0.9), 0.0);
        let worst = Responses::new(&[0.1; 30], 1 << 16).epsilon(1e-300);
        assert!((worst - 3.0).abs() < 1e-9, "{worst}");
    }
}
