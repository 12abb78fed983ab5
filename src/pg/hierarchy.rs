//! `dp_hierarchy_release`.

use super::after_charge::{Failure, after_charge, unfit};
use super::catalog::{Dataset, find_release, read_release, store_release};
use super::errors::{Result, all_required, checked_name, error, internal, required};
use super::ledger::{self, Charge};
use super::progress::{Function, Phase, Progress};
use super::session::{as_of_now, as_reader, workers_of_session};
use crate::charge::Receipt;
use crate::coco::DpCoco;
use crate::hierarchy::{Consistency, Mechanism, Observer, ReleaseRequest, Released, Tree};
use crate::noise::words_from_system;
use pgrx::prelude::*;
use serde_json::json;
use std::fmt::Display;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

type ReleaseRow =
    (name!(level, i32), name!(path, Vec<String>), name!(size, i64), name!(groups, i64));

/// The order matters: serve a stored release, check all that is public, plan, charge, read private rows,
/// add noise.
#[pg_extern(volatile, parallel_unsafe)]
fn dp_hierarchy_release(
    dataset: Option<&str>,
    epsilon: Option<f64>,
    estimators: Option<Vec<Option<String>>>,
    consistency: Option<&str>,
    max_size: Option<i64>,
    budget_shares: Option<Vec<Option<f64>>>,
    name: Option<&str>,
) -> Result<
    TableIterator<
        'static,
        (name!(level, i32), name!(path, Vec<String>), name!(size, i64), name!(groups, i64)),
    >,
> {
    let dataset_name = required(dataset, "dataset")?;
    let epsilon = required(epsilon, "epsilon")?;
    let estimators = all_required(required(estimators, "estimators")?, "estimators")?;
    let consistency = required(consistency, "consistency")?;
    let max_size = required(max_size, "max_size")?;
    let shares = budget_shares.map(|shares| all_required(shares, "budget_shares")).transpose()?;

    let name = name.map(|name| checked_name(name, "name")).transpose()?;

    let progress = Progress::start(Function::HierarchyRelease, Phase::Checking);
    let dataset = Dataset::open(dataset_name)?;
    progress.dataset(&dataset);
    let levels = dataset.source.hierarchy.len() + 1;
    let request = ReleaseRequest {
        levels,
        epsilon,
        estimators,
        consistency: consistency.to_string(),
        max_size,
        shares,
        rows_per_unit: dataset.source.max_rows_per_unit.unsigned_abs(),
    };
    let mechanism = Mechanism::new(&request).map_err(unfit)?;

    let asked = json!({
        "epsilon": epsilon,
        "estimators": request.estimators,
        "consistency": request.consistency,
        "max_size": max_size,
        "budget_shares": request.shares,
    });
    if let Some(name) = name
        && let Some(stored) = find_release(&dataset, name, &asked)?
    {
        if stored.same_parameters {
            return Ok(rows(read_release(stored.id)?));
        }
        return Err(error(
            PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT,
            format!(
                "release \"{name}\" of dataset \"{}\" exists already with other parameters",
                dataset.name
            ),
        )
        .set_hint("dp.releases shows its parameters. Nothing was spent. Choose another name."));
    }

    if name.is_some() && unsafe { pg_sys::XactReadOnly } {
        return Err(error(
            PgSqlErrorCode::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            "a named release cannot be stored in a read-only transaction",
        )
        .set_hint(
            "Nothing was spent. Leave the name out, or start a transaction that may write.",
        ));
    }
    let release = Asked { dataset: &dataset, mechanism: &mechanism, name, parameters: &asked };
    // what is checked is what is read: what is committed now, whatever the transaction's snapshot
    as_of_now(|| release.carry_out(&progress)).map(rows)
}

/// A release that is not stored yet.
struct Asked<'a> {
    dataset: &'a Dataset,
    mechanism: &'a Mechanism,
    name: Option<&'a str>,
    parameters: &'a serde_json::Value,
}

