//! Releases that are stored under a name, and served again without a charge.

use crate::coco::DpCoco;
use crate::path::Path;
use crate::pg::dataset::catalog::Dataset;
use crate::pg::dataset::part::part_text;
use crate::pg::errors::{Result, error, internal};
use crate::pg::ledger::account::Promise;
use crate::pg::server::catalog::{in_catalog, read_catalog};
use crate::pg::server::locks::{PrivateLock, Turn};
use crate::pg::server::roles::{acts_for, has_rights_of};
use crate::ranges::{DpGrid, DpRanges};
use pgrx::AnyNumeric;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::quote_literal;

/// The regions of a release, level by level: their paths and histograms.
pub(crate) type ReleasedRegions = Vec<(Path, DpCoco)>;

/// A region's path, and the sums of ranges with their standard deviations.
pub(super) type StoredAnswers = (Vec<String>, Vec<f64>, Vec<f64>);

/// A candidate for a bound, in the terms of its argument.
pub(crate) struct FoundBound {
    pub(crate) candidate: AnyNumeric,
    pub(crate) above: i64,
    pub(crate) clipping: f64,
    pub(crate) noise: f64,
    pub(crate) chosen: bool,
}

/// What there is under a name.
pub(super) enum Found {
    /// The number of a stored release.
    Stored(i64),
    /// Nothing that could be served: whoever has the turn may make it, others wait meanwhile.
    Unstored(Turn),
}

/// Finds the release that was promised by that name, whatever the transaction's snapshot.
///
/// Who asks for what is stored locks nothing: it is free, and could stand in the way of others for
/// ever.
///
/// Error: something else was asked for by that name.
pub(super) fn find_release(dataset: &Dataset, promise: &Promise) -> Result<Found> {
    if let Some(id) = stored_release(dataset, promise)? {
        return Ok(Found::Stored(id));
    }
    let turn = turn_of(dataset, promise);
    let since = stored_release(dataset, promise)?;
    Ok(since.map_or(Found::Unstored(turn), Found::Stored))
}

/// Whether a release by that name was charged, stored or not, whatever was asked for.
pub(super) fn is_charged(dataset: &Dataset, promise: &Promise) -> Result<bool> {
    let sql = format!(
        "SELECT FROM dp.release WHERE (dataset, name) = ({}, {})",
        dataset.id,
        quote_literal(&promise.name)
    );
    in_catalog(&sql)
}

/// The right to make what is stored under the name, when whoever has it is done.
pub(super) fn turn_of(dataset: &Dataset, promise: &Promise) -> Turn {
    Turn::take_name(PrivateLock::ReleaseName, (dataset.id, &promise.name))
}

/// Errors: something else was asked for by that name; it was retracted, or is of an earlier dataset
/// of that name.
pub(super) fn stored_release(dataset: &Dataset, promise: &Promise) -> Result<Option<i64>> {
    let sql = format!(
        "SELECT r.id, r.parameters = {}::jsonb, r.released_at IS NOT NULL, \
                r.status = 'retracted', r.dataset = {id}, \
                r.parameters - 'time_zone' = {}::jsonb - 'time_zone', \
                c.parameters -> 'kept' = 'false', c.charged_by \
           FROM dp.release AS r JOIN dp.charge AS c ON c.id = r.charge \
          WHERE r.name = {} \
            AND (r.dataset = {id} OR r.dataset_name = {} AND r.released_at IS NOT NULL \
                                     AND r.status <> 'retracted')",
        quote_literal(promise.parameters.to_string()),
        quote_literal(promise.parameters.to_string()),
        quote_literal(&promise.name),
        quote_literal(&dataset.name),
        id = dataset.id,
    );
    let mut found = Ok(None);
    read_catalog(&sql, |row| {
        let [same, is_stored, retracted, own, same_but_zone, is_others_search] =
            [2, 3, 4, 5, 6, 7].map(|n| row.get(n).unwrap_or(false));
        let taken = |why: Taken| Err(taken(dataset, &promise.name, why));
        found = match (own, retracted, same) {
            (false, ..) => taken(Taken::EarlierDataset),
            (_, true, _) => taken(Taken::Retracted),
            (.., false) if same_but_zone && is_stored => taken(Taken::OtherTimeZone),
            (.., false) => taken(Taken::OtherParameters { is_stored }),
            // 'auto' is to mean what is asked for here, and never what others have paid for
            (.., true) if is_others_search && dataset.is_own() => {
                let role = row.get(8).unwrap_or_default();
                taken(Taken::OthersSearch { role, is_stored })
            }
            (.., true) => Ok(row.get(1).filter(|_: &i64| is_stored)),
        };
        Ok(())
    })?;
    found
}

