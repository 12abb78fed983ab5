//! The methods by the words that a user writes.

use crate::ranges::limits::{MAX_BINS, MAX_CONVOLUTION_BINS};
use crate::ranges::mechanism::Workload;
use crate::ranges::methods::cascade::tree::MAX_FAN_OUT;
use crate::ranges::trees::budgets::LevelBudgets;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// How a histogram is measured for range sums.
//
// Stored in releases by their position: a new one goes to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RangeMethod {
    /// Every bin with discrete Laplace noise.
    Flat,
    /// The nodes of a b-ary tree; a range is the sum of the fewest nodes (H_b).
    Tree,
    /// The same, made consistent by least squares (H_b^c); with discrete Gaussian noise where there
    /// is a delta and it is better.
    TreeConsistent,
    /// A consistent binary tree with geometric budgets (the quadtree of Cormode et al. 2012 in one
    /// dimension).
    Quad,
    /// Haar coefficients (Privelet); with discrete Gaussian noise where there is a delta and it is
    /// better.
    Wavelet,
    /// Every bin with discrete Gaussian noise.
    Gaussian,
    /// The nodes of a binary tree with discrete Gaussian noise; a range is the sum of the fewest.
    BinaryTree,
    /// Noise of equal variance on every node of a tree, whose children add up to it (correlated
    /// input perturbation).
    Cascade,
    /// The square root of the matrix of all prefixes.
    Prefix,
    /// The matrix mechanism with a strategy close to the best for its target.
    Optimal,
}

impl RangeMethod {
    /// Every word that stands for one method.
    pub const WORDS: [(&'static str, RangeMethod); 10] = [
        ("flat", RangeMethod::Flat),
        ("tree", RangeMethod::Tree),
        ("tree_consistent", RangeMethod::TreeConsistent),
        ("quad", RangeMethod::Quad),
        ("wavelet", RangeMethod::Wavelet),
        ("gaussian", RangeMethod::Gaussian),
        ("binary_tree", RangeMethod::BinaryTree),
        ("cascade", RangeMethod::Cascade),
        ("prefix", RangeMethod::Prefix),
        ("optimal", RangeMethod::Optimal),
    ];

    pub fn parse(word: &str) -> Option<RangeMethod> {
        RangeMethod::WORDS.iter().find(|(known, _)| *known == word).map(|(_, method)| *method)
    }

    pub fn word(self) -> &'static str {
        // every method has a word, see the tests
        RangeMethod::WORDS.iter().find(|(_, method)| *method == self).map_or("", |(word, _)| word)
    }

    /// Whether the caller can fix the levels' budgets.
    pub fn has_budgets(self) -> bool {
        matches!(self, RangeMethod::Tree | RangeMethod::TreeConsistent)
    }

    /// Whether the caller can fix the branching factor.
    pub fn has_branching(self) -> bool {
        self.has_budgets() || self == RangeMethod::Cascade
    }

    pub(super) fn most_bins(self) -> usize {
        match self {
            RangeMethod::Prefix | RangeMethod::Optimal => MAX_CONVOLUTION_BINS,
            _ => MAX_BINS,
        }
    }

    /// The largest branching factor.
    pub(super) fn most_branching(self) -> u32 {
        if self == RangeMethod::Cascade { MAX_FAN_OUT } else { MAX_BINS as u32 }
    }

    /// Whether the method has a form that satisfies epsilon-differential privacy.
    pub fn is_pure(self) -> bool {
        match self {
            RangeMethod::Flat
            | RangeMethod::Tree
            | RangeMethod::TreeConsistent
            | RangeMethod::Quad
            | RangeMethod::Wavelet => true,
            RangeMethod::Gaussian
            | RangeMethod::BinaryTree
            | RangeMethod::Cascade
            | RangeMethod::Prefix
            | RangeMethod::Optimal => false,
        }
    }

