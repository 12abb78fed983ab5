//! `dp_coco_histogram`: one private histogram from an exact one.

use crate::charge::Receipt;
use crate::coco::{Coco, DpCoco};
use crate::hierarchy::{Consistency, HistogramMechanism, Observer, estimator_names};
use crate::noise::SystemWords;
use crate::path::Path;
use crate::pg::dataset::asked_part::check_no_part;
use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, internal, invalid, required};
use crate::pg::release::named::{HierarchyRelease, promised};
use crate::pg::release::order::{Asked, uncharged};
use crate::pg::server::progress::{Function, Phase, Progress};
use pgrx::prelude::*;
use serde_json::{Map, json};

pub(super) const DEFAULT_MAX_SIZE: i64 = 10_000;
pub(super) const DEFAULT_METHOD: &str = "auto";

/// What a caller asked for, checked: a hierarchy of one level.
pub(super) struct HistogramRequest {
    epsilon: f64,
    max_size: i64,
    word: String,
    mechanism: HistogramMechanism,
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
            let known = estimator_names(|_| true).join(", ");
            return Err(invalid(
                format!("method: unknown word \"{word}\""),
                format!("Valid methods: {known}."),
            ));
        }
        let mechanism = HistogramMechanism::new(epsilon, &word, max_size)
            .map_err(|error| invalid(error.to_string(), error.hint()))?;
        Ok(HistogramRequest { epsilon, max_size, word, mechanism })
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
        size.min(self.mechanism.max_size())
    }

    /// What adds the noise.
    pub(super) fn mechanism(&self) -> &HistogramMechanism {
        &self.mechanism
    }
}

/// Adds the noise. The number of groups is taken to be public.
pub(super) fn release<P>(
    receipt: Receipt<HistogramMechanism, P>,
    truth: &Coco,
    words: &mut SystemWords,
    progress: &Progress,
) -> DpCoco {
    let draws = receipt.mechanism().draws(truth.groups()).unwrap_or(0);
    progress.steps(Phase::Measuring, draws as usize);
    receipt.release(truth, words, &mut Draws(progress))
}

/// Tells how many numbers have got their noise.
struct Draws<'a>(&'a Progress);

impl Observer for Draws<'_> {
    fn numbers_measured(&mut self, numbers: u64) {
        self.0.steps_done(numbers);
    }
}

#[pg_extern(volatile, parallel_unsafe)]
#[allow(clippy::too_many_arguments)] // the SQL function's arguments
fn dp_coco_histogram(
    h: Option<Coco>,
    epsilon: Option<f64>,
    max_size: Option<i64>,
    method: Option<&str>,
    dataset: Option<&str>,
    name: Option<&str>,
    within: Option<Vec<Option<String>>>,
    period: Option<&str>,
) -> Result<DpCoco> {
    let truth = required(h, "h")?;
    let request = HistogramRequest::new(epsilon, max_size, method)?;
    let mut parameters = json!({
        "epsilon": request.epsilon, "max_size": request.max_size, "method": request.word,
    });
    let progress = Progress::start(Function::CocoHistogram, Phase::Checking);
    let Some(dataset_name) = dataset else {
        check_no_part(within.as_deref(), period)?;
        promised(name, None, parameters)?;
        return uncharged(request.mechanism, |receipt, words| {
            Ok(release(receipt, &truth, words, &progress))
        });
    };
    let dataset = Dataset::open(dataset_name)?;
    progress.dataset(dataset.id);
    dataset.source.check_groups_public(
        dataset_name,
        "It would tell their exact number. Use dp_hierarchy_release.",
    )?;
    if dataset.source.privacy_unit.is_some() {
        return Err(invalid(
            format!(
                "dataset \"{dataset_name}\" bounds the rows of each privacy unit, which a histogram made \
                 elsewhere does not"
            ),
            "Use dp_hierarchy_release.",
        ));
    }
    if period.is_some() {
        dataset.check_groups_listed()?;
    }
    let dataset = dataset.of_part(within, period)?;
    for (argument, value) in dataset.source.part.about() {
        parameters[argument] = value;
    }
    let promise = promised(name, Some(dataset_name), parameters)?;
    if let Some(promise) = &promise {
        dataset.check_may_count(&promise.name)?;
    }
    let asked = Asked::new(&dataset, &progress, promise, Map::new());
    let released = asked.once(|asked| {
        let (mechanism, epsilon) = (request.mechanism, request.epsilon);
        let part = dataset.counted_part()?;
        asked.of_given(mechanism, part, |receipt, words| {
            let histogram = release(receipt, &truth, words, &progress);
            Ok(HierarchyRelease {
                regions: vec![(Path::default(), histogram)],
                level_epsilons: vec![Some(epsilon)],
                measurements: vec![],
                selection: None,
            })
        })
    })?;
    let root = released.regions.into_iter().next();
    root.map(|(_, histogram)| histogram).ok_or_else(|| internal("a stored histogram has no region"))
}
