//! Releases as the extension makes them, and what has to hold for each.

use crate::data::Data;
use pg_dp::charge::Receipt;
use pg_dp::coco::Coco;
use pg_dp::hierarchy::{Mechanism, ReleaseRequest};
use pg_dp::noise::RandomWords;
use std::error::Error;
use std::num::NonZeroUsize;

/// What `dp_hierarchy_release` is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    pub estimator: &'static str,
    pub consistency: &'static str,
}

/// What it does if it is not told how.
pub const DEFAULT: Words = Words { estimator: "auto", consistency: "matching" };

/// A [`release`] that keeps what it promises.
pub fn checked_release(
    data: &Data,
    epsilon: f64,
    words: Words,
    shares: Option<&[f64]>,
    noise: &mut impl RandomWords,
) -> Result<Vec<Coco>, Box<dyn Error>> {
    let released = release(data, epsilon, words, shares, noise)?;
    let keeps_all = !matches!(words.consistency, "pgsr" | "topdown" | "chain");
    check(data, &released, words.consistency != "none", keeps_all)
        .map_err(|broken| format!("{}, {}: {broken}", words.estimator, words.consistency))?;
    Ok(released)
}

/// One histogram per region, in the tree's order. `shares`: of epsilon, one per level; those that
/// are the default if None.
pub fn release(
    data: &Data,
    epsilon: f64,
    words: Words,
    shares: Option<&[f64]>,
    noise: &mut impl RandomWords,
) -> Result<Vec<Coco>, Box<dyn Error>> {
    let request = ReleaseRequest {
        max_size: data.max_size as i64,
        shares: shares.map(<[f64]>::to_vec),
        ..ReleaseRequest::new(data.tree.depth(), epsilon).by(&[words.estimator], words.consistency)
    };
    let receipt = Receipt::uncharged(Mechanism::new(&request)?);
    // the releases themselves share the cores
    let released = receipt.release(&data.tree, data.leaves(), noise, NonZeroUsize::MIN, &mut ())?;
    Ok(released.histograms.iter().map(|region| region.histogram().clone()).collect())
}

/// Whether a release of these data keeps what it promises. `consistent`: children sum to their
/// parents. `keeps_all`: every region has its public number of groups, and not the root alone.
///
/// Error: what it breaks.
pub fn check(
    data: &Data,
    released: &[Coco],
    consistent: bool,
    keeps_all: bool,
) -> Result<(), String> {
    let name = |region: usize| data.tree.regions()[region].path.to_vec().join("/");
    let regions = if keeps_all { data.truth.len() } else { 1 };
    for (region, (released, truth)) in released.iter().zip(&data.truth).enumerate() {
        if region < regions && released.groups() != truth.groups() {
            let (got, public) = (released.groups(), truth.groups());
            return Err(format!("region \"{}\" has {got} groups, not {public}", name(region)));
        }
        if released.runs().last().is_some_and(|run| run.size > data.max_size) {
            return Err(format!("region \"{}\" has a group above max_size", name(region)));
        }
    }
    if consistent {
        let sums = data.tree.sums(released[data.tree.leaves()].to_vec());
        if let Some(region) = (0..sums.len()).find(|&region| sums[region] != released[region]) {
            return Err(format!("the children of \"{}\" do not sum to it", name(region)));
        }
    }
    Ok(())
}
