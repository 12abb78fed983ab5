//! The statistics: what two samples of outputs prove about a build.
//!
//! A table is released [`RUNS`] times, and so is each neighbour. On one half of the runs of such a
//! pair an event is chosen, a set of outputs that looks much likelier on one side. On the other
//! half its probabilities p and q are bounded by the limits of Clopper and Pearson, each wrong with
//! probability [`ALPHA`] / 2 at most. Unless one of them is, no build that keeps a promise has an
//! event that breaks it, in whatever way the event was chosen. Outputs are known by numbers; where
//! two share one, that is post-processing.

use statrs::distribution::{Beta, ContinuousCDF, Normal};
use std::collections::{HashMap, HashSet};

/// Releases of each table, half of them to choose an event, half to judge it.
pub const RUNS: usize = 20_000;

/// The probability with which a correct build is rejected for one pair of neighbours and one
/// promise, at most.
pub const ALPHA: f64 = 8e-10;

/// What a build promises of neighbours, in one number.
#[derive(Debug, Clone, Copy)]
pub enum Promise {
    /// Differential privacy with this epsilon.
    Epsilon(f64),
    /// Zero-concentrated differential privacy with this rho.
    Rho(f64),
    /// Differential privacy with this epsilon, but for this delta.
    Delta { epsilon: f64, delta: f64 },
}

impl Promise {
    /// What an event shows the promised number to be at least if it has a probability of `p` or
    /// more for a table, and of `q` or less for its neighbour.
    fn least(self, p: f64, q: f64) -> f64 {
        match self {
            Promise::Epsilon(_) => (p / q).ln(),
            Promise::Rho(_) if p <= q => 0.0,
            Promise::Rho(_) => {
                ORDERS.map(|order| renyi(order, p, q) / order).into_iter().fold(0.0, f64::max)
            }
            Promise::Delta { epsilon, .. } => p - epsilon.exp() * q,
        }
    }

    /// The number that is promised.
    pub fn number(self) -> f64 {
        match self {
            Promise::Epsilon(epsilon) => epsilon,
            Promise::Rho(rho) => rho,
            Promise::Delta { delta, .. } => delta,
        }
    }
}

/// Orders of Rényi's divergence, which rho-zCDP bounds by rho times the order.
const ORDERS: [f64; 8] = [1.001, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0];

/// Rényi's divergence between two coins, which no processing of the outputs raises; it grows with
/// p > q, and falls with q.
fn renyi(order: f64, p: f64, q: f64) -> f64 {
    let part = |p: f64, q: f64| if p > 0.0 { p.powf(order) * q.powf(1.0 - order) } else { 0.0 };
    (part(p, q) + part(1.0 - p, 1.0 - q)).ln() / (order - 1.0)
}

/// What the outputs for two neighbours say about the promised number.
#[derive(Debug, Clone, Copy)]
pub struct Finding {
    /// Above the true number with probability [`ALPHA`] at most.
    pub lower_bound: f64,
    /// The same from the observed frequencies of the chosen event.
    pub estimate: f64,
}

pub fn compare(one: &[u64], other: &[u64], promise: Promise) -> Finding {
    let [(one, one_judged), (other, other_judged)] =
        [one, other].map(|outputs| outputs.split_at(RUNS / 2));
    let (event, likelier) = choose_event([one, other], promise);
    let mut hits = [one_judged, other_judged]
        .map(|outputs| outputs.iter().filter(|output| event.contains(output)).count());
    hits.rotate_left(likelier);
    let ([p, q], runs) = (hits, one_judged.len());
    let (low, high) = (lower_limit(p, runs, ALPHA / 2.0), upper_limit(q, runs, ALPHA / 2.0));
    let observed = |hits: usize| hits as f64 / runs as f64;
    Finding {
        lower_bound: promise.least(low, high),
        estimate: promise.least(observed(p), observed(q)),
    }
}

