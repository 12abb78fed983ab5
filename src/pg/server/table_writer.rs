//! Rows that are written into a table a batch at a time, as COPY does, with the values of all columns: also of
//! those that PostgreSQL would generate. It would call a function for each of them in each row, which for
//! regions of releases took as long as all else.

use super::locality::is_of_citus;
use crate::pg::errors::Result;
use pgrx::PgTupleDesc;
use pgrx::memcxt::PgMemoryContexts;
use pgrx::pg_sys::{self, Datum, Oid};
use std::slice;

/// So many rows are written together, or so many bytes.
const MOST_ROWS: usize = 512;
const MOST_BYTES: usize = 1 << 20;

const WRITE: pg_sys::LOCKMODE = pg_sys::RowExclusiveLock as pg_sys::LOCKMODE;
const KEEP_LOCK: pg_sys::LOCKMODE = pg_sys::NoLock as pg_sys::LOCKMODE;

/// A column for which values are given.
pub(crate) struct WrittenColumn<'a> {
    pub(crate) name: &'a str,
    pub(crate) type_oid: Oid,
    /// Whether PostgreSQL would make the values itself.
    pub(crate) generated: bool,
}

/// An error leaves what is open to the end of the transaction.
pub(crate) struct TableWriter {
    table: pg_sys::Relation,
    /// The places of the values among the table's columns.
    places: Vec<usize>,
    executor: *mut pg_sys::EState,
    /// With the table's indexes.
    target: Box<pg_sys::ResultRelInfo>,
    bulk: pg_sys::BulkInsertState,
    /// As many as there were rows at a time; the first of them hold rows that are not written yet.
    slots: Vec<*mut pg_sys::TupleTableSlot>,
    filled: usize,
    /// What these rows hold.
    values: PgMemoryContexts,
}

impl TableWriter {
    /// For rows with these columns. None where the table has others, or of other types or making; where it is no
    /// table of PostgreSQL's own by itself; or where it is not all that becomes of a row that it is written:
    /// where there are triggers, but for those that check references, or rules.
    ///
    /// # Safety
    /// There is such a relation.
    pub(crate) unsafe fn open(table: Oid, columns: &[WrittenColumn]) -> Option<TableWriter> {
        // SAFETY: the table is opened; what is made lives as long as the executor's state.
        unsafe {
            let table = pg_sys::table_open(table, WRITE);
            let places = places(table, columns);
            let Some(places) = places.filter(|_| is_plain(table) && is_only_written(table)) else {
                pg_sys::table_close(table, KEEP_LOCK);
                return None;
            };
            let executor = pg_sys::CreateExecutorState();
            let mut target = Box::<pg_sys::ResultRelInfo>::default();
            let bulk = PgMemoryContexts::For((*executor).es_query_cxt).switch_to(|_| {
                // as rows are written in no query, the target is in no list of its tables
                pg_sys::InitResultRelInfo(&mut *target, table, 0, std::ptr::null_mut(), 0);
                pg_sys::ExecOpenIndices(&mut *target, false);
                pg_sys::GetBulkInsertState()
            });
            let (slots, values) = (Vec::new(), PgMemoryContexts::new("pg_dp: rows to be written"));
            Some(TableWriter { table, places, executor, target, bulk, slots, filled: 0, values })
        }
    }

    /// A row, with the values of the columns in their order.
    ///
    /// # Safety
    /// The values are of the columns' types.
    pub(crate) unsafe fn add(
        &mut self,
        values: impl FnOnce() -> Result<Vec<Option<Datum>>>,
    ) -> Result<()> {
        // SAFETY: a slot has room for a value of each column, and is empty until it is said to hold a row.
        unsafe {
            let slot = self.next_slot();
            let values = self.values.switch_to(|_| values())?;
            let columns = (*(*self.table).rd_att).natts as usize;
            let into = slice::from_raw_parts_mut((*slot).tts_values, columns);
            let nulls = slice::from_raw_parts_mut((*slot).tts_isnull, columns);
            nulls.fill(true);
            debug_assert_eq!(values.len(), self.places.len());
            for (&place, value) in self.places.iter().zip(values) {
                nulls[place] = value.is_none();
                into[place] = value.unwrap_or(Datum::null());
            }
            (*slot).tts_tableOid = (*self.table).rd_id;
            pg_sys::ExecStoreVirtualTuple(slot);
            pg_sys::ExecConstraints(&mut *self.target, slot, self.executor);
            self.filled += 1;
            if self.filled == MOST_ROWS || self.bytes() >= MOST_BYTES {
                self.write();
            }
        }
        Ok(())
    }

    /// # Safety
    /// The table is open.
    unsafe fn next_slot(&mut self) -> *mut pg_sys::TupleTableSlot {
        if self.filled == self.slots.len() {
            // SAFETY: the caller's promise; it is dropped when the table is closed.
            let slot = unsafe {
                PgMemoryContexts::For((*self.executor).es_query_cxt)
                    .switch_to(|_| pg_sys::table_slot_create(self.table, std::ptr::null_mut()))
            };
            self.slots.push(slot);
        }
        self.slots[self.filled]
    }

