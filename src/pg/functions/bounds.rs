//! Bounds that the data choose: `dp_find_bound`.

use crate::bounds::{BoundError, BoundSearch, Bounded, Candidate};
use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, invalid, required};
use crate::pg::ledger::publication;
use crate::pg::release::named::{FoundBounds, promised};
use crate::pg::release::order::Asked;
use crate::pg::release::stored::FoundBound;
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::pg::server::state::workers_of_session;
use crate::pg::values::amounts::{AmountArguments, Amounts};
use pgrx::AnyNumeric;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::{Map, json};

type Rows = TableIterator<
    'static,
    (
        name!(candidate, AnyNumeric),
        name!(above, i64),
        name!(clipping, f64),
        name!(noise, f64),
        name!(chosen, bool),
    ),
>;

#[pg_extern(volatile, parallel_unsafe)]
fn dp_find_bound(
    dataset: Option<&str>,
    bound: Option<&str>,
    epsilon: Option<f64>,
    amount: Option<&str>,
    release_epsilon: Option<f64>,
    name: Option<&str>,
    amount_unit: Option<AnyNumeric>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(candidate, AnyNumeric),
            name!(above, i64),
            name!(clipping, f64),
            name!(noise, f64),
            name!(chosen, bool),
        ),
    >,
> {
    let progress = Progress::start(Function::FindBound, Phase::Checking);
    let dataset_name = required(dataset, "dataset")?;
    let bounded = bounded(required(bound, "bound")?)?;
    let dataset = match bounded {
        Bounded::Rows => Dataset::open_awaiting(dataset_name)?,
        Bounded::Amounts | Bounded::Sizes => Dataset::open_for(dataset_name, name)?,
    };
    progress.dataset(dataset.id);
    let amounts = amounts(bounded, amount, amount_unit)?;
    if bounded == Bounded::Rows {
        dataset.source.check_has_units(&dataset.name)?;
    }
    let rows = dataset.source.max_rows_per_unit.unsigned_abs();
    let unfit = |error: BoundError| -> ErrorReport { invalid(error.to_string(), error.hint()) };
    let search = BoundSearch::new(bounded, required(epsilon, "epsilon")?, release_epsilon, rows)
        .map_err(unfit)?;

    // what is asked for and, as the ledger shows it, whether it was charged for 'auto' to mean what is chosen
    let mut about = Map::new();
    about.insert("bound".into(), bounded.word().into());
    if let Some(amounts) = &amounts {
        about.insert("amount".into(), amounts.column.as_str().into());
        about.insert("amount_unit".into(), amounts.unit_text().into());
    }
    let mut parameters = about.clone();
    parameters.insert("epsilon".into(), json!(epsilon));
    parameters.insert("release_epsilon".into(), json!(search.release_epsilon()));
    let promise = promised(name, Some(dataset_name), parameters.into())?;
    let is_kept = promise.is_some() && dataset.is_own();
    about.insert("kept".into(), is_kept.into());
    let asked = Asked::new(&dataset, &progress, promise, about);
    let found = asked.once(|asked| find(asked, bounded, search, amounts.as_ref()))?;
    if !publication::is_quoting() {
        // not before it is stored: a notice is seen at once
        tell_of_search(&found, is_kept);
    }
    let row = |bound: FoundBound| {
        (bound.candidate, bound.above, bound.clipping, bound.noise, bound.chosen)
    };
    Ok(Rows::new(found.bounds.into_iter().map(row)))
}

/// `is_kept`: whether `'auto'` means what was chosen.
fn tell_of_search(found: &FoundBounds, is_kept: bool) {
    if !found.is_seen {
        pgrx::notice!("no count stands out of the noise: the chosen bound rests on too little");
    }
    if !is_kept {
        pgrx::notice!("'auto' means what the dataset's owner has chosen last under a name");
    }
}

fn find(
    asked: Asked,
    bounded: Bounded,
    search: BoundSearch,
    amounts: Option<&Amounts>,
) -> Result<FoundBounds> {
    let (workers, tally) = (workers_of_session(), search.tally());
    let progress = asked.progress;
    asked.of_rows(
        |source| {
            let reading = source.prepare_bound(bounded, amounts, workers, tally)?;
            Ok((search, reading))
        },
        |tally, receipt, words| {
            progress.phase(Phase::Measuring);
            let choice = receipt.find(&tally, words);
            let bounds = choice.candidates.iter().map(|one| told(one, amounts)).collect();
            Ok(FoundBounds { bounds, is_seen: choice.is_seen })
        },
    )
}

/// In the terms of the argument.
fn told(candidate: &Candidate, amounts: Option<&Amounts>) -> FoundBound {
    let amount = |units: f64| amounts.map_or(units, |amounts| amounts.unit.amount(units));
    let bound = AnyNumeric::from(candidate.bound);
    let in_units = |amounts: &Amounts| {
        let product = bound.clone() * amounts.unit_number();
        AnyNumeric::try_from(product.normalize()).unwrap_or(product)
    };
    FoundBound {
        candidate: amounts.map_or_else(|| bound.clone(), in_units),
        above: candidate.above.round() as i64,
        clipping: amount(candidate.clipping),
        noise: amount(candidate.noise),
        chosen: candidate.chosen,
    }
}

fn bounded(word: &str) -> Result<Bounded> {
    Bounded::parse(word).ok_or_else(|| {
        let words = Bounded::ALL.map(Bounded::word).join(", ");
        invalid(
            format!("bound must be one of {words}, got \"{word:.40}\""),
            "It is an argument's name.",
        )
    })
}

/// Errors: a column is missing, or has no meaning; the unit does not fit.
fn amounts(
    bounded: Bounded,
    amount: Option<&str>,
    amount_unit: Option<AnyNumeric>,
) -> Result<Option<Amounts>> {
    if bounded == Bounded::Amounts && amount.is_none() {
        return Err(invalid(
            "bound max_amount needs amount",
            "Name the column whose amounts are summed: amount => '...'.",
        ));
    }
    if bounded != Bounded::Amounts && (amount.is_some() || amount_unit.is_some()) {
        let argument = if amount.is_some() { "amount" } else { "amount_unit" };
        return Err(invalid(
            format!("{argument} has no meaning with bound {}", bounded.word()),
            "It is for bound max_amount.",
        ));
    }
    // the bound is what is asked for: one unit is as good as any
    let max_amount = amount_unit.clone().or(amount.map(|_| AnyNumeric::from(1)));
    let min_amount = Some(AnyNumeric::from(0));
    AmountArguments { amount, max_amount, min_amount, amount_unit }
        .amounts(|_, _| Ok(AnyNumeric::from(1)))
}
