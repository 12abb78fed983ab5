//! Deeds of a dataset's owner, which are entries of the ledger.

use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, invalid, required};
use crate::pg::ledger::deed::{open, raise};
use crate::privacy::Epsilon;
use pgrx::prelude::*;

/// In characters, for an entry of the ledger.
const LONGEST_REASON: usize = 1000;

/// What a deed adds is a number that people read.
const LEAST_ADDED: f64 = 1e-30;

#[pg_extern(volatile, parallel_unsafe)]
fn dp_raise_budget(
    dataset: Option<&str>,
    reason: Option<&str>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    period: Option<&str>,
) -> Result<()> {
    let dataset = Dataset::open_as_owner(required(dataset, "dataset")?)?;
    let reason = required(reason, "reason")?;
    let (epsilon, delta) = (required(epsilon, "epsilon")?, required(delta, "delta")?);
    let reason = reason.trim();
    let length = reason.chars().count();
    if !(1..=LONGEST_REASON).contains(&length) {
        return Err(invalid(
            match length {
                0 => "reason must not be blank".to_string(),
                _ => format!("reason must be at most {LONGEST_REASON} characters, got {length}"),
            },
            "The ledger keeps it: why may more be learnt of the rows than was promised?",
        ));
    }
    let added_delta = decimal_delta(delta, "It is added to the delta_budget.")?;
    let added = match Epsilon::new(epsilon) {
        Ok(added) if epsilon >= LEAST_ADDED => added.decimal(),
        _ if epsilon == 0.0 && delta > 0.0 => "0".to_string(),
        _ if epsilon == 0.0 => {
            return Err(invalid(
                "epsilon or delta must be given",
                "What is to be added: epsilon => 0.5, or delta => 1e-9, or both.",
            ));
        }
        _ => {
            return Err(invalid(
                format!("epsilon must be a finite number from {LEAST_ADDED:e}, got {epsilon}"),
                "It is added to the dataset's epsilon_budget, which is never lowered. With a delta \
                 it may be 0.",
            ));
        }
    };
    let period = period.map(|period| dataset.period_to_open(period)).transpose()?;
    raise(dataset.id, &dataset.name, reason, added, added_delta, period)
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_open_period(
    dataset: Option<&str>,
    period: Option<&str>,
    epsilon: Option<f64>,
    delta: Option<f64>,
) -> Result<()> {
    let dataset = Dataset::open_as_owner(required(dataset, "dataset")?)?;
    let period = dataset.period_to_open(required(period, "period")?)?;
    let hint = "Leave it out for that of the dataset.";
    let epsilon = match epsilon {
        Some(epsilon) => match Epsilon::new(epsilon) {
            Ok(budget) if epsilon >= LEAST_ADDED => Some(budget.decimal()),
            _ => {
                return Err(invalid(
                    format!("epsilon must be a finite number from {LEAST_ADDED:e}, got {epsilon}"),
                    hint,
                ));
            }
        },
        None => None,
    };
    let delta = delta.map(|delta| decimal_delta(delta, hint)).transpose()?;
    open(dataset.id, &dataset.name, period, epsilon, delta)
}

fn decimal_delta(delta: f64, hint: &str) -> Result<String> {
    if delta == 0.0 || (LEAST_ADDED..1.0).contains(&delta) {
        return Ok(delta.abs().to_string());
    }
    Err(invalid(
        format!("delta must be 0, or from {LEAST_ADDED:e} up to, not including, 1, got {delta}"),
        hint,
    ))
}
