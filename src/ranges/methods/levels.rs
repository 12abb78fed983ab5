//! Plans of trees whose levels share a budget.

use super::descriptor::{Settings, Settled};
use crate::noise::ScaleError;
use crate::ranges::least::least;
use crate::ranges::noise::MeasurementNoise;
use crate::ranges::spending::{Priced, Spending};
use crate::ranges::trees::budgets::{Decay, LevelBudgets};
use crate::ranges::trees::shape::TreeShape;
use crate::work::poll;

/// The largest branching factor that is tried, besides a single level, where none is given.
const MAX_TRIED_BRANCHING: u32 = 1024;

/// The mean variance over all ranges of a tree whose level l has nodes of variance l.
pub(super) type MeanOverAll = fn(TreeShape, &[f64]) -> f64;

/// With this branching factor, or else with the best one.
pub(super) fn settle(
    bins: u32,
    branching: Option<u32>,
    budgets: LevelBudgets,
    spending: Spending,
    mean: MeanOverAll,
) -> Result<Settled, ScaleError> {
    match branching {
        Some(branching) => with_branching(bins, branching, budgets, spending, mean),
        None => with_best_branching(single_level(bins as usize), |branching| {
            let settled = with_branching(bins, branching, budgets, spending, mean)?;
            let shape = TreeShape::new(bins as usize, branching as usize);
            Ok((mean(shape, &variances(&settled.noise)?), settled))
        }),
    }
}

fn with_branching(
    bins: u32,
    branching: u32,
    budgets: LevelBudgets,
    spending: Spending,
    mean: MeanOverAll,
) -> Result<Settled, ScaleError> {
    let shape = TreeShape::new(bins as usize, branching as usize);
    let decay = match spending.gaussian {
        Some(_) => Decay::Inverse,
        None => Decay::InverseSquare,
    };
    let shares = budgets.shares(shape, decay, |variances| mean(shape, variances));
    Ok(Settled { branching, target: None, noise: spending.on_groups(&shares)? })
}

/// The branching factor with the least mean, exact for the noise as implemented: among 2 to
/// [`MAX_TRIED_BRANCHING`] and a single level.
pub(super) fn with_best_branching(
    single_level: u32,
    mean_and_plan: impl Fn(u32) -> Result<(f64, Settled), ScaleError>,
) -> Result<Settled, ScaleError> {
    let tried = (2..single_level.min(MAX_TRIED_BRANCHING + 1)).chain([single_level]);
    least(tried.map(|branching| {
        poll();
        mean_and_plan(branching)
    }))
}

/// The least branching factor with which so many bins, at most
/// [`MAX_BINS`](crate::ranges::MAX_BINS), are the only level.
pub(super) fn single_level(bins: usize) -> u32 {
    bins.max(2) as u32
}

/// Of each group of measurements.
pub(super) fn variances(noise: &Priced) -> Result<Vec<f64>, ScaleError> {
    let noise = noise.calibration().noise_per_group()?;
    Ok(noise.iter().map(MeasurementNoise::variance).collect())
}

/// Whether there is noise for every level of the tree.
pub(super) fn fits(settings: Settings) -> bool {
    settings.calibration.groups() == Some(shape(settings).height())
}

pub(super) fn shape(settings: Settings) -> TreeShape {
    TreeShape::new(settings.bins, settings.branching as usize)
}
