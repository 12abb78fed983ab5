//! The tables of a dataset, and how those columns are held that rows are counted by.

use super::layout::Layout;
use super::query::Query;
use super::relation::{Relation, UsedColumn};
use super::source::Source;
use crate::pg::errors::Result;
use crate::pg::ledger::account::SealedRows;

/// The tables of a dataset.
pub(super) struct DatasetTables {
    pub(super) entities: Relation,
    pub(super) groups: Option<Relation>,
}

impl DatasetTables {
    /// Errors: one is not fit any more.
    pub(super) fn open(source: &Source) -> Result<DatasetTables> {
        Ok(DatasetTables { entities: source.open_entities()?, groups: source.open_groups()? })
    }

    pub(super) fn plan(&self, sql: &str, workers: i32) -> Result<Query> {
        let tables: Vec<&Relation> = [&self.entities].into_iter().chain(&self.groups).collect();
        Query::plan(sql, &tables, workers)
    }

    /// Of a query that reads private rows.
    pub(super) fn seal(&self, sql: &str, workers: i32) -> Result<SealedRows<Query>> {
        self.plan(sql, workers).map(SealedRows::new)
    }
}

impl Source {
    /// How the columns of the key are held, if keys are equal just if their bytes are, or none is
    /// used.
    pub(super) fn key_layout(&self, tables: &DatasetTables) -> Result<Option<Vec<Layout>>> {
        if self.rows_are_groups() {
            return Ok(Some(vec![]));
        }
        let columns = self.group_key.iter().map(|c| tables.entities.column("group_key", c));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let by_bytes = columns.iter().all(UsedColumn::equality_is_of_bytes);
        Ok(by_bytes.then(|| columns.iter().map(UsedColumn::layout).collect()))
    }

    /// How the columns of the hierarchy are held.
    pub(super) fn hierarchy_layout(&self, tables: &DatasetTables) -> Result<Vec<Layout>> {
        let regions = tables.groups.as_ref().unwrap_or(&tables.entities);
        let columns = self.hierarchy.iter().map(|column| regions.column("hierarchy", column));
        columns.map(|column| Ok(column?.layout())).collect()
    }
}
