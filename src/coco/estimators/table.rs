//! Every estimator that there is. A new one is a file beside this, a line in each list here, and
//! its proof in the file: what is measured, and by how much one entity can move it.

use super::cut::{Cut, CutAt};
use super::estimator::HistogramEstimator;
use super::h::H;
use super::hc::Hc;
use super::hc_l2::HcL2;
use super::hg::Hg;
use super::kept::{MeasuredNumbers, Sequence};
use super::node::NoisyNode;
use super::profile::Profile;
use crate::coco::estimate::Estimate;
use crate::coco::histogram::Coco;
use std::fmt;

/// The estimators of Kuo et al. 2018, section 4, and the cut between two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimator {
    /// Noise on each count of groups of one size; projection on the known total.
    H,
    /// Noise on the cumulative counts; isotonic regression in the L1 norm. The cut at K.
    Hc,
    /// Noise on the cumulative counts; isotonic regression in the L2 norm.
    HcL2,
    /// Noise on the sorted list of sizes; isotonic regression in the L2 norm. The cut at 0.
    Hg,
    /// Cumulative counts of the sizes below a cut, sorted sizes from there on. The cut follows from
    /// what is released.
    Cut,
    /// Cumulative counts of the sizes below a public cut, sorted sizes from there on.
    CutAt(u64),
}

impl Estimator {
    /// Every name that a user can write, with its meaning; and `cut:T` for a cut at the size T.
    pub const NAMES: [(&'static str, Estimator); 5] = [
        ("H", Estimator::H),
        ("Hc", Estimator::Hc),
        ("Hc_l2", Estimator::HcL2),
        ("Hg", Estimator::Hg),
        ("cut", Estimator::Cut),
    ];

    pub fn parse(name: &str) -> Option<Estimator> {
        if let Some(cut) = name.strip_prefix("cut:") {
            // digits alone: u64's parser would take a sign
            let digits = cut.bytes().all(|byte| byte.is_ascii_digit());
            return cut.parse().ok().filter(|_| digits).map(Estimator::CutAt);
        }
        Estimator::NAMES.iter().find(|(known, _)| *known == name).map(|(_, estimator)| *estimator)
    }
}

/// The name of this very estimator.
impl fmt::Display for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Estimator::CutAt(cut) = self {
            return write!(f, "cut:{cut}");
        }
        let name = Estimator::NAMES.iter().find(|(_, known)| known == self).map(|(name, _)| *name);
        f.write_str(name.unwrap_or_default())
    }
}

/// What the estimator itself says; a loop over its draws is compiled for each of them.
macro_rules! ask {
    ($estimator:expr, $it:ident => $answer:expr) => {
        match $estimator {
            Estimator::H => ask!(@ H, $it => $answer),
            Estimator::Hc => ask!(@ Hc, $it => $answer),
            Estimator::HcL2 => ask!(@ HcL2, $it => $answer),
            Estimator::Hg => ask!(@ Hg, $it => $answer),
            Estimator::Cut => ask!(@ Cut, $it => $answer),
            Estimator::CutAt(cut) => ask!(@ CutAt(*cut), $it => $answer),
        }
    };
    (@ $own:expr, $it:ident => $answer:expr) => {{
        let $it = $own;
        $answer
    }};
}

impl HistogramEstimator for Estimator {
    fn sensitivity(&self) -> u32 {
        ask!(self, it => it.sensitivity())
    }

    fn draws(&self, groups: u64, max_size: u64) -> Option<u64> {
        ask!(self, it => it.draws(groups, max_size))
    }

    fn work(&self, groups: u64, max_size: u64, below: bool) -> u64 {
        ask!(self, it => it.work(groups, max_size, below))
    }

    fn variance_of_counts(&self, variance: f64) -> f64 {
        ask!(self, it => it.variance_of_counts(variance))
    }

    fn estimate(
        &self,
        node: &NoisyNode,
        truth: &Coco,
        add_noise: impl FnMut(i64) -> i64,
    ) -> Estimate {
        ask!(self, it => it.estimate(node, truth, add_noise))
    }

    fn counts(
        &self,
        node: &NoisyNode,
        truth: &Coco,
        add_noise: impl FnMut(i64) -> i64,
    ) -> Vec<i64> {
        ask!(self, it => it.counts(node, truth, add_noise))
    }

    fn cumulative_counts(
        &self,
        node: &NoisyNode,
        truth: &Coco,
        add_noise: impl FnMut(i64) -> i64,
    ) -> Vec<i64> {
        ask!(self, it => it.cumulative_counts(node, truth, add_noise))
    }

    fn sequence(&self, node: &NoisyNode, noisy: &[i64]) -> Sequence {
        ask!(self, it => it.sequence(node, noisy))
    }

    fn again(
        &self,
        node: &NoisyNode,
        numbers: &[MeasuredNumbers],
        below: &Profile,
    ) -> Option<Estimate> {
        ask!(self, it => it.again(node, numbers, below))
    }

    fn follows(&self) -> bool {
        ask!(self, it => it.follows())
    }
}
