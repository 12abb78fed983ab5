//! What a user chooses, in words.

use super::bucket_method::BucketMethod;
use super::error::{Dimensions, RangePlanError};
use super::method::{MethodChoice, RangeMethod};
use super::parameters::on_grid;
use super::plane::grid::CellGrid;
use super::trees::budgets::LevelBudgets;
use super::workload::{TargetRanges, Workload};
use std::fmt;

impl MethodChoice {
    /// What "auto" chooses from: every method for a small mean variance with noise for a delta,
    /// which may be 0, that takes so many bins; trees with equal and with optimised budgets.
    pub fn suitable(
        bins: i64,
        delta: f64,
        target: &TargetRanges,
    ) -> impl Iterator<Item = MethodChoice> {
        let methods = RangeMethod::ALL.iter().copied();
        let methods = methods
            .filter(|method| method.descriptor().is_for_means())
            .filter(move |method| delta > 0.0 || method.is_pure())
            .filter(move |method| bins <= method.descriptor().most_bins() as i64);
        methods.flat_map(move |method| {
            let budgets: &[LevelBudgets] = match method.has_budgets() {
                true => &[LevelBudgets::Equal, LevelBudgets::Optimised],
                false => &[LevelBudgets::Equal],
            };
            budgets.iter().map(move |&budgets| MethodChoice {
                budgets,
                target: target.clone(),
                ..MethodChoice::of(method)
            })
        })
    }

    /// What "auto" chooses from in two dimensions: every method there with noise for a delta, which
    /// may be 0, that takes so many rows and columns.
    pub fn suitable_for_grids(grid: CellGrid, delta: f64) -> impl Iterator<Item = MethodChoice> {
        let methods = Dimensions::Two.methods().into_iter();
        methods
            .filter(move |method| delta > 0.0 || method.is_pure())
            .filter(move |method| grid.longer_side() <= on_grid(*method).longest_side())
            .map(MethodChoice::of)
    }

    /// Of a method for range sums.
    ///
    /// Errors: the words are not of the form above. Whether the number is a possible branching
    /// factor is for the plan to say.
    pub fn parse(text: &str) -> Result<MethodChoice, RangePlanError> {
        read(text).ok_or_else(|| match ReleaseChoice::buckets(text) {
            Some((method, _)) => RangePlanError::Buckets { method },
            None => {
                let (word, dimensions) = (text.to_string(), Dimensions::One);
                RangePlanError::Method { word, dimensions }
            }
        })
    }

    /// Of a method for sums over rectangles: `auto`, or one of them with a branching factor or
    /// without.
    ///
    /// Errors: the words are others. Whether the number is a possible branching factor is for the
    /// plan to say.
    pub fn parse_for_grid(text: &str) -> Result<MethodChoice, RangePlanError> {
        read(text).filter(MethodChoice::is_for_grids).ok_or_else(|| RangePlanError::Method {
            word: text.to_string(),
            dimensions: Dimensions::Two,
        })
    }

    /// Whether the choice is one in two dimensions, where levels have equal budgets and all
    /// rectangles are the only target.
    pub(super) fn is_for_grids(&self) -> bool {
        self.method.is_none_or(RangeMethod::is_for_grids)
            && self.budgets == LevelBudgets::Equal
            && self.target == TargetRanges::ALL
    }

    /// Whether the choice depends on its target.
    pub fn has_target(&self) -> bool {
        self.method.is_none_or(RangeMethod::has_target)
    }
}

/// What a user asks for, in words: `aware[:<workload>]`, `structure_first[:<workload>]`, or a
/// [`MethodChoice`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseChoice {
    Strategy(MethodChoice),
    /// Of buckets, with a strategy for such ranges.
    Buckets(BucketMethod, TargetRanges),
}

