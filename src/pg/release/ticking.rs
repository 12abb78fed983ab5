//! The clock of a stream.

use crate::pg::errors::Result;
use crate::pg::server::clock::{now, now_in};
use crate::pg::values::interval::TimeAxis;
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use serde_json::{Map, Value, json};

/// The types of a stream's column.
const TYPES: [(&str, Oid); 3] = [
    ("date", pg_sys::DATEOID),
    ("timestamp", pg_sys::TIMESTAMPOID),
    ("timestamptz", pg_sys::TIMESTAMPTZOID),
];

/// That of a name.
pub(super) fn type_of(name: &str) -> Oid {
    let of_type = TYPES.iter().find(|(of_type, _)| *of_type == name);
    of_type.map_or(pg_sys::TIMESTAMPTZOID, |(_, oid)| *oid)
}

/// When a row is in which tick, and when ticks end.
#[derive(Debug, Clone)]
pub(crate) struct Ticking {
    pub(crate) column: String,
    pub(crate) axis: TimeAxis,
    /// By whose clock ticks end, where the column has no time zone.
    pub(crate) time_zone: Option<String>,
    pub(crate) horizon: i64,
}

impl Ticking {
    pub(crate) fn type_name(&self) -> &'static str {
        let of_type = TYPES.iter().find(|(_, oid)| *oid == self.axis.type_oid);
        of_type.map_or("timestamptz", |(name, _)| name)
    }

    /// What the ledger's entry shows besides the mechanism.
    pub(crate) fn about(&self) -> Map<String, Value> {
        let mut about = Map::new();
        about.insert("time_column".into(), self.column.as_str().into());
        about.insert("bin_width".into(), format!("{} us", self.axis.width).into());
        about.insert("bin_0".into(), format!("2000-01-01 + {} us", self.axis.origin).into());
        about.insert("time_zone".into(), self.time_zone.as_deref().into());
        about
    }

    /// What a stream is asked for by its name with.
    pub(crate) fn parameters(&self, epsilon: f64, delta: f64) -> Map<String, Value> {
        [
            ("time_column", json!(self.column)),
            ("value_type", json!(self.type_name())),
            ("start", json!(self.axis.text(0))),
            ("bin_width", json!(format!("{} us", self.axis.width))),
            ("time_zone", json!(self.time_zone)),
            ("horizon", json!(self.horizon)),
            ("epsilon", json!(epsilon)),
            ("delta", json!(delta)),
        ]
        .map(|(argument, value)| (argument.to_string(), value))
        .into_iter()
        .collect()
    }

    /// How many ticks have ended by now, whatever the transaction's time is.
    pub(super) fn ended(&self) -> Result<i64> {
        let now = match &self.time_zone {
            None => now(),
            Some(zone) => now_in(zone)?,
        };
        Ok(self.axis.ended(now.into(), self.horizon))
    }
}
