//! The part of a dataset that a release reads and is charged for: a region's subtree, a range of
//! periods.

use crate::hierarchy::path_text;
use crate::pg::values::interval::BinRange;
use pgrx::pg_sys;
use pgrx::pg_sys::Oid;
use serde_json::{Map, Value};

/// All of the data by default.
#[derive(Debug, Clone, Default)]
pub(crate) struct Part {
    /// A region's path.
    pub(crate) within: Vec<String>,
    pub(super) period: Option<PeriodRange>,
}

/// A range of the period column's values, with an end at least.
#[derive(Debug, Clone)]
pub(super) struct PeriodRange {
    /// As PostgreSQL stores them.
    pub(super) ends: BinRange,
    /// As text of the column's type.
    pub(super) lower: Option<String>,
    pub(super) upper: Option<String>,
}

impl PeriodRange {
    pub(super) fn text(&self) -> String {
        let end = |end: &Option<String>| end.clone().unwrap_or_default();
        format!("[{},{})", end(&self.lower), end(&self.upper))
    }
}

/// The types of periods: as they are called, and their ranges.
pub(super) const TYPES: [(Oid, &str, &str); 4] = [
    (pg_sys::INT8OID, "int8", "int8range"),
    (pg_sys::DATEOID, "date", "daterange"),
    (pg_sys::TIMESTAMPOID, "timestamp", "tsrange"),
    (pg_sys::TIMESTAMPTZOID, "timestamptz", "tstzrange"),
];

impl Part {
    pub(crate) fn is_all(&self) -> bool {
        self.within.is_empty() && self.period.is_none()
    }

    /// What the ledger's entry shows, and a name is asked for with.
    pub(crate) fn about(&self) -> Map<String, Value> {
        let mut about = Map::new();
        if !self.within.is_empty() {
            about.insert("within".into(), self.within.clone().into());
        }
        if let Some(period) = &self.period {
            about.insert("period".into(), period.text().into());
        }
        about
    }

    /// For messages.
    pub(super) fn shown(&self) -> String {
        let period = self.period.as_ref().map(PeriodRange::text);
        part_text(&self.within, period.as_deref())
    }
}

/// How a part is called, nothing if it is all.
pub(crate) fn part_text(within: &[String], period: Option<&str>) -> String {
    let region = (!within.is_empty()).then(|| path_text(within));
    let period = period.map(|period| format!("period {period}"));
    region.into_iter().chain(period).collect::<Vec<_>>().join(" in ")
}
