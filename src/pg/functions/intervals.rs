//! Error bars of what was released: `dp_hierarchy_intervals`, `dp_histogram_intervals`,
//! `dp_keep_intervals`.

use super::histogram::HistogramRequest;
use super::releases::open_as_owner;
use super::watch::SimulationWatch;
use crate::coco::DpCoco;
use crate::hierarchy::{
    Confidence, Interval, Mechanism, RegionIntervals, Replicated, Statistic, Tree, replicates,
};
use crate::path::Path;
use crate::pg::errors::{Result, internal, invalid, not_carried_out, required};
use crate::pg::release::published::Published;
use crate::pg::server::catalog::execute;
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::pg::server::settings::threads;
use crate::pg::values::path::PathArray;
use pgrx::prelude::*;

/// Post-processing: nothing private is read, nothing spent. Whoever may read what was released may
/// ask.
#[pg_extern(stable, parallel_unsafe)]
fn dp_hierarchy_intervals(
    dataset: Option<&str>,
    release: Option<&str>,
    confidence: Option<f64>,
    simultaneous: Option<bool>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(level, i32),
            name!(path, PathArray),
            name!(statistic, &'static str),
            name!(size, Option<i64>),
            name!(value, f64),
            name!(lower, f64),
            name!(upper, f64),
        ),
    >,
> {
    let dataset = required(dataset, "dataset")?;
    let release = required(release, "release")?;
    let confidence = checked(confidence, simultaneous)?;
    let progress = Progress::start(Function::HierarchyIntervals, Phase::Checking);
    let (tree, bars) = bars_of_stored(&progress, &Published::find(dataset, release)?, confidence)?;
    let paths: Vec<Path> = tree.regions().iter().map(|region| region.path.clone()).collect();
    Ok(TableIterator::new(paths.into_iter().zip(bars).flat_map(|(path, bars)| {
        let (level, path) = (path.depth() as i32, PathArray::new(&path));
        rows(&bars).into_iter().map(move |(statistic, size, interval)| {
            let Interval { value, lower, upper } = interval;
            (level, path.clone(), statistic, size, value, lower, upper)
        })
    })))
}

/// The same of one histogram, by how it was released.
#[pg_extern(stable, parallel_restricted)]
fn dp_histogram_intervals(
    h: Option<DpCoco>,
    epsilon: Option<f64>,
    max_size: Option<i64>,
    method: Option<&str>,
    confidence: Option<f64>,
    simultaneous: Option<bool>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(statistic, &'static str),
            name!(size, Option<i64>),
            name!(value, f64),
            name!(lower, f64),
            name!(upper, f64),
        ),
    >,
> {
    let released = required(h, "h")?;
    let request = HistogramRequest::new(epsilon, max_size, method)?;
    let confidence = checked(confidence, simultaneous)?;
    let mechanism = request.mechanism().as_hierarchy();
    let largest = released.histogram().runs().last().map_or(0, |run| run.size);
    if largest > mechanism.max_size() {
        return Err(invalid(
            format!(
                "h has groups of size {largest}, which are more than max_size, {}",
                mechanism.max_size()
            ),
            "Give the arguments that h was released with.",
        ));
    }
    let progress = Progress::start(Function::HistogramIntervals, Phase::Checking);
    let (tree, _) = Tree::from_leaves(0, vec![(vec![], ())]).map_err(internal)?;
    let bars = bars(&progress, &mechanism, &tree, &[released], confidence)?;
    let rows: Vec<_> = bars.iter().flat_map(rows).collect();
    Ok(TableIterator::new(rows.into_iter().map(|(statistic, size, interval)| {
        let Interval { value, lower, upper } = interval;
        (statistic, size, value, lower, upper)
    })))
}

/// Keeps the bars of regions' statistics, but of p99, that [`dp_hierarchy_intervals`] gives by default,
/// in place of those that were kept before, perhaps by another version. No more is told than that
/// tells.
#[pg_extern(volatile, parallel_unsafe)]
fn dp_keep_intervals(dataset: Option<&str>, release: Option<&str>) -> Result<()> {
    let dataset = required(dataset, "dataset")?;
    let release = required(release, "release")?;
    let confidence = checked(Some(0.9), Some(false))?;
    let progress = Progress::start(Function::KeepIntervals, Phase::Checking);
    let own = open_as_owner(dataset, release)?;
    let published = Published::find(dataset, release)?;
    if published.id != own.id {
        return Err(internal("a release was replaced while its error bars were asked for"));
    }
    let (_, bars) = bars_of_stored(&progress, &published, confidence)?;
    progress.phase(Phase::Storing);
    let [entities, mean_size, median, p90, gini] = [
        Statistic::Entities,
        Statistic::MeanSize,
        Statistic::Median,
        Statistic::P90,
        Statistic::Gini,
    ]
    .map(|wanted| {
        let of_region = |bars: &RegionIntervals| {
            bars.statistics().find_map(|(statistic, bar)| (statistic == wanted).then_some(bar))
        };
        let bars: Vec<Option<Interval>> = bars.iter().map(of_region).collect();
        [|bar: Interval| bar.lower, |bar: Interval| bar.upper]
            .map(|end| bars.iter().map(|bar| bar.map(end)).collect::<Vec<Option<f64>>>())
    });
    execute("DELETE FROM dp.release_interval WHERE release = $1", &[own.id.into()], |_| Ok(()))?;
    let ends = [entities, mean_size, median, p90, gini].into_iter().flatten();
    let arguments: Vec<_> = std::iter::once(own.id.into()).chain(ends.map(Into::into)).collect();
    execute(
        "INSERT INTO dp.release_interval \
         SELECT $1, b.n - 1, b.entities_lower, b.entities_upper, b.mean_size_lower, \
                b.mean_size_upper, b.median_lower, b.median_upper, b.p90_lower, b.p90_upper, \
                b.gini_lower, b.gini_upper \
           FROM ROWS FROM (unnest($2::float8[]), unnest($3::float8[]), unnest($4::float8[]), \
                           unnest($5::float8[]), unnest($6::float8[]), unnest($7::float8[]), \
                           unnest($8::float8[]), unnest($9::float8[]), unnest($10::float8[]), \
                           unnest($11::float8[])) \
                WITH ORDINALITY AS b (entities_lower, entities_upper, mean_size_lower, \
                                      mean_size_upper, median_lower, median_upper, p90_lower, \
                                      p90_upper, gini_lower, gini_upper, n) \
         ON CONFLICT DO NOTHING",
        &arguments,
        |_| Ok(()),
    )?;
    Ok(())
}

fn checked(confidence: Option<f64>, simultaneous: Option<bool>) -> Result<Confidence> {
    let level = required(confidence, "confidence")?;
    Confidence::new(level, required(simultaneous, "simultaneous")?).ok_or_else(|| {
        let [least, most] = Confidence::LEVELS;
        invalid(
            format!("confidence must be from {least} to {most}, got {level}"),
            "0.9 gives bars that hold the true number nine times in ten.",
        )
    })
}

fn bars_of_stored(
    progress: &Progress,
    published: &Published,
    confidence: Confidence,
) -> Result<(Tree, Vec<RegionIntervals>)> {
    let (tree, released) = published.regions()?;
    let bars = bars(progress, &published.mechanism()?, &tree, &released, confidence)?;
    Ok((tree, bars))
}

fn bars(
    progress: &Progress,
    mechanism: &Mechanism,
    tree: &Tree,
    released: &[DpCoco],
    confidence: Confidence,
) -> Result<Vec<RegionIntervals>> {
    let mut watch =
        SimulationWatch::new(progress, replicates(released) as u32, "of what was released".into());
    let again = Replicated::new(mechanism, tree, released, threads(), &mut watch);
    Ok(again.map_err(not_carried_out)?.bars(confidence))
}

/// What the columns `statistic`, `size` and the numbers say.
fn rows(bars: &RegionIntervals) -> Vec<(&'static str, Option<i64>, Interval)> {
    let sizes = bars.sizes().flat_map(|bars| {
        let size = Some(bars.size as i64);
        [("groups_of_size", size, bars.of_size), ("groups_up_to_size", size, bars.up_to_size)]
    });
    let statistics =
        bars.statistics().map(|(statistic, interval)| (statistic.name(), None, interval));
    sizes.chain(statistics).collect()
}
