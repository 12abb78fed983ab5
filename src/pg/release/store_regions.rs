//! Storing what each region of a release has: a row of its own, of which there may be millions.

use super::content::{StoredRegion, StoredRegionSums};
use crate::coco::Coco;
use crate::path::label;
use crate::pg::errors::{Result, internal};
use crate::pg::server::relations::in_schema_dp;
use crate::pg::server::select::extension_type;
use crate::pg::server::table_writer::{TableWriter, WrittenColumn};
use crate::pg::values::path::TextArray;
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::{self, FLOAT8ARRAYOID, FLOAT8OID, INT8OID, Oid, TEXTARRAYOID, TEXTOID};
use pgrx::prelude::*;
use pgrx::spi::{OwnedPreparedStatement, SpiClient};
use std::ffi::CStr;

/// A table with a row for each region.
struct RegionTable<'a> {
    name: &'a CStr,
    /// Behind those that all have.
    given: &'a [(&'a str, Oid)],
    /// Those that PostgreSQL would generate.
    generated: &'a [(&'a str, Oid)],
}

/// What the tables of regions have in common: the release, the region's number, and its path.
const COMMON: [(&str, Oid); 3] = [("release", INT8OID), ("n", INT8OID), ("path", TEXTARRAYOID)];

/// What a region is called.
const REGION: (&str, Oid) = ("region", TEXTOID);

/// A value, or NULL.
type Value = Option<pg_sys::Datum>;

/// How rows are written.
enum Way {
    Together(TableWriter),
    OneByOne(OwnedPreparedStatement),
}

pub(super) fn insert_histograms<'a>(
    release: i64,
    regions: impl Iterator<Item = Result<StoredRegion<'a>>>,
) -> Result<()> {
    let histogram_type = extension_type("dp_coco")?;
    let table = RegionTable {
        name: c"release_region",
        given: &[("histogram", histogram_type)],
        generated: &[
            REGION,
            ("parent", TEXTOID),
            ("groups", INT8OID),
            ("entities", INT8OID),
            ("mean_size", FLOAT8OID),
            ("median", INT8OID),
            ("p90", INT8OID),
            ("gini", FLOAT8OID),
        ],
    };
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
        // SAFETY: this is how it was written for the worker.
        |region| vec![unsafe { stored(&region.histogram, histogram_type) }],
        generated,
    )
}

pub(super) fn insert_ranges<'a>(
    release: i64,
    regions: impl Iterator<Item = Result<StoredRegion<'a>>>,
) -> Result<()> {
    let ranges_type = extension_type("dp_ranges")?;
    let table = RegionTable {
        name: c"release_region_bins",
        given: &[("ranges", ranges_type)],
        generated: &[REGION],
    };
    table.insert(
        release,
        regions,
        |region| &region.path,
        // SAFETY: this is how they were written for the worker.
        |region| vec![unsafe { stored(&region.histogram, ranges_type) }],
        |region| Ok(vec![label(region.path.iter().copied()).into_datum()]),
    )
}

pub(super) fn insert_sums<'a>(
    release: i64,
    regions: impl Iterator<Item = Result<StoredRegionSums<'a>>>,
) -> Result<()> {
    let table = RegionTable {
        name: c"release_region_sums",
        given: &[("sums", FLOAT8ARRAYOID), ("stddevs", FLOAT8ARRAYOID)],
        generated: &[REGION],
    };
    table.insert(
        release,
        regions,
        |region| &region.path,
        |region| vec![region.sums.to_vec().into(), region.deviations.to_vec().into()],
        |region| Ok(vec![label(region.path.iter().copied()).into_datum()]),
    )
}

pub(super) fn insert_found<'a>(
    release: i64,
    paths: impl Iterator<Item = Result<Vec<&'a str>>>,
) -> Result<()> {
    let table = RegionTable { name: c"release_found_region", given: &[], generated: &[REGION] };
    table.insert(
        release,
        paths,
        |path| path,
        |_| vec![],
        |path| Ok(vec![label(path.iter().copied()).into_datum()]),
    )
}

/// A value of that type.
///
/// # Safety
/// On disk it is a varlena of these bytes.
unsafe fn stored(bytes: &[u8], value_type: Oid) -> DatumWithOid<'_> {
    // SAFETY: the caller's promise.
    unsafe { DatumWithOid::new(bytes, value_type) }
}

impl RegionTable<'_> {
    /// Inserts a row for each region. That their release is there is not checked for each, which would
    /// take as long as all else: this transaction has just written it. Only a table to which an
    /// administrator has given columns, triggers or rules, or another place, is written row by row.
    ///
    /// `path`, `given`, `generated`: a region's values.
    fn insert<'a, R>(
        &self,
        release: i64,
        regions: impl Iterator<Item = Result<R>>,
        path: impl Fn(&R) -> &[&'a str],
        given: impl Fn(&R) -> Vec<DatumWithOid<'_>>,
        generated: impl Fn(&R) -> Result<Vec<Value>>,
    ) -> Result<()> {
        let mut way = match self.writer()? {
            Some(writer) => Way::Together(writer),
            None => Way::OneByOne(self.statement()?),
        };
        for (n, region) in (0i64..).zip(regions) {
            let region = region?;
            let inserted = || {
                let mut values = vec![release.into(), n.into(), TextArray(path(&region)).into()];
                values.extend(given(&region));
                values
            };
            match &mut way {
                Way::Together(writer) => {
                    let values = || {
                        let datum = |value: DatumWithOid| Some(value.datum()?.sans_lifetime());
                        let mut values: Vec<Value> = inserted().into_iter().map(datum).collect();
                        values.extend(generated(&region)?);
                        Ok(values)
                    };
                    // SAFETY: they are of the types with which the writer was opened.
                    unsafe { writer.add(values)? };
                }
                Way::OneByOne(statement) => {
                    pgrx::check_for_interrupts!();
                    // a connection for each, which ends with the memory that its arguments take
                    Spi::connect_mut(|client| {
                        client.update(&*statement, None, &inserted()).map(|_| ())
                    })
                    .map_err(internal)?;
                }
            }
        }
        if let Way::Together(writer) = way {
            writer.close();
        }
        Ok(())
    }

    fn writer(&self) -> Result<Option<TableWriter>> {
        let table = in_schema_dp(self.name)
            .ok_or_else(|| internal(format!("there is no table dp.{:?}", self.name)))?;
        let column = |generated| {
            move |&(name, type_oid): &(_, Oid)| WrittenColumn { name, type_oid, generated }
        };
        let inserted = COMMON.iter().chain(self.given).map(column(false));
        let columns: Vec<_> = inserted.chain(self.generated.iter().map(column(true))).collect();
        // SAFETY: it was found, and the transaction has locked it.
        Ok(unsafe { TableWriter::open(table, &columns) })
    }

    fn statement(&self) -> Result<OwnedPreparedStatement> {
        let columns = || COMMON.iter().chain(self.given);
        let names: Vec<&str> = columns().map(|(name, _)| *name).collect();
        let places: Vec<String> = (1..=names.len()).map(|place| format!("${place}")).collect();
        let types: Vec<PgOid> = columns().map(|(_, type_oid)| PgOid::from(*type_oid)).collect();
        let (table, names, places) =
            (self.name.to_string_lossy(), names.join(", "), places.join(", "));
        let sql = format!("INSERT INTO dp.{table} ({names}) VALUES ({places})");
        let prepare = |client: &mut SpiClient| {
            client.prepare_mut(&*sql, &types).map(|statement| statement.keep())
        };
        Spi::connect_mut(prepare).map_err(internal)
    }
}
