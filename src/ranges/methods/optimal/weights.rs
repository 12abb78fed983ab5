//! Strategies in closed form for one Gram matrix, and the search for the best of them.
//!
//! The matrix X = A'A of a strategy A with columns of length at most 1 has the total squared error
//! tr(G X^-1), in units of the noise's variance, if it measures all that G asks for. For weights
//! l_i > 0 of the bins, L = diag(l), M = L^1/2 G L^1/2 and t = tr(M^1/2):
//!
//! - by Lagrange, tr(G Y^-1) + sum l_i Y_ii is least at Y = L^-1/2 M^1/2 L^-1/2, where it is 2 t. Of any
//!   X with diagonal at most 1 that, scaled, leaves tr(G X^-1) >= t^2 / sum l_i. All weights 1 are the
//!   singular value bound (Li & Miklau 2013);
//! - Y over its largest diagonal entry is such an X, with tr(G X^-1) = t max Y_ii. Its A, M^1/4 L^-1/2
//!   over that entry's root, asks for just what G asks for, whatever the weights.
//!
//! So where all Y_ii are alike, both meet, and X is the best there is. Bins with a large Y_ii get more
//! weight until they nearly do.
//!
//! The other form scales the columns of G^1/4 to length 1. It is close to the best at once for
//! all ranges and for prefixes. But where G is singular, as with a few ranges that overlap, what it
//! measures is not what is asked for.

use super::gram::GramError;
use crate::work::poll;
use nalgebra::{DMatrix, DVector, SymmetricEigen};

/// Eigenvalues count as at least this share of the largest one: what a workload does not ask for is
/// measured, too, if only faintly, and every range has an answer.
const FLOOR: f64 = 1e-12;

/// How far, in units of the largest entry, a Gram matrix may be from symmetric, and how far below
/// 0, in units of the largest eigenvalue, its eigenvalues may be.
const TOLERANCE: f64 = 1e-9;

/// Each eigenvalue takes a few steps.
const MOST_STEPS: usize = 100;

/// A strategy is looked for no longer when its error is at most so many times the bound.
const CLOSE: f64 = 1.01;

/// For how many lists of weights at the most: each takes n^3, some 0.5 s for 1024 bins.
fn most_rounds(bins: usize) -> usize {
    if bins <= 512 { 20 } else { 5 }
}

/// A strategy A and its error.
struct Form {
    strategy: DMatrix<f64>,
    error: f64,
}

/// What follows from one list of weights.
struct Weighted {
    form: Form,
    /// Y_ii.
    diagonal: DVector<f64>,
    bound: f64,
}

/// M by its eigenvalues and eigenvectors, of which its powers follow.
struct Powers {
    values: DVector<f64>,
    vectors: DMatrix<f64>,
}

impl Powers {
    /// Error: M is no Gram matrix.
    fn of(matrix: DMatrix<f64>) -> Result<Powers, GramError> {
        let most_steps = MOST_STEPS * matrix.ncols();
        let eigen = SymmetricEigen::try_new(matrix, f64::EPSILON, most_steps);
        let eigen = eigen.ok_or(GramError::NotGram)?;
        poll();
        let largest = eigen.eigenvalues.max();
        let least = eigen.eigenvalues.min();
        if !largest.is_finite() || !least.is_finite() || least < -TOLERANCE * largest {
            return Err(GramError::NotGram);
        }
        let values = eigen.eigenvalues.map(|value| value.max(FLOOR * largest));
        Ok(Powers { values, vectors: eigen.eigenvectors })
    }

    fn power(&self, exponent: f64) -> DMatrix<f64> {
        let powers = self.values.map(|value| value.powf(exponent));
        poll();
        &self.vectors * DMatrix::from_diagonal(&powers) * self.vectors.transpose()
    }

    /// tr(M^1/2).
    fn trace_of_root(&self) -> f64 {
        self.values.iter().map(|value| value.sqrt()).sum()
    }

    /// G^1/4 with its columns scaled to length 1, where these are the powers of G.
    fn even(&self, gram: &DMatrix<f64>) -> Form {
        let mut strategy = self.power(0.25);
        let lengths = DVector::from_iterator(
            strategy.ncols(),
            strategy.column_iter_mut().map(|mut column| column.normalize_mut()),
        );
        // the trace of G D G^-1/2 D, with these lengths as D
        let inverse = gram.component_mul(&self.power(-0.5));
        let error = (&lengths.transpose() * inverse * &lengths)[(0, 0)];
        Form { strategy, error }
    }

    /// By the powers of M.
    fn weighted(&self, weights: &DVector<f64>) -> Weighted {
        let mut strategy = self.power(0.25);
        for (mut column, weight) in strategy.column_iter_mut().zip(weights) {
            column /= weight.sqrt();
        }
        let diagonal = DVector::from_iterator(
            strategy.ncols(),
            strategy.column_iter().map(|column| column.norm_squared()),
        );
        let trace = self.trace_of_root();
        strategy /= diagonal.max().sqrt();
        let form = Form { strategy, error: trace * diagonal.max() };
        Weighted { form, diagonal, bound: trace * trace / weights.sum() }
    }
}

/// The matrix, if it may be that of a workload, in units of its largest entry.
fn checked(bins: usize, gram: &[f64]) -> Result<DMatrix<f64>, GramError> {
    if gram.len() != bins * bins {
        return Err(GramError::Shape);
    }
    if gram.iter().any(|entry| !entry.is_finite()) {
        return Err(GramError::NotGram);
    }
    let gram = DMatrix::from_row_slice(bins, bins, gram);
    let largest = gram.amax();
    if largest == 0.0 {
        return Err(GramError::Empty);
    }
    let gram = gram / largest;
    if (&gram - gram.transpose()).amax() > TOLERANCE {
        return Err(GramError::NotGram);
    }
    Ok(gram)
}

/// G^1/4 with its columns scaled to length 1.
pub(super) fn even_columns(bins: usize, gram: &[f64]) -> Result<DMatrix<f64>, GramError> {
    let gram = checked(bins, gram)?;
    Ok(Powers::of(gram.clone())?.even(&gram).strategy)
}

/// A strategy, with columns of length at most 1, whose error is close to the least.
pub(super) fn near_best(bins: usize, gram: &[f64]) -> Result<DMatrix<f64>, GramError> {
    let gram = checked(bins, gram)?;
    let mut weights = DVector::repeat(bins, 1.0);
    let mut powers = Powers::of(gram.clone())?;
    let mut best = powers.even(&gram);
    let mut bound: f64 = 0.0;
    for round in 1.. {
        let Weighted { form, diagonal, bound: of_weights } = powers.weighted(&weights);
        bound = bound.max(of_weights);
        if form.error < best.error || best.error.is_nan() {
            best = form;
        }
        if best.error <= CLOSE * bound || round == most_rounds(bins) {
            break;
        }
        // alone, Y_ii is as l_i^-1/2 for a bin that is asked for, and as l_i^-1 for one that is not
        weights.zip_apply(&diagonal, |weight, own| *weight *= own.powf(1.5));
        let roots = weights.map(f64::sqrt);
        match Powers::of(gram.component_mul(&(&roots * roots.transpose()))) {
            Ok(of_weights) => powers = of_weights,
            // rounding has its limits
            Err(_) => break,
        }
    }
    Ok(best.strategy)
}
