//! What is compared in earth mover's distance. A new method is a line in [`compared`].

use crate::releases::Words;
use pg_dp::coco::Estimator;
use pg_dp::hierarchy::Merge;

/// What every region is measured by once per run; methods combine these.
pub const ESTIMATORS: [Estimator; 4] =
    [Estimator::Hc, Estimator::Hg, Estimator::HcL2, Estimator::H];
/// Those that Kuo et al. combine.
const PUBLISHED: [Estimator; 2] = [Estimator::Hc, Estimator::Hg];

/// What the default does but for the shares, which are equal.
pub const EQUAL_SHARES: &str = "cut, matching, equal shares";
/// All for the leaves.
pub const BOTTOM_UP: &str = "cut, bottom_up";

pub struct Compared {
    pub name: String,
    pub how: How,
}

pub enum How {
    /// A release that is told nothing but epsilon.
    Default,
    /// A release of its own, with the same share of epsilon for each level that is measured.
    Released(Words),
    /// An estimator for each level, of [`ESTIMATORS`], made consistent by matching or not at all.
    Measured { estimators: Vec<Estimator>, merge: Option<Merge> },
}

impl Compared {
    fn released(estimator: &'static str, consistency: &'static str) -> Compared {
        Compared::named(format!("{estimator}, {consistency}"), estimator, consistency)
    }

    fn named(name: String, estimator: &'static str, consistency: &'static str) -> Compared {
        Compared { name, how: How::Released(Words { estimator, consistency }) }
    }

    fn measured(estimators: Vec<Estimator>, merge: Option<Merge>) -> Compared {
        let of_levels: Vec<String> = estimators.iter().map(Estimator::to_string).collect();
        let consistency = match merge {
            Some(Merge::Weighted) => "matching",
            Some(Merge::Mean) => "matching_unweighted",
            None => "none",
        };
        let name = format!("{}, {consistency}", of_levels.join("×"));
        Compared { name, how: How::Measured { estimators, merge } }
    }

    /// Whether it is one of Kuo et al.'s: Hc or Hg at each level, matched and averaged by variance.
    pub fn is_published(&self) -> bool {
        match &self.how {
            How::Measured { estimators, merge: Some(Merge::Weighted) } => {
                estimators.iter().all(|estimator| PUBLISHED.contains(estimator))
            }
            _ => false,
        }
    }

    pub fn is_default(&self) -> bool {
        matches!(self.how, How::Default)
    }
}

/// All that is compared in a hierarchy of so many levels.
pub fn compared(levels: usize) -> Vec<Compared> {
    // one bit per level, the root's first
    let combinations = (0..1usize << levels)
        .map(|bits| (0..levels).rev().map(|level| PUBLISHED[bits >> level & 1]).collect());
    let combinations: Vec<Vec<Estimator>> = combinations.collect();
    let uniform = |estimator, merge| Compared::measured(vec![estimator; levels], merge);

    let mut compared = vec![
        Compared { name: "auto".into(), how: How::Default },
        Compared::named(EQUAL_SHARES.into(), "cut", "matching"),
        Compared::released("cut", "matching_unweighted"),
        Compared::released("cut", "bottom_up"),
        Compared::released("cut", "none"),
    ];
    let all =
        |merge| combinations.iter().map(move |own| Compared::measured(own.clone(), Some(merge)));
    compared.extend(all(Merge::Weighted));
    if levels == 2 {
        compared.extend(all(Merge::Mean));
    }
    compared.extend([
        uniform(Estimator::Hc, None),
        uniform(Estimator::Hg, None),
        Compared::released("Hc", "bottom_up"),
        Compared::released("Hg", "bottom_up"),
        uniform(Estimator::HcL2, Some(Merge::Weighted)),
        uniform(Estimator::H, Some(Merge::Weighted)),
    ]);
    compared
}