impl Asked<'_> {
    fn carry_out(&self, progress: &Progress) -> Result<Vec<(Vec<String>, DpCoco)>> {
        let Asked { dataset, mechanism, name, parameters } = *self;
        let reader = dataset.check_source()?;
        let (max_size, workers) = (mechanism.max_size(), workers_of_session());
        let reading = as_reader(reader, || dataset.source.prepare_leaves(max_size, workers))?;
        // where the regions are those of private rows, the release itself has to find out
        if let Some(regions) = reading.regions_per_level() {
            mechanism.check_regions(&regions).map_err(unfit)?;
        }
        let mut words = words_from_system().map_err(internal)?;
        progress.phase(Phase::Charging);
        let charge = ledger::charge(&Charge {
            dataset,
            function: "dp_hierarchy_release",
            epsilon: mechanism.epsilon(),
            delta: 0.0,
            rho: mechanism.rho(),
            mechanism: mechanism.describe(),
            name,
        })?;
        after_charge(|| {
            progress.phase(Phase::Reading);
            let (tree, leaves) = as_reader(reader, || reading.read())?;
            let mut watch = Watch::release(progress, mechanism, &tree);
            // the charge that is made above
            let receipt = Receipt::uncharged(mechanism.clone());
            let Released { histograms, errors } =
                receipt.release(&tree, leaves, &mut words, threads(), &mut watch)?;
            tell_selection(&errors);
            if let Some(name) = name {
                progress.phase(Phase::Storing);
                store_release(dataset, name, charge, parameters, tree.regions(), &histograms)
                    .map_err(Failure::Store)?;
            }
            let paths = tree.regions().iter().map(|region| region.path.clone());
            Ok(paths.zip(histograms).collect())
        })
    }
}

/// The noisy errors of the candidates among which one was selected, if any.
fn tell_selection<E: Ord + Display>(errors: &[(String, E)]) {
    if let Some((selected, _)) = errors.iter().min_by_key(|(_, error)| error) {
        let errors: Vec<String> =
            errors.iter().map(|(name, error)| format!("{name} {error}")).collect();
        pgrx::notice!(
            "selected {selected}: entities off in all regions together, with noise: {}",
            errors.join(", ")
        );
    }
}

/// As many as there are cores, but no more than the query could have processes: whoever bounds these
/// by `max_parallel_workers_per_gather` means what a single query may take of the machine.
pub(super) fn threads() -> NonZeroUsize {
    let workers = usize::try_from(workers_of_session()).unwrap_or(0);
    let processes = NonZeroUsize::MIN.saturating_add(workers);
    available_parallelism().map_or(NonZeroUsize::MIN, |cores| cores.min(processes))
}

/// The rows of a release, one region after the other.
pub(super) fn rows(regions: Vec<(Vec<String>, DpCoco)>) -> TableIterator<'static, ReleaseRow> {
    TableIterator::new(regions.into_iter().flat_map(|(path, histogram)| {
        let runs = histogram.histogram().runs().to_vec();
        runs.into_iter()
            .map(move |run| (path.len() as i32, path.clone(), run.size as i64, run.groups as i64))
    }))
}

/// Tells how far a long function has come.
pub(super) struct Watch<'a> {
    progress: &'a Progress,
    levels: usize,
    /// The first level that is measured, and the number of regions on all of those.
    first: usize,
    regions: usize,
    /// How many are matched with their children once all levels are measured.
    parents: usize,
    all_measured: bool,
    told: Instant,
}

impl<'a> Watch<'a> {
    /// A release that takes less than this says nothing.
    const QUIET: Duration = Duration::from_secs(2);

    /// Of a release that begins to measure. Where several plans are carried out, all measure the same
    /// regions.
    fn release(progress: &'a Progress, mechanism: &Mechanism, tree: &Tree) -> Watch<'a> {
        let (plan, levels) = (&mechanism.plans()[0], tree.depth());
        let measured = || (0..levels).filter(|level| plan.levels()[*level].is_some());
        let watch = Watch {
            progress,
            levels,
            first: measured().next().unwrap_or(0),
            regions: measured().map(|level| tree.level(level).len()).sum(),
            parents: plan.consistency().parents_to_match(tree),
            all_measured: false,
            told: Instant::now(),
        };
        watch.begin();
        watch
    }

    fn begin(&self) {
        self.progress.steps(Phase::Measuring, self.regions);
        self.progress.level(self.first, self.levels);
    }

    /// Of the post-processing of what was measured before.
    pub(super) fn consistency(
        progress: &'a Progress,
        method: Consistency,
        tree: &Tree,
    ) -> Watch<'a> {
        let (levels, parents) = (tree.depth(), method.parents_to_match(tree));
        progress.steps(Phase::MakingConsistent, parents);
        let told = Instant::now();
        Watch { progress, levels, first: 0, regions: 0, parents, all_measured: true, told }
    }
}

impl Observer for Watch<'_> {
    fn region_measured(&mut self) {
        if std::mem::take(&mut self.all_measured) {
            self.begin(); // the next plan's regions
        }
        self.progress.step();
    }

    fn level_measured(&mut self, level: usize, regions: usize) {
        if self.told.elapsed() >= Watch::QUIET {
            self.told = Instant::now();
            pgrx::notice!("measured level {level} of {}: {regions} regions", self.levels - 1);
        }
        if level + 1 < self.levels {
            self.progress.level(level + 1, self.levels);
        } else {
            self.all_measured = true;
            self.progress.steps(Phase::MakingConsistent, self.parents);
        }
    }

    fn parent_matched(&mut self) {
        self.progress.step();
    }
}
