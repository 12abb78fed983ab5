//! Pearson's chi-square tests, against a law or another sample, and words that are no chance, for
//! the samplers' tests.

use statrs::distribution::{ChiSquared, ContinuousCDF};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Draws per test. A scale that is 10 % off adds at least 0.003 per draw to the expected statistic
/// for every law of which one draw in 1,000 is not 0: 3,000 and more, against critical values below
/// 200.
pub(super) const DRAWS: usize = 1_000_000;

/// The probability with which one call rejects a correct sampler.
const ALPHA: f64 = 1e-9;

/// Whether the draws contradict a law that is symmetric around 0, of known pmf.
pub(super) fn rejects(draws: &[i64], pmf: impl Fn(i64) -> f64, variance: f64) -> bool {
    rejects_masses(draws, |first, last| (first..=last).map(&pmf).sum(), variance)
}

/// Whether the draws contradict a law of which the mass of `first ..= last` is known.
///
/// Cells are about half a standard deviation wide, the middle one is centred at 0; they reach out
/// to where fewer than 50 draws are expected, and the outermost two take in the tails.
pub(super) fn rejects_masses(draws: &[i64], mass: impl Fn(i64, i64) -> f64, variance: f64) -> bool {
    let half = (variance.sqrt() / 4.0) as i64;
    let width = 2 * half + 1;
    let expected_in = |cell: i64| {
        let middle = cell * width;
        mass(middle - half, middle + half) * draws.len() as f64
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
    rejects_counts(&observed, &expected)
}

/// Whether counts of draws contradict the expected ones, which have the same sum.
pub(super) fn rejects_counts(observed: &[f64], expected: &[f64]) -> bool {
    let statistic: f64 = observed.iter().zip(expected).map(|(o, e)| (o - e).powi(2) / e).sum();
    ChiSquared::new((expected.len() - 1) as f64).unwrap().sf(statistic) < ALPHA
}

/// Whether two samples of the same size contradict that they come from one law, in cells as above,
/// those with fewer than 50 draws of both put together.
pub(super) fn differ(one: &[i64], other: &[i64], variance: f64) -> bool {
    assert_eq!(one.len(), other.len());
    let half = (variance.sqrt() / 4.0) as i64;
    let mut cells: BTreeMap<i64, [f64; 2]> = BTreeMap::new();
    for (sample, draws) in [one, other].into_iter().enumerate() {
        for draw in draws {
            cells.entry((draw + half).div_euclid(2 * half + 1)).or_default()[sample] += 1.0;
        }
    }
    let (large, small): (Vec<_>, Vec<_>) =
        cells.into_values().partition(|[a, b]: &[f64; 2]| a + b >= 50.0);
    let rest = small.into_iter().fold([0.0, 0.0], |sum, cell| [sum[0] + cell[0], sum[1] + cell[1]]);
    let cells = large.len();
    let statistic: f64 = large
        .into_iter()
        .chain([rest])
        .filter(|[a, b]| a + b > 0.0)
        .map(|[a, b]| (a - b).powi(2) / (a + b))
        .sum();
    ChiSquared::new(cells as f64).unwrap().sf(statistic) < ALPHA
}

/// Words that are given one by one; to take more is a failure.
pub(super) struct Script<'a>(pub(super) &'a [u64]);

impl rand::TryRng for Script<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unimplemented!("the samplers take words of 64 bits")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let (first, rest) = self.0.split_first().expect("a word more than the script has");
        self.0 = rest;
        Ok(*first)
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unimplemented!("the samplers take words of 64 bits")
    }
}

impl rand::TryCryptoRng for Script<'_> {}