impl ReleaseChoice {
    /// Errors: the words are others.
    pub fn parse(text: &str) -> Result<ReleaseChoice, RangePlanError> {
        match ReleaseChoice::buckets(text) {
            Some((method, workload)) => {
                Ok(ReleaseChoice::Buckets(method, TargetRanges::Workload(workload)))
            }
            None => match read(text) {
                Some(choice) => Ok(ReleaseChoice::Strategy(choice)),
                None => Err(RangePlanError::MethodOfRelease { word: text.to_string() }),
            },
        }
    }

    /// How buckets are found, and what they are to be good for; None for other words.
    fn buckets(text: &str) -> Option<(BucketMethod, Workload)> {
        let (word, workload) = match text.split_once(':') {
            None => (text, Workload::All),
            Some((word, workload)) => (word, Workload::parse(workload)?),
        };
        Some((BucketMethod::parse(word)?, workload))
    }

    /// For all ranges if the words do not say otherwise.
    pub fn target(&mut self) -> &mut TargetRanges {
        match self {
            ReleaseChoice::Strategy(choice) => &mut choice.target,
            ReleaseChoice::Buckets(_, target) => target,
        }
    }
}

fn read(text: &str) -> Option<MethodChoice> {
    let mut parts = text.split(':').peekable();
    let method = match parts.next()? {
        "auto" => None,
        word => Some(RangeMethod::parse(word)?),
    };
    let mut choice = MethodChoice { method, ..MethodChoice::auto(TargetRanges::ALL) };
    if choice.has_target()
        && let Some(word) = parts.next()
    {
        choice.target = TargetRanges::Workload(Workload::parse(word)?);
    }
    if method.is_some_and(RangeMethod::has_branching)
        && let Some(number) = parts.peek().and_then(|part| part.parse().ok())
    {
        choice.branching = Some(number);
        parts.next();
    }
    if method.is_some_and(RangeMethod::has_budgets)
        && let Some(word) = parts.next()
    {
        choice.budgets = LevelBudgets::parse(word)?;
    }
    parts.next().is_none().then_some(choice)
}

impl fmt::Display for MethodChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.method.map_or("auto", RangeMethod::word))?;
        if let Some(branching) = self.branching {
            write!(f, ":{branching}")?;
        }
        match self.budgets {
            LevelBudgets::Equal => {}
            budgets => write!(f, ":{}", budgets.word())?,
        }
        match &self.target {
            TargetRanges::Workload(Workload::All) => Ok(()),
            _ if !self.has_target() => Ok(()),
            TargetRanges::Workload(workload) => write!(f, ":{}", workload.word()),
            TargetRanges::Ranges(_) => write!(f, " for the ranges that are asked for"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_choices_read_back() {
        for (word, method) in RangeMethod::ALL.iter().map(|&method| (method.word(), method)) {
            assert_eq!(method.word(), word);
            assert_eq!(MethodChoice::parse(word), Ok(MethodChoice::of(method)));
        }
        for text in [
            "auto",
            "auto:nodes",
            "optimal:prefix",
            "minimax:prefix",
            "tree",
            "tree:16",
            "cascade:3",
            "tree_consistent:geometric",
            "tree:2:optimised",
        ] {
            assert_eq!(MethodChoice::parse(text).unwrap().to_string(), text);
        }
        let equal = MethodChoice::parse("tree_consistent:7:equal").unwrap();
        assert_eq!(equal.branching, Some(7));
        assert_eq!(equal.to_string(), "tree_consistent:7");
    }

    #[test]
    fn other_words_are_refused() {
        for text in [
            "",
            "Flat",
            "trees",
            "tree:",
            "tree:b",
            "tree:-2",
            "tree:2:3",
            "tree:equal:2",
            "tree:2:equal:2",
            "flat:2",
            "quad:4",
            "wavelet:equal",
            "auto:16",
            "auto:every",
            "optimal:",
            "optimal:2",
            "prefix:prefix",
            "cascade:equal",
            "cascade:2:equal",
            "tree:99999999999",
        ] {
            assert!(MethodChoice::parse(text).is_err(), "{text}");
        }
    }
}
