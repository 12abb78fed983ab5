//! What is compared in L1 distance.

use crate::data::Data;
use crate::noise::noisy_counts;
use crate::releases::{DEFAULT, Words, checked_release};
use pg_dp::coco::{Coco, Run};
use pg_dp::hierarchy::{NoisyCounts, Weights, pgsr_relaxed};
use pg_dp::noise::RandomWords;
use std::error::Error;

pub struct Method {
    /// The name in Fioretto, Van Hentenryck, Zhu (2020).
    pub name: &'static str,
    /// How `dp_hierarchy_release` is asked for it, or why it cannot be.
    pub words: &'static str,
    how: How,
}

enum How {
    /// As the extension releases it, with these words and the same share of epsilon for each level.
    Release(Words),
    /// As the extension releases it if it is told nothing but epsilon.
    Default,
    /// M_c^ch with the noise that Fioretto, Van Hentenryck and Zhu (2020) add.
    PublishedChain,
    RelaxAndRound,
}

pub const CHAIN: &str = "M_c^ch";
pub const PUBLISHED_CHAIN: &str = "M_c^ch as published";
pub const LOCAL: &str = "M_c^dp";

pub const METHODS: [Method; 9] = [
    Method { name: "M_H^r", words: "baseline, not consistent", how: How::RelaxAndRound },
    released("M_H^dp", "`'{H}','pgsr'`", "H", "pgsr"),
    released("M_c", "`'{Hc_l2}','cumulative'`", "Hc_l2", "cumulative"),
    released(LOCAL, "`'{Hc_l2}','pgsr'`", "Hc_l2", "pgsr"),
    released(CHAIN, "`'{Hc_l2}','chain'`", "Hc_l2", "chain"),
    Method { name: PUBLISHED_CHAIN, words: "**not private**", how: How::PublishedChain },
    released("TopDown", "`'{H}','topdown'`", "H", "topdown"),
    released("Kuo et al.", "`'{Hc}','matching'`", "Hc", "matching"),
    Method { name: "auto", words: "the default", how: How::Default },
];

const fn released(
    name: &'static str,
    words: &'static str,
    estimator: &'static str,
    consistency: &'static str,
) -> Method {
    Method { name, words, how: How::Release(Words { estimator, consistency }) }
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
            How::Release(asked) => {
                let shares = in_proportion(&vec![1.0; data.tree.depth()]);
                checked_release(data, epsilon, asked, Some(&shares), words)
            }
            How::Default => checked_release(data, epsilon, DEFAULT, None, words),
            How::PublishedChain => {
                let asked = Words { estimator: "Hc_l2", consistency: "chain" };
                let shares = in_proportion(&regions(data));
                let epsilon = loss_of_published_chain(data, epsilon);
                checked_release(data, epsilon, asked, Some(&shares), words)
            }
            How::RelaxAndRound => relax_and_round(data, epsilon, words),
        }
    }
}

fn in_proportion(parts: &[f64]) -> Vec<f64> {
    parts.iter().map(|part| part / parts.iter().sum::<f64>()).collect()
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
    let noisy = NoisyCounts::new(&data.tree, sizes, &values, Weights::Equal);
    let relaxed = pgsr_relaxed(&noisy, Some(data.groups()));
    let regions = data.truth.len();
    let histogram = |region: usize| {
        let runs = (0..).zip(relaxed.iter().skip(region).step_by(regions));
        runs.map(|(size, count)| Run { size, groups: count.round() as u64 }).collect()
    };
    Ok((0..regions).map(histogram).collect())
}
