//! Carrying out a plan on the histograms of a tree.

use super::consistency::Measured;
use super::plan::ReleasePlan;
use super::tree::Tree;
use crate::coco::{Coco, DpCoco, Estimate};
use crate::noise::{RandomWords, ScaleError};

/// Who watches a long release.
pub trait Observer {
    /// Called every few thousand steps; may unwind to cancel the release.
    fn checkpoint(&mut self);
    /// Called when all `regions` of a level are measured.
    fn level_measured(&mut self, level: usize, regions: usize);
}

/// One differentially private histogram per region of the tree, in its order.
///
/// `leaves`: the exact histograms of the tree's leaves, whose numbers of groups are public.
/// The plan has as many levels as the tree.
pub fn release<R: RandomWords + ?Sized>(
    plan: &ReleasePlan,
    tree: &Tree,
    leaves: Vec<Coco>,
    words: &mut R,
    observer: &mut dyn Observer,
) -> Result<Vec<DpCoco>, ScaleError> {
    let truth = tree.sums(leaves);
    let consistency = plan.consistency();
    let mut measured = vec![Measured::Estimate(Estimate::default()); truth.len()];
    for (level, level_plan) in plan.levels().iter().enumerate() {
        let Some(level_plan) = level_plan else { continue };
        let regions = tree.level(level);
        for region in regions.clone() {
            let mechanism = plan.mechanism(level_plan, truth[region].groups())?;
            measured[region] = consistency
                .measure(&mechanism, &truth[region], words, &mut || observer.checkpoint());
            observer.checkpoint();
        }
        observer.level_measured(level, regions.len());
    }
    let total = truth[0].groups(); // public
    drop(truth); // from here on everything is post-processing of what was released
    let histograms = consistency.apply(tree, total, measured, &mut || observer.checkpoint());
    Ok(histograms.into_iter().map(DpCoco::new).collect())
}