    /// Whether the method has a form with Gaussian noise, which spends a delta.
    pub fn is_gaussian(self) -> bool {
        !self.is_pure() || matches!(self, RangeMethod::TreeConsistent | RangeMethod::Wavelet)
    }
}

/// The ranges whose mean variance is to be small.
//
// Stored in releases by their position: a new one goes to the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    Workload(Workload),
    /// These, by the positions of their bins; at least one of them not empty, or nothing is asked.
    Ranges(Vec<Range<usize>>),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Workload(workload) => write!(f, "{}", workload.word()),
            Target::Ranges(ranges) => {
                let ranges: Vec<String> =
                    ranges.iter().map(|range| format!("[{},{})", range.start, range.end)).collect();
                write!(f, "{}", ranges.join(" "))
            }
        }
    }
}

impl Target {
    /// Its ranges over so many bins.
    pub(super) fn ranges(&self, bins: usize) -> Box<dyn Iterator<Item = Range<usize>> + '_> {
        match self {
            Target::Workload(workload) => workload.ranges(bins),
            Target::Ranges(ranges) => Box::new(ranges.iter().cloned()),
        }
    }
}

/// What a user asks for, in words: `auto[:<workload>]`, `optimal[:<workload>]`,
/// `<tree>[:<branching>][:<budgets>]`, or a method, such as "tree_consistent:16:optimised".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodChoice {
    /// None: the one with the least mean variance over the target.
    pub method: Option<RangeMethod>,
    /// None: the method's own; of trees, the one with the least mean variance over all ranges.
    pub branching: Option<u32>,
    pub budgets: LevelBudgets,
    /// What "auto" chooses and what "optimal" is made for.
    pub target: Target,
}

impl MethodChoice {
    pub fn auto(target: Target) -> MethodChoice {
        MethodChoice { method: None, branching: None, budgets: LevelBudgets::Equal, target }
    }

    /// Its own choice of a branching factor, equal budgets, made for all ranges.
    pub fn of(method: RangeMethod) -> MethodChoice {
        let auto = MethodChoice::auto(Target::Workload(Workload::All));
        MethodChoice { method: Some(method), ..auto }
    }

    /// What "auto" chooses from: every method with noise for a delta, which may be 0, that takes so
    /// many bins; trees with equal and with optimised budgets.
    pub fn suitable(bins: i64, delta: f64, target: &Target) -> impl Iterator<Item = MethodChoice> {
        let methods = RangeMethod::WORDS.into_iter().map(|(_, method)| method);
        let methods = methods
            .filter(move |method| delta > 0.0 || method.is_pure())
            .filter(move |method| bins <= method.most_bins() as i64);
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

    /// None if the words are not of the form above. Whether the number is a possible branching
    /// factor is for the plan to say.
    pub fn parse(text: &str) -> Option<MethodChoice> {
        let mut parts = text.split(':').peekable();
        let method = match parts.next()? {
            "auto" => None,
            word => Some(RangeMethod::parse(word)?),
        };
        let mut choice =
            MethodChoice { method, ..MethodChoice::auto(Target::Workload(Workload::All)) };
        if choice.has_target()
            && let Some(word) = parts.next()
        {
            choice.target = Target::Workload(Workload::parse(word)?);
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

    /// Whether the choice depends on its target.
    pub fn has_target(&self) -> bool {
        matches!(self.method, None | Some(RangeMethod::Optimal))
    }
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
            Target::Workload(Workload::All) => Ok(()),
            _ if !self.has_target() => Ok(()),
            Target::Workload(workload) => write!(f, ":{}", workload.word()),
            Target::Ranges(_) => write!(f, " for the ranges that are asked for"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_choices_read_back() {
        for (word, method) in RangeMethod::WORDS {
            assert_eq!(method.word(), word);
            assert_eq!(MethodChoice::parse(word), Some(MethodChoice::of(method)));
        }
        for text in [
            "auto",
            "auto:nodes",
            "optimal:prefix",
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
            assert_eq!(MethodChoice::parse(text), None, "{text}");
        }
    }
}
