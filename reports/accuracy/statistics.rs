//! Means of runs, and what is known of them.

use crate::numbers::separated;
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::fmt;

/// A mean with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    pub mean: f64,
    pub error: f64,
}

impl Mean {
    /// Of at least two values.
    pub fn of(values: &[f64]) -> Mean {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Mean { mean, error: (squares / (count - 1.0) / count).sqrt() }
    }

    /// The ratio of two means of the same runs, to the first order in the errors of both.
    pub fn ratio(values: &[f64], to: &[f64]) -> Mean {
        let (mean, base) = (Mean::of(values).mean, Mean::of(to).mean);
        let ratio = mean / base;
        Mean { mean: ratio, error: difference(values, to, ratio).error / base }
    }
}

/// Both with the decimals that show two digits of the error, up to three of them; of runs that are all
/// alike, too.
impl fmt::Display for Mean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = match self.error {
            error if error > 0.0 => (1.0 - error.log10().floor()).clamp(0.0, 3.0) as usize,
            _ if self.mean.fract() == 0.0 => 0,
            _ => 3,
        };
        let print = |number: f64| {
            let text = format!("{number:.decimals$}");
            match text.split_once('.') {
                Some((digits, rest)) => format!("{}.{rest}", separated(digits)),
                None => separated(&text),
            }
        };
        write!(f, "{} ± {}", print(self.mean), print(self.error))
    }
}

/// The mean over runs of a value less `factor` times another of the same run.
pub fn difference(values: &[f64], from: &[f64], factor: f64) -> Mean {
    let differences: Vec<f64> =
        values.iter().zip(from).map(|(value, from)| value - factor * from).collect();
    Mean::of(&differences)
}

/// How many standard errors the mean of so many normal values exceeds its expectation by with this
/// probability.
pub fn critical(runs: usize, probability: f64) -> f64 {
    let law = StudentsT::new(0.0, 1.0, runs as f64 - 1.0).expect("at least two runs");
    -law.inverse_cdf(probability)
}
