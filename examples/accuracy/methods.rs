//! What is compared.

use crate::data::Data;
use crate::noise::noisy_counts;
use pg_dp::coco::{Coco, DpCoco, Run};
use pg_dp::hierarchy::{NoisyCounts, Observer, ReleasePlan, pgsr_relaxed, release};
use pg_dp::noise::RandomWords;
use std::error::Error;
use std::num::NonZeroUsize;

pub struct Method {
    /// The name in Fioretto, Van Hentenryck, Zhu (2020).
    pub name: &'static str,
    /// How `dp_hierarchy_release` is asked for it, or why it cannot be.
    pub words: &'static str,
    how: How,
}

enum How {
    /// As the extension releases it, with these words for estimators and consistency.
    Release(&'static str, &'static str),
    /// M_c^ch with the noise that Fioretto, Van Hentenryck and Zhu (2020) add.
    PublishedChain,
    RelaxAndRound,
}

pub const CHAIN: &str = "M_c^ch";
pub const PUBLISHED_CHAIN: &str = "M_c^ch as published";
pub const LOCAL: &str = "M_c^dp";

pub const METHODS: [Method; 8] = [
    Method { name: "M_H^r", words: "baseline, not consistent", how: How::RelaxAndRound },
    released("M_H^dp", "`'{H}','pgsr'`", "H", "pgsr"),
    released("M_c", "`'{Hc_l2}','cumulative'`", "Hc_l2", "cumulative"),
    released(LOCAL, "`'{Hc_l2}','pgsr'`", "Hc_l2", "pgsr"),
    released(CHAIN, "`'{Hc_l2}','chain'`", "Hc_l2", "chain"),
    Method { name: PUBLISHED_CHAIN, words: "**not private**", how: How::PublishedChain },
    released("TopDown", "`'{H}','topdown'`", "H", "topdown"),
    released("Kuo et al.", "`'{Hc}','matching'`", "Hc", "matching"),
];

const fn released(
    name: &'static str,
    words: &'static str,
    estimator: &'static str,
    consistency: &'static str,
) -> Method {
    Method { name, words, how: How::Release(estimator, consistency) }
}

struct Silent;

impl Observer for Silent {
    fn checkpoint(&mut self) {}
    fn level_measured(&mut self, _: usize, _: usize) {}
}

impl Method {
    /// One histogram per region, in the tree's order.
    pub fn run(
        &self,
        data: &Data,
        epsilon: f64,
        words: &mut impl RandomWords,
    ) -> Result<Vec<Coco>, Box<dyn Error>> {
        match self.how {
            How::Release(estimator, consistency) => {
                let equal = vec![1.0; data.tree.depth()];
                release_with(data, epsilon, estimator, consistency, &equal, words)
            }
            How::PublishedChain => {
                let epsilon = loss_of_published_chain(data, epsilon);
                release_with(data, epsilon, "Hc_l2", "chain", &regions(data), words)
            }
            How::RelaxAndRound => relax_and_round(data, epsilon, words),
        }
    }
}

fn release_with(
    data: &Data,
    epsilon: f64,
    estimator: &str,
    consistency: &str,
    parts: &[f64],
    words: &mut impl RandomWords,
) -> Result<Vec<Coco>, Box<dyn Error>> {
    let shares: Vec<f64> = parts.iter().map(|part| part / parts.iter().sum::<f64>()).collect();
    let plan = ReleasePlan::new(
        data.tree.depth(),
        epsilon,
        &[estimator.to_string()],
        consistency,
        data.max_size as i64,
        Some(&shares),
        1,
    )?;
    // the releases themselves share the cores
    let threads = NonZeroUsize::MIN;
    let released = release(&plan, &data.tree, data.leaves(), words, threads, &mut Silent)?;
    Ok(released.iter().map(DpCoco::histogram).cloned().collect())
}

/// How many regions each level has: the sensitivity of its running totals.
fn regions(data: &Data) -> Vec<f64> {
    (0..data.tree.depth()).map(|level| data.tree.level(level).len() as f64).collect()
}

/// The epsilon that noise of scale L / epsilon on the running totals of each of the L levels costs:
/// a level with R regions has that scale if its share is R epsilon / L.
pub fn loss_of_published_chain(data: &Data, epsilon: f64) -> f64 {
    let regions = regions(data);
    epsilon * regions.iter().sum::<f64>() / regions.len() as f64
}

/// M_H^r: the real-valued optimum, every number rounded on its own.
fn relax_and_round(
    data: &Data,
    epsilon: f64,
    words: &mut impl RandomWords,
) -> Result<Vec<Coco>, Box<dyn Error>> {
    let (counts, _) = noisy_counts(&data.tree, &data.truth, data.max_size, epsilon, words)?;
    let values: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
    let sizes = data.max_size as usize + 1;
    let noisy = NoisyCounts::new(&data.tree, sizes, &values, None);
    let relaxed = pgsr_relaxed(&noisy, Some(data.groups()), &mut || {});
    let histogram = |counts: &[f64]| {
        let runs = (0..).zip(counts);
        runs.map(|(size, count)| Run { size, groups: count.round() as u64 }).collect()
    };
    Ok(relaxed.chunks(sizes).map(histogram).collect())
}
