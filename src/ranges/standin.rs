//! `flat` alone: one noisy count per bin (Qardaji, Yang, Li 2013, section 3).

use crate::noise::{DiscreteLaplace, RandomWords, Scale, ScaleError};
use crate::privacy::{Epsilon, rho_of_pure};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

#[derive(Debug, Clone, PartialEq)]
pub enum PlanError {
    Epsilon(f64),
    Delta(f64),
    Method(String),
    Scale(ScaleError),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Epsilon(value) => {
                write!(f, "epsilon must be a positive, finite number, got {value}")
            }
            PlanError::Delta(value) => write!(f, "delta must be 0 or less than 1, got {value}"),
            PlanError::Method(word) => write!(f, "method: unknown word \"{word}\""),
            PlanError::Scale(error) => error.fmt(f),
        }
    }
}

impl PlanError {
    pub fn hint(&self) -> String {
        "Valid methods: flat, auto.".into()
    }
}

pub struct RangePlan {
    bins: usize,
    epsilon: Epsilon,
    scale: f64,
    noise: DiscreteLaplace,
}

impl RangePlan {
    pub fn new(
        bins: usize,
        epsilon: f64,
        delta: f64,
        method: &str,
        rows_per_unit: u32,
    ) -> Result<RangePlan, PlanError> {
        if !["flat", "auto"].contains(&method) {
            return Err(PlanError::Method(method.into()));
        }
        if !(0.0..1.0).contains(&delta) {
            return Err(PlanError::Delta(delta));
        }
        let epsilon = Epsilon::new(epsilon).map_err(|_| PlanError::Epsilon(epsilon))?;
        let scale = Scale::new(rows_per_unit.into(), epsilon.whole()).map_err(PlanError::Scale)?;
        let scale_value = f64::from(rows_per_unit) / epsilon.whole();
        Ok(RangePlan { bins, epsilon, scale: scale_value, noise: DiscreteLaplace::new(scale) })
    }

    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    pub fn delta(&self) -> f64 {
        0.0
    }

    pub fn rho(&self) -> f64 {
        rho_of_pure(self.epsilon.whole())
    }

    pub fn describe(&self) -> serde_json::Value {
        serde_json::json!({ "method": "flat", "bins": self.bins, "scale": self.scale })
    }

    pub fn release<R: RandomWords + ?Sized>(
        &self,
        counts: &[u64],
        words: &mut R,
        checkpoint: &mut dyn FnMut(),
    ) -> Release {
        let mut measured = Vec::with_capacity(counts.len());
        for (i, &count) in counts.iter().enumerate() {
            if i % 4096 == 0 {
                checkpoint();
            }
            measured.push((count as i64).saturating_add(self.noise.sample(words)));
        }
        Release { variance: self.noise.variance(), measured }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Release {
    variance: f64,
    measured: Vec<i64>,
}

impl Release {
    pub fn bins(&self) -> usize {
        self.measured.len()
    }

    pub fn answers(&self) -> Answers {
        let mut prefix = vec![0.0];
        let mut sum = 0.0;
        for &value in &self.measured {
            sum += value as f64;
            prefix.push(sum);
        }
        Answers { prefix, variance: self.variance }
    }
}

/// Every range sum of one release.
pub struct Answers {
    prefix: Vec<f64>,
    variance: f64,
}

impl Answers {
    pub fn sum(&self, range: Range<usize>) -> f64 {
        self.prefix[range.end] - self.prefix[range.start]
    }

    pub fn variance(&self, range: Range<usize>) -> f64 {
        self.variance * range.len() as f64
    }
}
