//! Pearson's chi-square test against an exact pmf, for the samplers' tests.

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Draws per test. A scale that is 10 % off adds at least 0.003 per draw to the expected statistic
/// for every law tested here: 3,000 and more, against critical values below 200.
pub(super) const DRAWS: usize = 1_000_000;

/// The probability with which one call rejects a correct sampler.
const ALPHA: f64 = 1e-9;

/// Whether the draws contradict a law that is symmetric around 0.
///
/// Cells are about half a standard deviation wide, the middle one is centred at 0; they reach out
/// to where fewer than 50 draws are expected, and the outermost two take in the tails.
pub(super) fn rejects(draws: &[i64], pmf: impl Fn(i64) -> f64, variance: f64) -> bool {
    let half = (variance.sqrt() / 4.0) as i64;
    let width = 2 * half + 1;
    let expected_in = |cell: i64| {
        let middle = cell * width;
        (middle - half..=middle + half).map(&pmf).sum::<f64>() * draws.len() as f64
    };
    let reach = (1..).find(|&cell| expected_in(cell + 1) < 50.0).unwrap_or(1);
    let mut expected: Vec<f64> = (-reach..=reach).map(expected_in).collect();
    let tail = (draws.len() as f64 - expected.iter().sum::<f64>()) / 2.0;
    let last = expected.len() - 1;
    expected[0] += tail;
    expected[last] += tail;

    let mut observed = vec![0.0; expected.len()];
    for &draw in draws {
        let cell = (draw + half).div_euclid(width).clamp(-reach, reach);
        observed[(cell + reach) as usize] += 1.0;
    }
    let statistic: f64 = observed.iter().zip(&expected).map(|(o, e)| (o - e).powi(2) / e).sum();
    ChiSquared::new(last as f64).unwrap().sf(statistic) < ALPHA
}
