//! `dp_coco_histogram`: one private histogram from an exact one.

use crate::charge::{Cost, Costs, Receipt};
use crate::coco::{Coco, CocoMechanism, DpCoco};
use crate::hierarchy::{Consistency, ReleasePlan, estimator_words};
use crate::noise::SystemWords;
use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, internal, invalid, required};
use crate::pg::release::order::{Asked, uncharged};
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::work::watched;
use pgrx::prelude::*;
use serde_json::Map;

pub(super) const DEFAULT_MAX_SIZE: i64 = 10_000;
pub(super) const DEFAULT_METHOD: &str = "auto";

/// What a caller asked for, checked: a hierarchy of one level.
pub(super) struct HistogramRequest {
    epsilon: f64,
    max_size: i64,
    word: String,
    plan: ReleasePlan,
}

impl HistogramRequest {
    pub(super) fn new(
        epsilon: Option<f64>,
        max_size: Option<i64>,
        method: Option<&str>,
    ) -> Result<HistogramRequest> {
        let epsilon = required(epsilon, "epsilon")?;
        let max_size = required(max_size, "max_size")?;
        let word = required(method, "method")?.to_string();
        if Consistency::None.estimator(&word).is_none() {
            let known = estimator_words(|_| true).join(", ");
            return Err(invalid(
                format!("method: unknown word \"{word}\""),
                format!("Valid methods: {known}."),
            ));
        }
        let words = std::slice::from_ref(&word);
        let plan = ReleasePlan::new(1, epsilon, words, "none", max_size, None, 1)
            .map_err(|error| invalid(error.to_string(), error.hint()))?;
        Ok(HistogramRequest { epsilon, max_size, word, plan })
    }

    /// Whether the arguments are the same again.
    pub(super) fn is(
        &self,
        epsilon: Option<f64>,
        max_size: Option<i64>,
        method: Option<&str>,
    ) -> bool {
        epsilon == Some(self.epsilon)
            && max_size == Some(self.max_size)
            && method == Some(self.word.as_str())
    }

    /// A row is a group, whatever its size says: NULL and negative sizes count as 0, large ones as
    /// max_size, so that no error depends on a private row.
    pub(super) fn public_size(&self, size: Option<i64>) -> u64 {
        let size = size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
        size.min(self.plan.max_size())
    }

    /// What measures a histogram of so many groups, a number that is taken to be public.
    pub(super) fn measurement(&self, groups: u64) -> Result<HistogramMeasurement> {
        let level = self.plan.levels()[0].as_ref();
        let level = level.ok_or_else(|| internal("the only level of a histogram is measured"))?;
        let mechanism = self.plan.mechanism(level, groups).map_err(internal)?;
        let plan = &self.plan;
        let cost = Cost {
            epsilon: plan.epsilon(),
            delta: 0.0,
            rho: plan.rho(),
            mechanism: plan.describe(),
        };
        Ok(HistogramMeasurement { mechanism, cost })
    }
}

/// What measures one histogram, with what it costs.
pub(super) struct HistogramMeasurement {
    mechanism: CocoMechanism,
    cost: Cost,
}

impl Costs for HistogramMeasurement {
    fn cost(&self) -> Cost {
        self.cost.clone()
    }
}

/// Adds the noise.
pub(super) fn release<P>(
    receipt: Receipt<HistogramMeasurement, P>,
    truth: &Coco,
    words: &mut SystemWords,
    progress: &Progress,
) -> DpCoco {
    let HistogramMeasurement { mechanism, .. } = receipt.into_mechanism();
    progress.steps(Phase::Measuring, mechanism.polls().unwrap_or(0));
    watched(&mut || progress.step(), || mechanism.release(truth, words)).released()
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_coco_histogram(
    h: Option<Coco>,
    epsilon: Option<f64>,
    max_size: Option<i64>,
    method: Option<&str>,
    dataset: Option<&str>,
) -> Result<DpCoco> {
    let truth = required(h, "h")?;
    let request = HistogramRequest::new(epsilon, max_size, method)?;
    let progress = Progress::start(Function::CocoHistogram, Phase::Checking);
    let measurement = request.measurement(truth.groups())?;
    let Some(name) = dataset else {
        return uncharged(measurement, |receipt, words| {
            Ok(release(receipt, &truth, words, &progress))
        });
    };
    let dataset = Dataset::open(name)?;
    progress.dataset(dataset.id);
    if dataset.source.privacy_unit.is_some() {
        return Err(invalid(
            format!(
                "dataset \"{name}\" bounds the rows of each privacy unit, which a histogram made \
                 elsewhere does not"
            ),
            "Use dp_hierarchy_release.",
        ));
    }
    let asked = Asked { dataset: &dataset, progress: &progress, name: None, about: Map::new() };
    asked.of_given(measurement, |receipt, words| Ok(release(receipt, &truth, words, &progress)))
}
