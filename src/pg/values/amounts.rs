//! The amounts of rows: what is asked of them, and what a column says.

use super::bound::{self, AUTO};
use super::numeric::Numeric;
use crate::pg::errors::{Result, error, invalid, required};
use crate::ranges::{AmountBounds, AmountUnit, NotWhole};
use pgrx::AnyNumeric;
use pgrx::prelude::*;
use serde_json::{Map, Value, json};

/// The SQL functions' arguments about amounts.
pub(crate) struct AmountArguments<'a> {
    pub(crate) amount: Option<&'a str>,
    pub(crate) max_amount: Option<AnyNumeric>,
    pub(crate) min_amount: Option<AnyNumeric>,
    pub(crate) amount_unit: Option<AnyNumeric>,
}

/// A column whose amounts are summed: clamped, and rounded to whole units.
pub(crate) struct Amounts {
    pub(crate) column: String,
    /// In units.
    pub(crate) bounds: AmountBounds,
    pub(crate) unit: AmountUnit,
    /// Whether nothing was said of it.
    pub(crate) is_default_unit: bool,
    /// As it was given.
    unit_text: String,
    /// As they were given, for the ledger.
    about: Map<String, Value>,
}

impl AmountArguments<'_> {
    /// None where rows are counted. `chosen`: the largest amount of a column that was chosen for it; with the unit.
    ///
    /// Errors: a bound or unit that is missing, without meaning, or does not fit; those of `chosen`.
    pub(crate) fn amounts(
        self,
        chosen: impl FnOnce(&str, &str) -> Result<AnyNumeric>,
    ) -> Result<Option<Amounts>> {
        let AmountArguments { amount, max_amount, min_amount, amount_unit } = self;
        let min = required(min_amount, "min_amount")?.normalize().to_string();
        let is_default_unit = amount_unit.is_none();
        let unit_text = amount_unit.map_or("1".to_string(), |unit| unit.normalize().to_string());
        let unit = AmountUnit::parse(&unit_text).ok_or_else(|| {
            invalid(
                format!(
                    "amount_unit must be positive, with at most {} digits before the point and {} \
                     after it, got {unit_text:.40}",
                    AmountUnit::WHOLE_DIGITS,
                    AmountUnit::DECIMALS
                ),
                "Amounts are rounded to whole multiples of it: 0.01 for cents.",
            )
        })?;
        let Some(column) = amount else {
            let given = [
                (max_amount.is_some(), "max_amount"),
                (min != "0", "min_amount"),
                (!is_default_unit, "amount_unit"),
            ];
            return match given.into_iter().find(|(is_given, _)| *is_given) {
                None => Ok(None),
                Some((_, argument)) => Err(invalid(
                    format!("{argument} has no meaning without amount"),
                    "Name the column whose values are summed: amount => '...'.",
                )),
            };
        };
        let (max_amount, is_auto) = match max_amount.map(bound::amount) {
            Some(None) => (Some(chosen(column, &unit_text)?), true),
            given => (given.flatten(), false),
        };
        let max = max_amount.map(|max| max.normalize().to_string()).ok_or_else(|| {
            error(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                "max_amount must be given where amounts are summed",
            )
            .set_hint(
                "The noise hides a row with that amount; larger ones are taken for it. It is \
                 public: choose it without looking, or have dp_find_bound do it: 'auto'.",
            )
        })?;
        let whole = |argument: &str, bound: &str| {
            unit.whole(bound).map_err(|why| match why {
                NotWhole::NoMultiple => invalid(
                    format!(
                        "{argument} {bound:.40} is no whole multiple of amount_unit {unit_text}"
                    ),
                    "Amounts are rounded to such multiples: choose bounds that are some. One that \
                     dp_find_bound chose needs the amount_unit that it was searched with.",
                ),
                NotWhole::TooMany => invalid(
                    format!(
                        "{argument} {bound:.40} is beyond {} times amount_unit {unit_text}",
                        u32::MAX
                    ),
                    "A thousandth of the largest amount is fine enough a unit: the noise hides \
                     what is smaller.",
                ),
                NotWhole::TooLong => invalid(
                    format!(
                        "{argument} must have at most {} digits before the point, got {bound:.40}",
                        AmountUnit::WHOLE_DIGITS
                    ),
                    "Choose a bound that amounts have in practice: larger ones are taken for it.",
                ),
            })
        };
        let (least, most) = (whole("min_amount", &min)?, whole("max_amount", &max)?);
        let bounds = AmountBounds::new(least, most).ok_or_else(|| {
            invalid(
                format!(
                    "max_amount must be at least min_amount and not both 0, got {max} and {min}"
                ),
                "Amounts are clamped to lie between them; min_amount is 0 unless given.",
            )
        })?;
        let about = [
            ("amount", json!(column)),
            ("min_amount", number(&min)),
            ("max_amount", number(&max)),
            ("amount_unit", json!(unit_text)),
        ];
        let auto = is_auto.then(|| (AUTO, json!("max_amount")));
        let about = about.into_iter().chain(auto);
        let about = about.map(|(key, value)| (key.to_string(), value)).collect();
        Ok(Some(Amounts {
            column: column.to_string(),
            bounds,
            unit,
            is_default_unit,
            unit_text,
            about,
        }))
    }
}

/// A decimal number as JSON has it, or as text if it has none.
fn number(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

impl Amounts {
    /// Whether there are amounts below 0.
    pub(crate) fn can_be_negative(&self) -> bool {
        self.bounds.clamped(-1) < 0
    }

    /// The unit, as it was given.
    pub(crate) fn unit_text(&self) -> &str {
        &self.unit_text
    }

    /// The unit, as a number.
    pub(crate) fn unit_number(&self) -> AnyNumeric {
        // it was read before
        AnyNumeric::try_from(self.unit_text.as_str()).unwrap_or_default()
    }

    /// What the ledger's entry shows.
    pub(crate) fn about(&self) -> Map<String, Value> {
        self.about.clone()
    }

    /// How far a unit of privacy with so many rows moves the sums.
    ///
    /// Error: farther than plans are made for.
    pub(crate) fn weight(&self, rows_per_unit: u32) -> Result<u32> {
        self.bounds.weight(rows_per_unit).ok_or_else(|| {
            invalid(
                format!(
                    "amount_unit is too small: what {rows_per_unit} rows add at most is more than {} \
                     units",
                    u32::MAX
                ),
                "A thousandth of the largest amount is fine enough: the noise hides what is smaller.",
            )
        })
    }
}

/// How many of a numeric's first bytes are looked at: its header, and the digits that matter.
pub(crate) const BYTES_OF_NUMERIC: usize = 4 + 2 * AmountUnit::DIGITS;

/// The units in a value of type numeric, by these bytes; beyond all bounds for an infinite one, none
/// for NaN.
pub(crate) fn units_of_numeric(unit: AmountUnit, bytes: &[u8]) -> Option<i64> {
    match Numeric::of_bytes(bytes)? {
        Numeric::NotANumber => None,
        Numeric::Infinite { is_negative } => Some(if is_negative { i64::MIN } else { i64::MAX }),
        Numeric::Finite { is_negative, weight, digits } => {
            Some(unit.of_decimal(is_negative, weight, digits.iter()))
        }
    }
}
