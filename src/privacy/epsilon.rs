//! A pure-epsilon budget and its division among sequentially composed measurements.

use std::fmt;

/// What is calibrated is smaller than what is charged by this share, 2^-48.
///
/// The ledger adds decimals (0.1 + 0.2 = 0.3 there), while noise is calibrated to the `f64` nearest
/// to such a decimal, which may exceed it by 2^-53 relatively; products and sums of shares round
/// too, by less than 31 * 2^-53 for up to 25 levels. The margin covers all of it, so that the
/// realised loss is at most the decimal that was charged. It costs 4e-15 of the accuracy.
const MARGIN: f64 = 1.0 / (1u64 << 48) as f64;

/// How far a caller's shares may miss 1, for sums of decimals such as 0.1 + 0.2 + 0.7.
const SHARE_TOLERANCE: f64 = 1e-9;

/// A positive, finite privacy-loss budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Epsilon(f64);

/// The budget is zero, negative, infinite or not a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpsilonError;

/// Why a budget cannot be divided as asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ShareError {
    NotPositive { share: f64 },
    SumNotOne { sum: f64 },
}

impl fmt::Display for ShareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShareError::NotPositive { share } => {
                write!(f, "must be positive, finite numbers, got {share}")
            }
            ShareError::SumNotOne { sum } => write!(f, "must sum to 1, got a sum of {sum}"),
        }
    }
}

impl std::error::Error for ShareError {}

impl Epsilon {
    pub fn new(value: f64) -> Result<Epsilon, EpsilonError> {
        if value.is_finite() && value > 0.0 { Ok(Epsilon(value)) } else { Err(EpsilonError) }
    }

    pub fn value(self) -> f64 {
        self.0
    }

    /// The shortest decimal that reads back as this `f64`: the amount that the ledger charges.
    pub fn decimal(self) -> String {
        self.0.to_string()
    }

    /// What one measurement that spends the whole budget is calibrated to.
    pub fn whole(self) -> f64 {
        self.0 * (1.0 - MARGIN)
    }

    /// What measurements that compose sequentially are calibrated to, one per share; together they
    /// spend at most [`Epsilon::decimal`].
    ///
    /// Errors: a share that is not positive and finite; shares that do not sum to 1.
    pub fn split(self, shares: &[f64]) -> Result<Vec<f64>, ShareError> {
        if let Some(&share) = shares.iter().find(|s| !(s.is_finite() && **s > 0.0)) {
            return Err(ShareError::NotPositive { share });
        }
        let sum: f64 = shares.iter().sum();
        if (sum - 1.0).abs() > SHARE_TOLERANCE {
            return Err(ShareError::SumNotOne { sum });
        }
        Ok(shares.iter().map(|share| self.whole() * (share / sum)).collect())
    }

    /// [`Epsilon::split`] into equal parts; `parts` > 0.
    pub fn split_equally(self, parts: usize) -> Vec<f64> {
        vec![self.whole() / parts as f64; parts]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigInt;
    use proptest::prelude::*;

    /// The value times 2^1100, exactly; `f64`s above 2^-1000 become integers.
    fn exact(value: f64) -> BigInt {
        let bits = value.to_bits();
        let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
        BigInt::from(mantissa) << ((bits >> 52) as i64 - 1075 + 1100)
    }

    /// A decimal string times 2^1100, rounded down.
    fn exact_decimal(text: &str) -> BigInt {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits: BigInt = format!("{whole}{fraction}").parse().unwrap();
        (digits << 1100) / BigInt::from(10).pow(fraction.len() as u32)
    }

    proptest! {
        #[test]
        fn parts_never_add_up_to_more_than_the_charge(
            value in 1e-6f64..1e3,
            weights in prop::collection::vec(0.01f64..10.0, 1..=25),
        ) {
            let epsilon = Epsilon::new(value).unwrap();
            let charged = exact_decimal(&epsilon.decimal());
            let total: f64 = weights.iter().sum();
            let shares: Vec<f64> = weights.iter().map(|w| w / total).collect();
            let parts = epsilon.split(&shares).unwrap();
            prop_assert!(parts.iter().map(|p| exact(*p)).sum::<BigInt>() <= charged);
            let equal = epsilon.split_equally(weights.len());
            prop_assert!(equal.iter().map(|p| exact(*p)).sum::<BigInt>() <= charged);
            prop_assert!(exact(epsilon.whole()) <= charged);
        }
    }

    #[test]
    fn decimals_are_the_ones_that_were_typed() {
        for (value, text) in [(0.1, "0.1"), (1.0, "1"), (2.5, "2.5"), (1e-7, "0.0000001")] {
            assert_eq!(Epsilon::new(value).unwrap().decimal(), text);
        }
    }

    #[test]
    fn what_is_no_budget_is_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Epsilon::new(bad), Err(EpsilonError));
        }
        let epsilon = Epsilon::new(1.0).unwrap();
        assert!(epsilon.split(&[0.1, 0.2, 0.7]).is_ok());
        assert_eq!(epsilon.split(&[0.5, 0.6]), Err(ShareError::SumNotOne { sum: 1.1 }));
        assert_eq!(epsilon.split(&[1.5, -0.5]), Err(ShareError::NotPositive { share: -0.5 }));
        assert!(epsilon.split(&[f64::NAN, 0.5]).is_err());
    }
}
