//! How good each method for rectangles would be, before anything is spent.

use super::bound::svd_bound;
use super::error::RangePlanError;
use super::method::MethodChoice;
use super::plan::PlanePlan;
use super::planner::PlaneRequest;
use super::workload::{TargetRanges, Workload};

/// What an explanation is asked for.
#[derive(Debug, Clone, Copy)]
pub struct ExplainRectangles<'a> {
    /// The number of rows of cells.
    pub rows: i64,
    pub columns: i64,
    pub epsilon: f64,
    /// 0 for pure epsilon.
    pub delta: f64,
    /// In words; None for all that the budget has noise for.
    pub methods: Option<&'a [String]>,
}

/// What a method's answers to all rectangles would be like.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainedRectangles {
    /// As the caller wrote it, or its word.
    pub method: String,
    /// None for a method without a tree.
    pub branching: Option<u32>,
    /// Of the noise as implemented.
    pub mean: f64,
    /// None where it is not known without going through too many rectangles.
    pub max: Option<f64>,
    /// The mean over the least that is possible at the same privacy. The singular values of all
    /// rectangles are the products of those of all ranges of rows and of columns, and so is the
    /// [bound](svd_bound).
    pub svd_ratio: Option<f64>,
    /// Whether it is what "auto" takes for all rectangles.
    pub chosen: bool,
}

/// The mean and maximum variance of the answers to all rectangles, by the mechanisms that a release
/// would use.
///
/// Errors: as for a release.
pub fn explain_rectangles(
    request: &ExplainRectangles,
) -> Result<Vec<ExplainedRectangles>, RangePlanError> {
    let &ExplainRectangles { rows, columns, epsilon, delta, methods } = request;
    let plan = |method| {
        let (rows_per_unit, asked) = (1, Vec::new());
        PlanePlan::new(PlaneRequest { rows, columns, epsilon, delta, rows_per_unit, method, asked })
    };
    let word = |text: &String| Ok((text.clone(), MethodChoice::parse_for_grid(text)?));
    let auto = plan(MethodChoice::auto(TargetRanges::ALL))?;
    let choices = match methods {
        Some(words) => words.iter().map(word).collect::<Result<Vec<_>, _>>()?,
        None => {
            let all = MethodChoice::suitable_for_grids(auto.parameters().grid(), delta);
            all.map(|choice| (choice.to_string(), choice)).collect()
        }
    };
    let explain = |method, plan: &PlanePlan| {
        let (parameters, mechanism) = (plan.parameters(), plan.mechanism());
        let side = |bins| svd_bound(Workload::All, bins);
        let bound = side(mechanism.grid().rows()).zip(side(mechanism.grid().columns()));
        let (mean, unit) = (mechanism.mean_over_all(), plan.unit_variance());
        ExplainedRectangles {
            method,
            branching: parameters.branching(),
            mean,
            max: mechanism.max_over_all(),
            svd_ratio: bound.map(|(rows, columns)| mean / (unit * rows * columns)),
            chosen: parameters == auto.parameters(),
        }
    };
    let mut rows = Vec::with_capacity(choices.len());
    for (method, choice) in choices {
        rows.push(explain(method, &plan(choice)?));
    }
    if methods.is_none() && !rows.iter().any(|row| row.chosen) {
        // Laplace noise where the method by its name has Gaussian noise
        rows.push(explain(MethodChoice::auto(TargetRanges::ALL).to_string(), &auto));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: i64, columns: i64, delta: f64, methods: &[&str]) -> Vec<ExplainedRectangles> {
        let methods: Vec<String> = methods.iter().map(|word| word.to_string()).collect();
        let methods = (!methods.is_empty()).then_some(methods.as_slice());
        let request = ExplainRectangles { rows, columns, epsilon: 1.0, delta, methods };
        explain_rectangles(&request).unwrap()
    }

    /// And has no other choice than what is listed, whatever the noise.
    #[test]
    fn the_chosen_one_has_the_least_mean() {
        for (height, width) in [(1, 1), (2, 2), (3, 40), (64, 64), (90, 7)] {
            for delta in [0.0, 1e-30, 1e-9, 0.3] {
                let rows = rows(height, width, delta, &[]);
                let chosen: Vec<_> = rows.iter().filter(|row| row.chosen).collect();
                assert_eq!(chosen.len(), 1, "{height} x {width}, {delta}: {rows:?}");
                let least = rows.iter().map(|row| row.mean).fold(f64::INFINITY, f64::min);
                assert_eq!(chosen[0].mean, least, "{height} x {width}, {delta}: {rows:?}");
            }
        }
        let listed = rows(64, 64, 1e-9, &["flat", "tree_consistent:8"]);
        assert_eq!((listed[0].branching, listed[1].branching), (None, Some(8)));
        assert!(listed.iter().all(|row| !row.chosen));
    }

    #[test]
    fn one_row_has_the_ratio_of_a_line() {
        let ratio = |height, width| {
            format!("{:.3}", rows(height, width, 1e-6, &["cascade"])[0].svd_ratio.unwrap())
        };
        assert_eq!([ratio(1, 64), ratio(64, 1), ratio(256, 1)], ["1.609", "1.609", "1.665"]);
        assert_eq!(ratio(64, 64), "2.588");
    }
}
