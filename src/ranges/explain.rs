//! How good each method would be, before anything is spent.

use crate::ranges::bound::svd_bound;
use crate::ranges::mechanism::{Spread, Workload};
use crate::ranges::method::{MethodChoice, RangeMethod, Target};
use crate::ranges::plan::{RangePlan, RangePlanError};

/// What a method's answers to a workload would be like.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainedMethod {
    /// As the caller wrote it, or its word.
    pub method: String,
    /// None for a method without a tree.
    pub branching: Option<u32>,
    /// Of the noise as implemented.
    pub spread: Spread,
    /// The mean variance over the least that is possible at the same privacy, see
    /// [`svd_bound`]; None if that is not known.
    pub svd_ratio: Option<f64>,
    /// Whether it is what "auto" takes for the workload.
    pub chosen: bool,
}

/// The mean and maximum variance of the answers to `workload`, by the mechanisms that a release
/// would use; "optimal" and "auto" are made for that workload.
///
/// `methods`: None for all that the budget has noise for. `branching`: for the trees among them that
/// do not fix their own.
///
/// Errors: as for a release.
pub fn explain(
    bins: i64,
    epsilon: f64,
    delta: f64,
    workload: Workload,
    methods: Option<&[String]>,
    branching: Option<u32>,
) -> Result<Vec<ExplainedMethod>, RangePlanError> {
    let target = Target::Workload(workload);
    let explain = |method: String, choice| {
        let plan = RangePlan::of_choice(bins, epsilon, delta, choice, 1)?;
        let spread = plan.mechanism().spread(workload);
        // the variance of a measurement with sensitivity 1 that has the budget for itself
        let unit = if plan.delta() > 0.0 {
            1.0 / (2.0 * plan.rho())
        } else {
            2.0 / plan.epsilon().value().powi(2)
        };
        let bound = svd_bound(workload, plan.parameters().bins());
        let svd_ratio = bound.map(|bound| spread.mean / (unit * bound));
        let branching = plan.parameters().branching();
        let explained = ExplainedMethod { method, branching, spread, svd_ratio, chosen: false };
        Ok((explained, plan.parameters().clone()))
    };
    let word = |text: &String| {
        let choice = MethodChoice::parse(text);
        Ok((text.clone(), choice.ok_or_else(|| RangePlanError::Method { word: text.clone() })?))
    };
    let mut choices = match methods {
        Some(words) => words.iter().map(word).collect::<Result<Vec<_>, _>>()?,
        None => {
            let general = all_ranges();
            let all = MethodChoice::suitable(bins, delta, &general);
            all.map(|choice| (choice.to_string(), choice)).collect()
        }
    };
    for (_, choice) in &mut choices {
        if choice.target == all_ranges() {
            choice.target = target.clone();
        }
        if choice.method.is_some_and(RangeMethod::has_branching) {
            choice.branching = choice.branching.or(branching);
        }
    }
    let complete = methods.is_none() && branching.is_none() && !choices.is_empty();
    let auto = if complete {
        None
    } else {
        let auto = MethodChoice::auto(target.clone());
        Some(RangePlan::of_choice(bins, epsilon, delta, auto, 1)?)
    };
    let mut rows = Vec::with_capacity(choices.len());
    for (word, choice) in choices {
        let (mut row, parameters) = explain(word, choice)?;
        row.chosen = auto.as_ref().is_some_and(|auto| *auto.parameters() == parameters);
        rows.push(row);
    }
    if complete {
        // among all that it tries, by its own rule
        let best = rows.iter_mut().reduce(|a, b| if b.spread.mean < a.spread.mean { b } else { a });
        best.into_iter().for_each(|row| row.chosen = true);
    }
    Ok(rows)
}

fn all_ranges() -> Target {
    Target::Workload(Workload::All)
}