/// The event that promises the highest bound, and on which of the two sides it is likelier.
///
/// Candidates are every single output and, for every threshold and either direction, the outputs
/// whose likelihood ratio is above it.
fn choose_event(sides: [&[u64]; 2], promise: Promise) -> (HashSet<u64>, usize) {
    let mut counts: HashMap<u64, [f64; 2]> = HashMap::new();
    for (side, outputs) in sides.into_iter().enumerate() {
        for &output in outputs {
            counts.entry(output).or_default()[side] += 1.0;
        }
    }
    // Wilson's limits at six standard deviations: cheap, and near the limits that will judge
    let wilson = |hits: f64, deviations: f64| {
        let (runs, square) = (sides[0].len() as f64, deviations * deviations);
        let spread = (hits * (runs - hits) / runs + square / 4.0).sqrt();
        (hits + square / 2.0 + deviations * spread) / (runs + square)
    };
    let promised = |p, q| promise.least(wilson(p, -6.0), wilson(q, 6.0));

    let mut best = (f64::NEG_INFINITY, HashSet::new(), 0);
    for side in 0..2 {
        let mut outputs: Vec<(u64, f64, f64)> =
            counts.iter().map(|(output, n)| (*output, n[side], n[1 - side])).collect();
        let ratio = |(_, p, q): &(u64, f64, f64)| (p + 1.0) / (q + 1.0); // a rare one proves little
        outputs.sort_unstable_by(|a, b| ratio(b).total_cmp(&ratio(a)));
        let (mut p, mut q) = (0.0, 0.0);
        for (i, &(_, own_p, own_q)) in outputs.iter().enumerate() {
            (p, q) = (p + own_p, q + own_q);
            for (bound, members) in [(promised(p, q), 0..=i), (promised(own_p, own_q), i..=i)] {
                if bound > best.0 {
                    let event = outputs[members].iter().map(|(output, ..)| *output).collect();
                    best = (bound, event, side);
                }
            }
        }
    }
    (best.1, best.2)
}

/// Clopper and Pearson: where `hits` or more of the runs have the probability `alpha`.
fn lower_limit(hits: usize, runs: usize, alpha: f64) -> f64 {
    if hits == 0 {
        return 0.0;
    }
    let law = Beta::new(hits as f64, (runs - hits + 1) as f64).unwrap();
    let (mut low, mut high) = (0.0, hits as f64 / runs as f64);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        *(if law.cdf(middle) <= alpha { &mut low } else { &mut high }) = middle;
    }
    low
}

/// Where `hits` or fewer of the runs have the probability `alpha`.
fn upper_limit(hits: usize, runs: usize, alpha: f64) -> f64 {
    1.0 - lower_limit(runs - hits, runs, alpha)
}

/// The limits against sums of the binomial law.
#[test]
fn limits_have_the_tails_that_they_promise() {
    let at_least = |hits: usize, runs: usize, p: f64| -> f64 {
        let mut ln_pmf = runs as f64 * (1.0 - p).ln();
        let mut tail = 0.0;
        for k in 0..=runs {
            tail += if k >= hits { ln_pmf.exp() } else { 0.0 };
            ln_pmf += ((runs - k) as f64 / (k + 1) as f64).ln() + p.ln() - (1.0 - p).ln();
        }
        tail
    };
    let runs = RUNS / 2;
    for hits in [3, 30, 300, 5000, 9990, runs] {
        for alpha in [0.01, ALPHA / 2.0] {
            let (low, high) =
                (lower_limit(hits, runs, alpha), upper_limit(runs - hits, runs, alpha));
            assert!((at_least(hits, runs, low) / alpha - 1.0).abs() < 1e-6, "{hits} {alpha}");
            assert!(
                (at_least(hits, runs, 1.0 - high) / alpha - 1.0).abs() < 1e-6,
                "{hits} {alpha}"
            );
        }
    }
    assert_eq!((lower_limit(0, runs, ALPHA), upper_limit(runs, runs, ALPHA)), (0.0, 1.0));
}

/// A rho from the events of two Gaussians that it allows: what is shown is never more than it, and
/// more than half of it for some event.
#[test]
fn events_of_gaussians_show_no_more_than_their_rho() {
    let normal = Normal::standard();
    for distance in [0.1f64, 0.5, 1.0, 1.7, 2.5] {
        let rho = distance * distance / 2.0;
        let shown = |threshold: f64| {
            let above = |mean: f64| normal.sf(threshold - mean);
            Promise::Rho(rho).least(above(distance), above(0.0))
        };
        let most = (-40..=60).map(|i| shown(f64::from(i) * 0.1)).fold(0.0, f64::max);
        assert!(0.5 * rho < most && most <= rho, "{distance}: {most} of {rho}");
    }
}
