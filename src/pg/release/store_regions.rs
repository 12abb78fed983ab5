//! Storing what each region of a release has: a row of its own, of which there may be millions.

use super::content::{StoredRegion, StoredRegionSums};
use crate::coco::Coco;
use crate::path::label;
use crate::pg::errors::{Result, internal};
use crate::pg::server::relations::in_schema_dp;
use crate::pg::server::select::extension_type;
use crate::pg::server::table_writer::TableWriter;
use crate::pg::values::path::TextArray;
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::CStr;

/// A table with a row for each region.
struct RegionTable<'a> {
    name: &'a CStr,
    /// Behind `release`, `n` and `path`; and, in all, those that PostgreSQL would generate.
    given: &'a [&'a str],
    generated: &'a [&'a str],
}

/// A value, or NULL.
type Value = Option<pg_sys::Datum>;

pub(super) fn insert_histograms(release: i64, regions: &[StoredRegion]) -> Result<()> {
    let table = RegionTable {
        name: c"release_region",
        given: &["histogram"],
        generated: &[
            "region",
            "parent",
            "groups",
            "entities",
            "mean_size",
            "median",
            "p90",
            "gini",
        ],
    };
    let histogram_type = extension_type("dp_coco")?;
    // as the table says, from the histogram taken apart once
    let generated = |region: &StoredRegion| {
        let histogram = Coco::from_bytes(&region.histogram).map_err(internal)?;
        let quantile = |q| -> Result<Value> {
            let size = histogram.quantile(q).map_err(internal)?;
            Ok(size.and_then(|size| (size as i64).into_datum()))
        };
        let parent = region.path.split_last().map(|(_, above)| label(above.iter().copied()));
        Ok(vec![
            label(region.path.iter().copied()).into_datum(),
            parent.into_datum(),
            (histogram.groups() as i64).into_datum(),
            (histogram.entities() as i64).into_datum(),
            histogram.mean_size().into_datum(),
            quantile(0.5)?,
            quantile(0.9)?,
            histogram.gini().into_datum(),
        ])
    };
    table.insert(
        release,
        regions,
        |region| &region.path,
        |region| vec![stored(&region.histogram, histogram_type)],
        generated,
    )
}

pub(super) fn insert_ranges(release: i64, regions: &[StoredRegion]) -> Result<()> {
    let table =
        RegionTable { name: c"release_region_bins", given: &["ranges"], generated: &["region"] };
    let ranges_type = extension_type("dp_ranges")?;
    table.insert(
        release,
        regions,
        |region| &region.path,
        |region| vec![stored(&region.histogram, ranges_type)],
        |region| Ok(vec![label(region.path.iter().copied()).into_datum()]),
    )
}

pub(super) fn insert_sums(release: i64, regions: &[StoredRegionSums]) -> Result<()> {
    let table = RegionTable {
        name: c"release_region_sums",
        given: &["sums", "stddevs"],
        generated: &["region"],
    };
    table.insert(
        release,
        regions,
        |region| &region.path,
        |region| vec![region.sums.to_vec().into(), region.deviations.to_vec().into()],
        |region| Ok(vec![label(region.path.iter().copied()).into_datum()]),
    )
}

pub(super) fn insert_found(release: i64, paths: &[Vec<&str>]) -> Result<()> {
    let table = RegionTable { name: c"release_found_region", given: &[], generated: &["region"] };
    table.insert(
        release,
        paths,
        |path| path,
        |_| vec![],
        |path| Ok(vec![label(path.iter().copied()).into_datum()]),
    )
}

/// The bytes of a value of that type, which on disk has these bytes.
fn stored(bytes: &[u8], value_type: pg_sys::Oid) -> DatumWithOid<'_> {
    // SAFETY: the caller's promise: a varlena of these bytes is such a value.
    unsafe { DatumWithOid::new(bytes, value_type) }
}

impl RegionTable<'_> {
    /// Inserts a row for each region. That their release is there is not checked for each, which would
    /// take as long as all else: this transaction has just written it. Only a table for which the
    /// administrator has triggers or rules, or more columns, is written as any other.
    fn insert<'a, R>(
        &self,
        release: i64,
        regions: &'a [R],
        path: impl Fn(&'a R) -> &'a [&'a str],
        given: impl Fn(&'a R) -> Vec<DatumWithOid<'a>>,
        generated: impl Fn(&'a R) -> Result<Vec<Value>>,
    ) -> Result<()> {
        let all = |n: i64, region| {
            let mut values = vec![release.into(), n.into(), TextArray(path(region)).into()];
            values.extend(given(region));
            values
        };
        let mut columns = vec!["release", "n", "path"];
        columns.extend(self.given);
        let table = in_schema_dp(self.name)
            .ok_or_else(|| internal(format!("there is no table dp.{:?}", self.name)))?;
        // SAFETY: the table was found, and is locked.
        let writer = unsafe { TableWriter::open(table, &[&columns[..], self.generated].concat()) };
        let Some(mut writer) = writer else {
            return self.insert_one_by_one(&columns, regions, all);
        };
        for (n, region) in (0..).zip(regions) {
            let values = || {
                let given = all(n, region).into_iter();
                let mut values: Vec<Value> =
                    given.map(|value| value.datum().map(|datum| datum.sans_lifetime())).collect();
                values.extend(generated(region)?);
                Ok(values)
            };
            // SAFETY: the values are of the types with which the table was made.
            unsafe { writer.add(values)? };
        }
        writer.close();
        Ok(())
    }

    fn insert_one_by_one<'a, R>(
        &self,
        columns: &[&str],
        regions: &'a [R],
        values: impl Fn(i64, &'a R) -> Vec<DatumWithOid<'a>>,
    ) -> Result<()> {
        let places: Vec<String> = (1..=columns.len()).map(|place| format!("${place}")).collect();
        let (table, columns) = (self.name.to_string_lossy(), columns.join(", "));
        let sql = format!("INSERT INTO dp.{table} ({columns}) VALUES ({})", places.join(", "));
        let mut statement = None;
        for (n, region) in (0..).zip(regions) {
            pgrx::check_for_interrupts!();
            // a connection for each, which ends with the memory that its arguments take
            Spi::connect_mut(|client| {
                let values = values(n, region);
                let statement = match &statement {
                    Some(statement) => statement,
                    None => {
                        let types: Vec<PgOid> =
                            values.iter().map(|value| PgOid::from(value.oid())).collect();
                        statement.insert(client.prepare_mut(&*sql, &types)?.keep())
                    }
                };
                client.update(statement, None, &values).map(|_| ())
            })
            .map_err(internal)?;
        }
        Ok(())
    }
}
