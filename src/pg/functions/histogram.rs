//! `dp_coco_histogram`: one private histogram from an exact one.

use crate::coco::{Coco, CocoMechanism, DpCoco};
use crate::hierarchy::{Consistency, ReleasePlan, estimator_words};
use crate::noise::{RandomWords, words_from_system};
use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::after_charge;
use crate::pg::errors::{Result, internal, invalid, required};
use crate::pg::ledger::charge::{self as ledger, Charge};
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::work::watched;
use pgrx::prelude::*;

pub(crate) const DEFAULT_MAX_SIZE: i64 = 10_000;
pub(crate) const DEFAULT_METHOD: &str = "auto";

/// What a caller asked for, checked: a hierarchy of one level.
pub(crate) struct Request {
    epsilon: f64,
    max_size: i64,
    word: String,
    plan: ReleasePlan,
}

impl Request {
    pub(crate) fn new(
        epsilon: Option<f64>,
        max_size: Option<i64>,
        method: Option<&str>,
    ) -> Result<Request> {
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
        Ok(Request { epsilon, max_size, word, plan })
    }

    /// Whether the arguments are the same again.
    pub(crate) fn is(
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
    pub(crate) fn public_size(&self, size: Option<i64>) -> u64 {
        let size = size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
        size.min(self.plan.max_size())
    }

    /// What measures a histogram of so many groups, a number that is taken to be public.
    pub(crate) fn mechanism(&self, groups: u64) -> Result<CocoMechanism> {
        let level = self.plan.levels()[0].as_ref();
        let level = level.ok_or_else(|| internal("the only level of a histogram is measured"))?;
        self.plan.mechanism(level, groups).map_err(internal)
    }
}

/// Adds the noise.
pub(crate) fn release(
    mechanism: &CocoMechanism,
    truth: &Coco,
    words: &mut impl RandomWords,
    progress: &Progress,
) -> DpCoco {
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
    let request = Request::new(epsilon, max_size, method)?;
    let progress = Progress::start(Function::CocoHistogram, Phase::Checking);
    let mechanism = request.mechanism(truth.groups())?;
    let mut words = words_from_system().map_err(internal)?;
    if let Some(name) = dataset {
        let dataset = Dataset::open(name)?;
        progress.dataset(&dataset);
        if dataset.source.privacy_unit.is_some() {
            return Err(invalid(
                format!(
                    "dataset \"{name}\" bounds the rows of each privacy unit, which a histogram \
                     made elsewhere does not"
                ),
                "Use dp_hierarchy_release.",
            ));
        }
        progress.phase(Phase::Charging);
        ledger::charge(&Charge {
            dataset: &dataset,
            function: "dp_coco_histogram",
            epsilon: request.plan.epsilon(),
            delta: 0.0,
            rho: request.plan.rho(),
            mechanism: request.plan.describe(),
            name: None,
        })?;
    }
    after_charge(|| Ok(release(&mechanism, &truth, &mut words, &progress)))
}