/// Why a name cannot be had.
enum Taken {
    OtherParameters {
        is_stored: bool,
    },
    /// Of the session, which is a parameter of a stream.
    OtherTimeZone,
    Retracted,
    EarlierDataset,
    /// Which the owner asks for.
    OthersSearch {
        role: String,
        is_stored: bool,
    },
}

fn taken(dataset: &Dataset, name: &str, why: Taken) -> ErrorReport {
    let release = format!("release \"{name}\" of dataset \"{}\"", dataset.name);
    let by_role;
    let (what, hint) = match why {
        Taken::OtherParameters { is_stored: true } => (
            "exists already with other parameters",
            "dp.releases shows its parameters, and whose it is. Nothing was spent. Choose another name.",
        ),
        Taken::OtherParameters { is_stored: false } => (
            "exists already with other parameters",
            "It is charged, and not stored yet: dp.unstored_charges shows its parameters to the \
             dataset's owner. Nothing was spent. Choose another name.",
        ),
        Taken::OtherTimeZone => (
            "exists already with other parameters",
            "It goes by the time zone of the session that began it, which is another: dp.releases \
             shows it. Nothing was spent. SET TimeZone, or choose another name.",
        ),
        Taken::Retracted => (
            "was retracted",
            "Nothing was spent. Choose another name; its owner can publish it again with \
             dp_set_status.",
        ),
        Taken::EarlierDataset => (
            "is of an earlier dataset of that name, and still published",
            "Nothing was spent. Choose another name; its owner can retract it with dp_set_status.",
        ),
        Taken::OthersSearch { role, is_stored } => {
            by_role = format!("is a search of role {role}, which 'auto' never means");
            (
                by_role.as_str(),
                if is_stored {
                    "Nothing was spent. Choose another name. dp.found_bounds shows what it chose, \
                     which as max_amount or max_size can be given as a number."
                } else {
                    "Nothing was spent. Choose another name. It is charged, and not stored yet."
                },
            )
        }
    };
    error(PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT, format!("{release} {what}")).set_hint(hint)
}

/// Who was charged for the release of that name, and when, if that role has not the rights of the
/// dataset's owner.
pub(super) fn others_release(dataset: &Dataset, name: &str) -> Result<Option<(String, String)>> {
    let sql = format!(
        "SELECT c.charged_by, pg_catalog.date_trunc('second', c.charged_at)::text, \
                pg_catalog.to_regrole(pg_catalog.quote_ident(c.charged_by))::oid \
           FROM dp.release AS r JOIN dp.charge AS c ON c.id = r.charge \
          WHERE r.dataset = {} AND r.name = {}",
        dataset.id,
        quote_literal(name),
    );
    let mut others = None;
    read_catalog(&sql, |row| {
        let is_owners = row.get(3).is_some_and(|role| has_rights_of(role, dataset.owner));
        others = row.get(1).zip(row.get(2)).filter(|_| !is_owners);
        Ok(())
    })?;
    Ok(others)
}

/// Finds a stored release of a hierarchy that the current role sees, whatever its parameters.
pub(crate) fn find_release_by_name(dataset: &Dataset, name: &str) -> Result<Option<i64>> {
    let sql = format!(
        "SELECT r.id FROM dp.release AS r JOIN dp.charge AS c ON c.id = r.charge \
          WHERE r.dataset = {} AND r.name = {} AND r.released_at IS NOT NULL \
            AND (r.status = 'published' OR r.status = 'draft' AND {}) \
            AND c.function = 'dp_hierarchy_release'",
        dataset.id,
        quote_literal(name),
        acts_for(dataset.owner),
    );
    let mut id = None;
    read_catalog(&sql, |row| {
        id = row.get(1);
        Ok(())
    })?;
    Ok(id)
}

/// The part of the data that a release is of, as messages call it.
pub(crate) fn part_of_release(dataset: &Dataset, name: &str) -> Result<String> {
    let sql = format!(
        "SELECT ARRAY(SELECT jsonb_array_elements_text(parameters -> 'within')), \
                parameters ->> 'period' \
           FROM dp.release WHERE dataset = {} AND name = {}",
        dataset.id,
        quote_literal(name),
    );
    let mut part = String::new();
    read_catalog(&sql, |row| {
        let within: Vec<String> = row.get(1).unwrap_or_default();
        part = part_text(&within, row.get::<String>(2).as_deref());
        Ok(())
    })?;
    Ok(part)
}

/// Whether a dropped dataset of the same name has such a release of a hierarchy, for all to see.
pub(crate) fn is_of_earlier_dataset(dataset: &Dataset, name: &str) -> Result<bool> {
    let sql = format!(
        "SELECT FROM dp.release AS r JOIN dp.charge AS c ON c.id = r.charge \
          WHERE r.dataset <> {} AND (r.dataset_name, r.name) = ({}, {}) \
            AND r.released_at IS NOT NULL AND r.status = 'published' \
            AND c.function = 'dp_hierarchy_release'",
        dataset.id,
        quote_literal(&dataset.name),
        quote_literal(name),
    );
    in_catalog(&sql)
}

