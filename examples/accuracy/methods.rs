//! What is compared.

use crate::data::Data;
use crate::noise::noisy_counts;
use pg_dp::coco::{Coco, DpCoco, Run};
use pg_dp::hierarchy::{NoisyCounts, Observer, ReleasePlan, pgsr_relaxed, release};
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
    /// As the extension releases it, with these words for estimators and consistency.
    Release(&'static str, &'static str),
    RelaxAndRound,
}

const fn released(
    name: &'static str,
    words: &'static str,
    estimator: &'static str,
    consistency: &'static str,
) -> Method {
    Method { name, words, how: How::Release(estimator, consistency) }
}

pub const METHODS: [Method; 4] = [
    Method { name: "M_H^r", words: "baseline, not consistent", how: How::RelaxAndRound },
    released("M_H^dp", "`'{H}','pgsr'`", "H", "pgsr"),
    released("M_c^dp", "`'{Hc_l2}','pgsr'`", "Hc_l2", "pgsr"),
    released("Kuo et al.", "`'{Hc}','matching'`", "Hc", "matching"),
];

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
                let plan = ReleasePlan::new(
                    data.tree.depth(),
                    epsilon,
                    &[estimator.to_string()],
                    consistency,
                    data.max_size as i64,
                    None,
                    1,
                )?;
                let released = release(&plan, &data.tree, data.leaves(), words, &mut Silent)?;
                Ok(released.iter().map(DpCoco::histogram).cloned().collect())
            }
            How::RelaxAndRound => relax_and_round(data, epsilon, words),
        }
    }
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
