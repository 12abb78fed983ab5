//! What is compared.

use crate::EPSILON;
use num_rational::Ratio;
use pg_dp::noise::ScaleError;
use pg_dp::privacy::{Epsilon, GaussianBudget, gaussian_sigma};
use pg_dp::ranges::{
    Calibration, ConsistentTree, MethodChoice, NoiseParameter, RangeMechanism, RangePlan,
    RangePlanError, RangeRequest, TreeShape, Wavelet,
};
use std::error::Error;

#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// In figures and tables.
    pub name: &'static str,
    how: How,
}

#[derive(Debug, Clone, Copy)]
enum How {
    /// As the extension releases it when asked with these words.
    Planned(&'static str),
    /// The same without a delta.
    Pure(&'static str),
    /// A consistent binary tree or Haar coefficients, with Gaussian noise of equal budgets. Asked
    /// for these words, the extension takes Laplace noise where that is better.
    GaussianTree,
    GaussianWavelet,
}

const fn planned(words: &'static str) -> Method {
    Method { name: words, how: How::Planned(words) }
}

/// With Gaussian noise.
const GAUSSIAN: [Method; 6] = [
    planned("gaussian"),
    planned("binary_tree"),
    Method { name: "tree (Gaussian)", how: How::GaussianTree },
    Method { name: "wavelet (Gaussian)", how: How::GaussianWavelet },
    planned("cascade"),
    planned("prefix"),
];
pub const OPTIMAL: Method = planned("optimal");
pub const OPTIMAL_PREFIX: Method = planned("optimal:prefix");
pub const MINIMAX: Method = planned("minimax");
pub const MINIMAX_PREFIX: Method = planned("minimax:prefix");
/// With Laplace noise, for comparison.
pub const LAPLACE_TREE: Method =
    Method { name: "tree (Laplace)", how: How::Pure("tree_consistent") };

pub fn for_all_ranges() -> Vec<Method> {
    [&GAUSSIAN[..], &[OPTIMAL, MINIMAX, LAPLACE_TREE]].concat()
}

pub fn for_prefixes() -> Vec<Method> {
    [&GAUSSIAN[..], &[OPTIMAL_PREFIX, MINIMAX_PREFIX, LAPLACE_TREE]].concat()
}

/// The methods that need no delta.
pub fn pure() -> Vec<Method> {
    let words = ["flat", "tree", "tree_consistent:2", "tree_consistent", "quad", "wavelet"];
    words.into_iter().map(|words| Method { name: words, how: How::Pure(words) }).collect()
}

/// A method with its noise settled.
pub struct Made {
    pub branching: Option<u32>,
    /// The zero-concentrated loss.
    pub rho: f64,
    source: Source,
}

enum Source {
    Plan(RangePlan),
    Mechanism(Box<dyn RangeMechanism>),
}

impl Made {
    pub fn mechanism(&self) -> &dyn RangeMechanism {
        match &self.source {
            Source::Plan(plan) => plan.mechanism(),
            Source::Mechanism(mechanism) => mechanism.as_ref(),
        }
    }
}

impl Method {
    /// For so many bins, at [`EPSILON`] and this delta.
    pub fn make(self, bins: usize, delta: f64) -> Result<Made, Box<dyn Error>> {
        let planned = |words, delta| -> Result<Made, Box<dyn Error>> {
            let plan = plan(bins, EPSILON, delta, words)?;
            let (branching, rho) = (plan.parameters().branching(), plan.rho());
            Ok(Made { branching, rho, source: Source::Plan(plan) })
        };
        // with Gaussian noise of equal budgets
        type Build<'a> = &'a dyn Fn(&Calibration) -> Result<Box<dyn RangeMechanism>, ScaleError>;
        let gaussian = |groups: usize, build: Build| -> Result<Made, Box<dyn Error>> {
            let rho = budget(delta)?.rho(groups as f64, groups as u64);
            let sigma = gaussian_sigma(Ratio::from(groups as u64), rho);
            let noise = Calibration::per_group(vec![NoiseParameter::Gaussian { sigma }; groups]);
            Ok(Made { branching: Some(2), rho, source: Source::Mechanism(build(&noise)?) })
        };
        match self.how {
            How::Planned(words) => planned(words, delta),
            How::Pure(words) => planned(words, 0.0),
            How::GaussianTree => {
                let shape = TreeShape::new(bins, 2);
                gaussian(shape.height(), &|noise| Ok(Box::new(ConsistentTree::new(shape, noise)?)))
            }
            How::GaussianWavelet => {
                let groups = Wavelet::groups_over(bins);
                gaussian(groups, &|noise| Ok(Box::new(Wavelet::new(bins, noise)?)))
            }
        }
    }
}

/// For one row per unit of privacy.
pub fn plan(
    bins: usize,
    epsilon: f64,
    delta: f64,
    method: &str,
) -> Result<RangePlan, RangePlanError> {
    let (bins, method) = (bins as i64, MethodChoice::parse(method)?);
    RangePlan::new(RangeRequest { bins, epsilon, delta, rows_per_unit: 1, method })
}

/// The zero-concentrated loss that [`EPSILON`] and a delta allow Gaussian noise, however much of it.
pub fn granted_rho(delta: f64) -> Result<f64, Box<dyn Error>> {
    Ok(budget(delta)?.rho(f64::INFINITY, 1))
}

fn budget(delta: f64) -> Result<GaussianBudget, Box<dyn Error>> {
    let epsilon = Epsilon::new(EPSILON).map_err(|_| "epsilon is not positive")?;
    Ok(GaussianBudget::new(epsilon, delta)?)
}