    fn bytes(&self) -> usize {
        // SAFETY: the context is there as long as its owner.
        unsafe { pg_sys::MemoryContextMemAllocated(self.values.value(), false) }
    }

    /// # Safety
    /// The table is open.
    unsafe fn write(&mut self) {
        pgrx::check_for_interrupts!();
        let rows = &mut self.slots[..self.filled];
        // SAFETY: so many slots hold rows of the table. What is computed of a row is kept no longer than
        // its values.
        unsafe {
            self.values.switch_to(|_| {
                let command = pg_sys::GetCurrentCommandId(true);
                let (first, count) = (rows.as_mut_ptr(), rows.len() as i32);
                pg_sys::table_multi_insert(self.table, first, count, command, 0, self.bulk);
                for &mut row in rows {
                    if self.target.ri_NumIndices > 0 {
                        insert_into_indexes(&mut *self.target, row, self.executor);
                    }
                    pg_sys::ExecClearTuple(row);
                }
            });
            self.values.reset();
            let of_constraints = (*self.executor).es_per_tuple_exprcontext;
            if !of_constraints.is_null() {
                pg_sys::ReScanExprContext(of_constraints);
            }
        }
        self.filled = 0;
    }

    /// Writes what is left. What follows in the transaction sees all rows.
    pub(crate) fn close(mut self) {
        // SAFETY: all of it was opened or made with the writer, and is used by nobody else.
        unsafe {
            self.write();
            for &slot in &self.slots {
                pg_sys::ExecDropSingleTupleTableSlot(slot);
            }
            pg_sys::ExecCloseIndices(&mut *self.target);
            pg_sys::FreeBulkInsertState(self.bulk);
            pg_sys::FreeExecutorState(self.executor);
            pg_sys::table_close(self.table, KEEP_LOCK);
            pg_sys::CommandCounterIncrement();
        }
    }
}

/// The places of these columns, if a table has no others.
///
/// # Safety
/// The table is open.
unsafe fn places(table: pg_sys::Relation, columns: &[WrittenColumn]) -> Option<Vec<usize>> {
    // SAFETY: the caller's promise.
    let of_table = unsafe { PgTupleDesc::from_pg_unchecked((*table).rd_att) };
    let there = of_table.iter().enumerate().filter(|(_, column)| !column.attisdropped);
    let there: Vec<(usize, &pg_sys::FormData_pg_attribute)> = there.collect();
    let place = |column: &WrittenColumn| {
        let stored = if column.generated { pg_sys::ATTRIBUTE_GENERATED_STORED } else { 0 };
        let is_it = |of_table: &pg_sys::FormData_pg_attribute| {
            of_table.name() == column.name
                && of_table.atttypid == column.type_oid
                && of_table.attgenerated as u8 == stored
        };
        there.iter().find(|(_, of_table)| is_it(of_table)).map(|(place, _)| *place)
    };
    let places: Option<Vec<usize>> = columns.iter().map(place).collect();
    places.filter(|_| there.len() == columns.len())
}

/// Whether a table stands by itself in PostgreSQL's own storage, on this server.
///
/// # Safety
/// The table is open.
unsafe fn is_plain(table: pg_sys::Relation) -> bool {
    // SAFETY: the caller's promise.
    let (oid, class) = unsafe { ((*table).rd_id, &*(*table).rd_rel) };
    class.relkind as u8 == pg_sys::RELKIND_RELATION
        && class.relam == pg_sys::HEAP_TABLE_AM_OID
        && !class.relispartition
        && !is_of_citus(oid)
}

/// # Safety
/// The table is open.
unsafe fn is_only_written(table: pg_sys::Relation) -> bool {
    // SAFETY: the caller's promise; where there are triggers, so many follow one another.
    unsafe {
        let triggers = (*table).trigdesc;
        let triggers = match triggers.is_null() {
            true => &[],
            false => slice::from_raw_parts((*triggers).triggers, (*triggers).numtriggers as usize),
        };
        let checks_references = |trigger: &pg_sys::Trigger| {
            trigger.tgisinternal
                && pg_sys::RI_FKey_trigger_type(trigger.tgfoid) != pg_sys::RI_TRIGGER_NONE as i32
        };
        (*table).rd_rules.is_null() && triggers.iter().all(checks_references)
    }
}

/// # Safety
/// The row was written into the target's table.
unsafe fn insert_into_indexes(
    target: *mut pg_sys::ResultRelInfo,
    row: *mut pg_sys::TupleTableSlot,
    executor: *mut pg_sys::EState,
) {
    let (no_conflict, no_indexes) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the caller's promise; null pointers stand for no conflict that is expected.
    unsafe {
        #[cfg(feature = "pg15")]
        pg_sys::ExecInsertIndexTuples(target, row, executor, false, false, no_conflict, no_indexes);
        #[cfg(not(feature = "pg15"))]
        pg_sys::ExecInsertIndexTuples(
            target,
            row,
            executor,
            false,
            false,
            no_conflict,
            no_indexes,
            false,
        );
    }
}