/// The regions of a stored release and their histograms, level by level.
pub(crate) fn read_regions(id: i64) -> Result<ReleasedRegions> {
    let sql =
        format!("SELECT path, histogram FROM dp.release_region WHERE release = {id} ORDER BY n");
    let mut regions = Vec::new();
    read_catalog(&sql, |row| {
        let path: Vec<String> = row.get(1).unwrap_or_default();
        regions.push((path.into(), row.get(2).unwrap_or_default()));
        Ok(())
    })?;
    Ok(regions)
}

/// The answers of stored sums over ranges or rectangles, which are in that table.
pub(super) fn read_answers(table: &str, id: i64) -> Result<Vec<(f64, f64)>> {
    let sql = format!("SELECT sum, stddev FROM {table} WHERE release = {id} ORDER BY n");
    let mut answers = Vec::new();
    read_catalog(&sql, |row| {
        answers.push((row.get(1).unwrap_or_default(), row.get(2).unwrap_or_default()));
        Ok(())
    })?;
    Ok(answers)
}

/// The answers of stored range sums by region.
pub(super) fn read_region_sums(id: i64) -> Result<Vec<StoredAnswers>> {
    let sql = format!(
        "SELECT path, sums, stddevs FROM dp.release_region_sums WHERE release = {id} ORDER BY n"
    );
    let mut regions = Vec::new();
    read_catalog(&sql, |row| {
        regions.push((
            row.get(1).unwrap_or_default(),
            row.get(2).unwrap_or_default(),
            row.get(3).unwrap_or_default(),
        ));
        Ok(())
    })?;
    Ok(regions)
}

/// The releases of bins of all regions, with their paths.
pub(super) fn read_region_ranges(id: i64) -> Result<Vec<(Vec<String>, DpRanges)>> {
    let sql =
        format!("SELECT path, ranges FROM dp.release_region_bins WHERE release = {id} ORDER BY n");
    let mut regions = Vec::new();
    read_catalog(&sql, |row| {
        let ranges =
            row.get(2).ok_or_else(|| internal("the bins of a stored region are missing"))?;
        regions.push((row.get(1).unwrap_or_default(), ranges));
        Ok(())
    })?;
    Ok(regions)
}

/// The paths of regions that were found.
pub(super) fn read_found_regions(id: i64) -> Result<Vec<Vec<String>>> {
    let sql = format!("SELECT path FROM dp.release_found_region WHERE release = {id} ORDER BY n");
    let mut paths = Vec::new();
    read_catalog(&sql, |row| {
        paths.push(row.get(1).unwrap_or_default());
        Ok(())
    })?;
    Ok(paths)
}

/// The candidates of a bound.
pub(super) fn read_bounds(id: i64) -> Result<(Vec<FoundBound>, bool)> {
    let sql = format!(
        "SELECT b.candidate, b.above, b.clipping, b.noise, b.chosen, r.seen \
           FROM dp.release_bound AS b JOIN dp.release AS r ON r.id = b.release \
          WHERE r.id = {id} ORDER BY b.n"
    );
    let (mut bounds, mut is_seen) = (Vec::new(), true);
    read_catalog(&sql, |row| {
        is_seen = row.get(6).unwrap_or(true);
        bounds.push(FoundBound {
            candidate: row.get(1).ok_or_else(|| internal("a stored bound is missing"))?,
            above: row.get(2).unwrap_or_default(),
            clipping: row.get(3).unwrap_or_default(),
            noise: row.get(4).unwrap_or_default(),
            chosen: row.get(5).unwrap_or_default(),
        });
        Ok(())
    })?;
    Ok((bounds, is_seen))
}

/// A stored release of bins.
pub(super) fn read_ranges(id: i64) -> Result<DpRanges> {
    let mut ranges = None;
    read_catalog(&format!("SELECT ranges FROM dp.release_bins WHERE release = {id}"), |row| {
        ranges = row.get(1);
        Ok(())
    })?;
    ranges.ok_or_else(|| internal("the bins of a stored release are missing"))
}

/// A stored release of a grid.
pub(super) fn read_grid(id: i64) -> Result<DpGrid> {
    let mut grid = None;
    read_catalog(&format!("SELECT grid FROM dp.release_grid WHERE release = {id}"), |row| {
        grid = row.get(1);
        Ok(())
    })?;
    grid.ok_or_else(|| internal("the cells of a stored release are missing"))
}
