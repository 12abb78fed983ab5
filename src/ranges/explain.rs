//! How good each method would be, before anything is spent.

use super::bound::svd_bound;
use super::error::RangePlanError;
use super::method::{MethodChoice, RangeMethod};
use super::plan::RangePlan;
use super::planner::RangeRequest;
use super::workload::{Spread, TargetRanges, Workload};

/// What an explanation is asked for.
#[derive(Debug, Clone, Copy)]
pub struct ExplainRequest<'a> {
    /// Their number.
    pub bins: i64,
    pub epsilon: f64,
    /// 0 for pure epsilon.
    pub delta: f64,
    /// Whose answers' variances are stated; what methods and "auto" are made for.
    pub workload: Workload,
    /// In words; None for all that the budget has noise for.
    pub methods: Option<&'a [String]>,
    /// For the trees among them that do not fix their own.
    pub branching: Option<u32>,
}

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

/// The mean and maximum variance of the answers to the workload, by the mechanisms that a release
/// would use.
///
/// Errors: as for a release.
pub fn explain(request: &ExplainRequest) -> Result<Vec<ExplainedMethod>, RangePlanError> {
    let &ExplainRequest { bins, epsilon, delta, workload, methods, branching } = request;
    let target = TargetRanges::Workload(workload);
    let plan =
        |method| RangePlan::new(RangeRequest { bins, epsilon, delta, rows_per_unit: 1, method });
    let explain = |method: String, choice| {
        let plan = plan(choice)?;
        let spread = plan.mechanism().spread(workload);
        let bound = svd_bound(workload, plan.parameters().bins());
        let svd_ratio = bound.map(|bound| spread.mean / (plan.unit_variance() * bound));
        let branching = plan.parameters().branching();
        let explained = ExplainedMethod { method, branching, spread, svd_ratio, chosen: false };
        Ok((explained, plan.parameters().clone()))
    };
    let word = |text: &String| Ok((text.clone(), MethodChoice::parse(text)?));
    let mut choices = match methods {
        Some(words) => words.iter().map(word).collect::<Result<Vec<_>, _>>()?,
        None => {
            let all = MethodChoice::suitable(bins, delta, &TargetRanges::ALL);
            all.map(|choice| (choice.to_string(), choice)).collect()
        }
    };
    for (_, choice) in &mut choices {
        if choice.target == TargetRanges::ALL {
            choice.target = target.clone();
        }
        if choice.method.is_some_and(RangeMethod::has_branching) {
            choice.branching = choice.branching.or(branching);
        }
    }
    let complete = methods.is_none() && branching.is_none() && !choices.is_empty();
    let auto = if complete { None } else { Some(plan(MethodChoice::auto(target.clone()))?) };
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
