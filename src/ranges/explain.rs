//! How good each method would be, before anything is spent.

use super::bound::svd_bound;
use super::mechanism::{Spread, Workload};
use super::method::{MethodChoice, RangeMethod, Target};
use super::plan::{RangePlan, RangePlanError};

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
    checkpoint: &mut dyn FnMut(),
) -> Result<Vec<ExplainedMethod>, RangePlanError> {
    let plan = |choice, checkpoint: &mut dyn FnMut()| {
        RangePlan::of_choice(bins, epsilon, delta, choice, 1, checkpoint)
    };
    let target = Target::Workload(workload);
    let auto = plan(MethodChoice::auto(target.clone()), checkpoint)?;
    let choices = match methods {
        Some(words) => words
            .iter()
            .map(|word| {
                let choice = MethodChoice::parse(word);
                let choice = choice.ok_or_else(|| RangePlanError::Method { word: word.clone() })?;
                Ok((word.clone(), choice))
            })
            .collect::<Result<Vec<_>, _>>()?,
        None => MethodChoice::all(&Target::Workload(Workload::All))
            .filter(|choice| choice.method.is_some_and(|method| method.suits(bins, delta)))
            .map(|choice| (choice.to_string(), choice))
            .collect(),
    };
    let mut explained = Vec::with_capacity(choices.len());
    for (method, mut choice) in choices {
        checkpoint();
        if choice.target == Target::Workload(Workload::All) {
            choice.target = target.clone();
        }
        if choice.method.is_some_and(RangeMethod::has_branching) {
            choice.branching = choice.branching.or(branching);
        }
        let plan = plan(choice, checkpoint)?;
        let spread = plan.mechanism().spread(workload, checkpoint);
        // the variance of a measurement with sensitivity 1 that has the budget for itself
        let unit = if plan.delta() > 0.0 {
            1.0 / (2.0 * plan.rho())
        } else {
            2.0 / plan.epsilon().value().powi(2)
        };
        let bound = svd_bound(workload, plan.parameters().bins());
        explained.push(ExplainedMethod {
            method,
            branching: plan.parameters().branching(),
            spread,
            svd_ratio: bound.map(|bound| spread.mean / (unit * bound)),
            chosen: plan.parameters() == auto.parameters(),
        });
    }
    Ok(explained)
}
