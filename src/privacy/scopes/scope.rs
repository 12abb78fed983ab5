//! Parts of the data.

/// A subtree of the regions in a range of periods.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    /// Of the region whose subtree it is, from the top level down.
    pub within: Vec<String>,
    pub period: Period,
}

/// From `lower` up to, not including, `upper`; None is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Period {
    pub lower: Option<i64>,
    pub upper: Option<i64>,
}

/// By what it is told in which cell a row lies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// The tables and columns.
    pub tables: String,
    /// Which regions the groups lie in; None for scopes of all regions.
    pub regions: Option<String>,
}

impl Period {
    pub const ALL: Period = Period { lower: None, upper: None };

    /// The first time and the one after the last, None where there is no last one.
    pub(super) fn ends(self) -> (i64, Option<i64>) {
        (self.lower.unwrap_or(i64::MIN), self.upper)
    }

    /// What lies in both, None if nothing does.
    pub fn and(self, other: Period) -> Option<Period> {
        let upper = match (self.upper, other.upper) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.overlaps(other).then_some(Period { lower: self.lower.max(other.lower), upper })
    }

    pub(super) fn overlaps(self, other: Period) -> bool {
        let begins_before_end = |a: Period, b: Period| b.upper.is_none_or(|end| a.ends().0 < end);
        begins_before_end(self, other) && begins_before_end(other, self)
    }
}

impl Scope {
    pub const ALL: Scope = Scope { within: Vec::new(), period: Period::ALL };
}
