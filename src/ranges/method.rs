//! The methods by the words that a user writes.

use super::budget::LevelBudgets;
use serde::{Deserialize, Serialize};
use std::fmt;

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
    /// is a delta.
    TreeConsistent,
    /// A consistent binary tree with geometric budgets (the quadtree of Cormode et al. 2012 in one
    /// dimension).
    Quad,
    /// Haar coefficients (Privelet).
    Wavelet,
    /// Every bin with discrete Gaussian noise.
    Gaussian,
    /// The nodes of a binary tree with discrete Gaussian noise; a range is the sum of the fewest.
    BinaryTree,
}

impl RangeMethod {
    /// Every word that stands for one method.
    pub const WORDS: [(&'static str, RangeMethod); 7] = [
        ("flat", RangeMethod::Flat),
        ("tree", RangeMethod::Tree),
        ("tree_consistent", RangeMethod::TreeConsistent),
        ("quad", RangeMethod::Quad),
        ("wavelet", RangeMethod::Wavelet),
        ("gaussian", RangeMethod::Gaussian),
        ("binary_tree", RangeMethod::BinaryTree),
    ];

    pub fn parse(word: &str) -> Option<RangeMethod> {
        RangeMethod::WORDS.iter().find(|(known, _)| *known == word).map(|(_, method)| *method)
    }

    pub fn word(self) -> &'static str {
        // every method has a word, see the tests
        RangeMethod::WORDS.iter().find(|(_, method)| *method == self).map_or("", |(word, _)| word)
    }

    /// Whether the caller can fix the branching factor and the levels' budgets.
    pub fn is_tree(self) -> bool {
        matches!(self, RangeMethod::Tree | RangeMethod::TreeConsistent)
    }

    /// Whether the method has a form that satisfies epsilon-differential privacy.
    pub fn is_pure(self) -> bool {
        !matches!(self, RangeMethod::Gaussian | RangeMethod::BinaryTree)
    }

    /// Whether the method has a form with Gaussian noise, which spends a delta.
    pub fn is_gaussian(self) -> bool {
        !self.is_pure() || self == RangeMethod::TreeConsistent
    }
}

/// What a user asks for: "auto", a method, or a tree with a branching factor or budgets,
/// `<tree>[:<branching>][:<budgets>]`, such as "tree_consistent:16:optimised".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodChoice {
    /// None: the one with the least mean variance over all ranges.
    pub method: Option<RangeMethod>,
    /// None: the one with the least mean variance over all ranges.
    pub branching: Option<u32>,
    pub budgets: LevelBudgets,
}

impl MethodChoice {
    pub const AUTO: MethodChoice =
        MethodChoice { method: None, branching: None, budgets: LevelBudgets::Equal };

    /// Its own choice of a branching factor, equal budgets.
    pub fn of(method: RangeMethod) -> MethodChoice {
        MethodChoice { method: Some(method), ..MethodChoice::AUTO }
    }

    /// None if the words are not of the form above. Whether the number is a possible branching
    /// factor is for the plan to say.
    pub fn parse(text: &str) -> Option<MethodChoice> {
        if text == "auto" {
            return Some(MethodChoice::AUTO);
        }
        let mut parts = text.split(':');
        let method = RangeMethod::parse(parts.next()?)?;
        let mut choice = MethodChoice::of(method);
        let mut parts = parts.peekable();
        if let Some(number) = parts.peek().and_then(|part| part.parse().ok()) {
            choice.branching = Some(number);
            parts.next();
        }
        if let Some(word) = parts.next() {
            choice.budgets = LevelBudgets::parse(word)?;
        }
        let plain = text == method.word();
        (parts.next().is_none() && (plain || method.is_tree())).then_some(choice)
    }
}

impl fmt::Display for MethodChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.method.map_or("auto", RangeMethod::word))?;
        if let Some(branching) = self.branching {
            write!(f, ":{branching}")?;
        }
        match self.budgets {
            LevelBudgets::Equal => Ok(()),
            budgets => write!(f, ":{}", budgets.word()),
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
        for text in ["auto", "tree", "tree:16", "tree_consistent:geometric", "tree:2:optimised"] {
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
            "tree:99999999999",
        ] {
            assert_eq!(MethodChoice::parse(text), None, "{text}");
        }
    }
}
