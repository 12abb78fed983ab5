//! The errors to expect, from the mechanisms themselves.

use crate::methods::{Made, Method, plan};
use pg_dp::ranges::{RangePlanError, Spread, Workload, svd_bound};
use std::error::Error;

/// A method over ever more bins.
pub struct Line {
    pub method: Method,
    pub points: Vec<Point>,
}

pub struct Point {
    pub bins: usize,
    pub branching: Option<u32>,
    /// The zero-concentrated loss.
    pub rho: f64,
    pub spread: Spread,
}

impl Line {
    pub fn at(&self, bins: usize) -> Option<&Point> {
        self.points.iter().find(|point| point.bins == bins)
    }
}

/// 16, 32, ...
fn sizes() -> impl Iterator<Item = usize> {
    (4..).map(|power| 1 << power)
}

/// The spread of some methods over a workload, for 2^4 to 2^16 bins, or as many as they take.
pub fn compare(
    methods: &[Method],
    workload: Workload,
    delta: f64,
) -> Result<Vec<Line>, Box<dyn Error>> {
    let point = |method: Method, bins| -> Result<Option<Point>, Box<dyn Error>> {
        let made: Made = match method.make(bins, delta) {
            Ok(made) => made,
            Err(error) => match error.downcast_ref() {
                Some(RangePlanError::MethodBins { .. }) => return Ok(None),
                _ => return Err(error),
            },
        };
        let spread = made.mechanism().spread(workload);
        Ok(Some(Point { bins, branching: made.branching, rho: made.rho, spread }))
    };
    let line = |&method: &Method| {
        let points = sizes().take(13).map(|bins| point(method, bins));
        let points = points.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        Ok(Line { method, points })
    };
    methods.iter().map(line).collect()
}

/// The singular-value bound on the mean variance over a workload, for Gaussian noise with this
/// zero-concentrated loss: of variance 1 / (2 rho) where the sensitivity is 1. None if it has no
/// closed form.
pub fn least_mean(workload: Workload, bins: usize, rho: f64) -> Option<f64> {
    Some(svd_bound(workload, bins)? / (2.0 * rho))
}

/// A row of tables 1 and 3 of Qardaji, Yang and Li (2013): mean variances over all ranges of
/// continuous Laplace noise at epsilon 1.
pub struct Published {
    pub method: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// For 2^4, 2^5, ... bins, without those that were sampled.
    pub printed: Vec<f64>,
    /// The same by this implementation.
    pub ours: Vec<f64>,
}

/// Discrete noise has the variance of continuous noise in the limit of a small epsilon; this one
/// is close enough for seven digits.
const SMALL_EPSILON: f64 = 1.0 / 16_384.0;

pub fn published() -> Result<Vec<Published>, RangePlanError> {
    let rows = [
        ("flat", "F", vec![12.00, 22.67, 44.00, 86.67, 172.00, 342.67, 684.00, 1366.67]),
        ("tree:2", "H_2", vec![79.53, 163.83, 299.15, 498.38, 773.98, 1138.11, 1602.73, 2179.77]),
        ("tree:12", "H_12", vec![42.47, 65.02, 82.85, 103.14, 301.80, 349.41, 398.22, 801.97]),
        ("tree_consistent:12", "H_12^c", vec![20.82, 29.60, 39.31, 54.17, 116.61, 134.51]),
        ("tree:16", "H_16", vec![12.00, 82.94, 105.62, 125.16, 150.98, 439.72, 498.87, 546.48]),
        ("tree_consistent:16", "H_16^c", vec![12.00, 35.64, 45.43, 57.91, 79.23, 163.48]),
        ("tree_consistent:2", "H_2^c", vec![34.46, 61.34, 99.92, 152.18, 220.06, 305.54]),
        ("quad", "Quad", vec![28.52, 49.65, 82.60, 133.96, 214.39, 340.92]),
        ("wavelet", "Wavelet", vec![37.80, 64.84, 102.92, 154.49, 221.62, 306.31, 410.29, 536.32]),
    ];
    let row = |(method, name, printed): (_, _, Vec<f64>)| {
        let mean = |bins: usize| {
            let plan = plan(bins, SMALL_EPSILON, 0.0, method)?;
            Ok(plan.mechanism().mean_over_all() * SMALL_EPSILON.powi(2))
        };
        let ours = (4..)
            .map(|power| 1 << power)
            .take(printed.len())
            .map(mean)
            .collect::<Result<_, _>>()?;
        Ok(Published { method, name, printed, ours })
    };
    rows.into_iter().map(row).collect()
}
