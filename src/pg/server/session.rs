//! Acting as another role for a while, reading under one snapshot, and being cancelled.

use crate::pg::errors::{Result, internal};
use crate::work::watch_always;
use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting};
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use std::ffi::{CStr, CString};
use std::time::Duration;

/// Lets all work of this process be cancelled: it unwinds then.
pub(crate) fn watch_for_interrupts() {
    watch_always(|| {
        pgrx::check_for_interrupts!();
    });
}

/// The role in whose name the current statement runs.
pub(crate) fn current_role() -> Oid {
    unsafe { pg_sys::GetUserId() }
}

pub(crate) fn role_name(role: Oid) -> String {
    unsafe {
        let name = pg_sys::GetUserNameFromId(role, true);
        if name.is_null() {
            format!("role {}", role.to_u32())
        } else {
            CStr::from_ptr(name).to_string_lossy().into_owned()
        }
    }
}

/// Whether the current role is that role, a member of it or a superuser.
pub(crate) fn acts_for(role: Oid) -> bool {
    unsafe { pg_sys::has_privs_of_role(current_role(), role) }
}

/// Runs `action` as the role that owns the extension's catalog. For fixed statements on the tables
/// of schema `dp` alone; every SQL function that gets here pins its search_path to pg_catalog.
pub(crate) fn as_catalog_owner<T>(action: impl FnOnce() -> T) -> T {
    as_reader(Oid::from(pg_sys::BOOTSTRAP_SUPERUSERID), action)
}

/// Runs `action` as another role, without SET ROLE and the like inside.
fn as_role<T>(role: Oid, action: impl FnOnce() -> T) -> T {
    struct Restore(Oid, i32);
    impl Drop for Restore {
        fn drop(&mut self) {
            unsafe { pg_sys::SetUserIdAndSecContext(self.0, self.1) }
        }
    }
    let mut restore = Restore(Oid::INVALID, 0);
    unsafe { pg_sys::GetUserIdAndSecContext(&mut restore.0, &mut restore.1) };
    let context = restore.1
        | pg_sys::SECURITY_LOCAL_USERID_CHANGE as i32
        | pg_sys::SECURITY_RESTRICTED_OPERATION as i32;
    unsafe { pg_sys::SetUserIdAndSecContext(role, context) };
    let result = action();
    drop(restore); // also on unwinding, through the guard
    result
}

/// Runs `action`, which reads what the current role may not see, as the role that may, and lets
/// nothing of the reading show in the current session.
///
/// Otherwise the session's own settings could print the plan of the inner query, and EXPLAIN (ANALYZE,
/// BUFFERS) would count the pages that it read. What PostgreSQL or the code of a table's owner has to
/// say meanwhile is for nobody. From where on rows go to temporary files is the administrator's choice; these
/// lie where the database has them, whatever they take: a limit would be met or not as there are rows. The settings of output formats are fixed, so that a
/// region has one name for everybody, and so is the search_path. (What is planned is planned alike under any other
/// settings: see `query`.)
pub(crate) fn as_reader<T>(role: Oid, action: impl FnOnce() -> T) -> T {
    let work_mem = CString::new(WORK_MEM.get().to_string()).unwrap_or_default();
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        for (name, value) in [
            (c"search_path", c"pg_catalog, pg_temp"),
            (c"client_min_messages", c"error"),
            (c"debug_print_parse", c"off"),
            (c"debug_print_rewritten", c"off"),
            (c"debug_print_plan", c"off"),
            (c"trace_sort", c"off"),
            (c"jit", c"off"),
            (c"max_parallel_workers_per_gather", c"0"), // but for those that a query asks for
            (c"work_mem", work_mem.as_c_str()),
            (c"hash_mem_multiplier", c"1"),
            (c"temp_file_limit", c"-1"),
            (c"temp_tablespaces", c""),
            (c"enable_partitionwise_aggregate", c"off"),
            (c"DateStyle", c"ISO, MDY"),
            (c"IntervalStyle", c"postgres"),
            (c"extra_float_digits", c"1"),
            (c"bytea_output", c"hex"),
            (c"lc_monetary", c"C"),
            (c"TimeZone", c"UTC"),
            (c"quote_all_identifiers", c"off"),
        ] {
            set_for_now(name, value);
        }
        let _usage = Usage { buffers: pg_sys::pgBufferUsage, wal: pg_sys::pgWalUsage };
        let result = as_role(role, action);
        pg_sys::AtEOXact_GUC(false, level); // after an error the transaction's end does it
        result
    }
}

/// How much memory, in kB, the reading of a release may take before it puts rows aside in files: where that
/// is so shows, so no caller may choose it.
static WORK_MEM: GucSetting<i32> = GucSetting::<i32>::new(16 << 10);

pub(crate) fn define_settings() {
    GucRegistry::define_int_guc(
        c"pg_dp.work_mem",
        c"Sets the memory that the reading of a release may take.",
        c"More than that is put aside in temporary files. The session's work_mem does not count there.",
        &WORK_MEM,
        64,
        i32::MAX / 1024,
        GucContext::Suset,
        GucFlags::UNIT_KB,
    );
    unsafe { pg_sys::MarkGUCPrefixReserved(c"pg_dp".as_ptr()) };
}

/// What the session has used so far; put back when the reading ends, also by an error.
struct Usage {
    buffers: pg_sys::BufferUsage,
    wal: pg_sys::WalUsage,
}

impl Drop for Usage {
    fn drop(&mut self) {
        unsafe {
            pg_sys::pgBufferUsage = self.buffers;
            pg_sys::pgWalUsage = self.wal;
        }
    }
}

/// Runs `action` where a parallel plan may have so many workers.
pub(crate) fn with_workers<T>(workers: i32, action: impl FnOnce() -> T) -> T {
    let workers = CString::new(workers.to_string()).unwrap_or_default();
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        set_for_now(c"max_parallel_workers_per_gather", &workers);
        let result = action();
        pg_sys::AtEOXact_GUC(false, level); // after an error the transaction's end does it
        result
    }
}

/// Whether more than half of the stack is used.
pub(crate) fn stack_is_half_used() -> bool {
    let half = CString::new((unsafe { pg_sys::max_stack_depth } / 2).max(100).to_string());
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        set_for_now(c"max_stack_depth", &half.unwrap_or_default());
        let is_used = pg_sys::stack_is_too_deep();
        pg_sys::AtEOXact_GUC(false, level);
        is_used
    }
}

/// As many workers as the session may have for one query.
pub(crate) fn workers_of_session() -> i32 {
    unsafe { pg_sys::max_parallel_workers_per_gather }
}

/// Changes a setting until the current nesting level of settings ends.
unsafe fn set_for_now(name: &CStr, value: &CStr) {
    unsafe {
        pg_sys::set_config_option(
            name.as_ptr(),
            value.as_ptr(),
            pg_sys::GucContext::PGC_SUSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SAVE,
            true,
            pg_sys::DEBUG5 as i32,
            false,
        );
    }
}

/// Waits until this process's latch is set, as a change of a worker's state does, or so long.
/// `pg_stat_activity` shows the reason.
pub(crate) fn sleep(longest: Duration, reason: u32) {
    pgrx::check_for_interrupts!();
    unsafe {
        let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
        let milliseconds = longest.as_millis() as std::ffi::c_long;
        pg_sys::WaitLatch(pg_sys::MyLatch, events as i32, milliseconds, reason);
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
}

/// What the extension takes locks on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PrivateLock {
    /// The right to have a worker charge a dataset.
    Charge = 0xd8,
    /// The right to look for a free worker slot.
    WorkerSlot = 0xd9,
    /// The name of a release of a dataset.
    ReleaseName = 0xda,
    /// The name of a dataset.
    DatasetName = 0xdb,
}

/// A lock of this database that no SQL function can take, so that nobody can block releases with
/// it: pg_advisory_lock and its relatives use the kinds 1 and 2.
pub(crate) fn private_lock(kind: PrivateLock, key: u64) -> pg_sys::LOCKTAG {
    pg_sys::LOCKTAG {
        locktag_field1: unsafe { pg_sys::MyDatabaseId }.to_u32(),
        locktag_field2: (key >> 32) as u32,
        locktag_field3: key as u32,
        locktag_field4: kind as u16,
        locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
        locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
    }
}

/// Runs a SELECT under the snapshot of the calling statement, so that several reads of one release
/// see the same state, and gives each row to `visit`.
pub(crate) fn read_rows(sql: &str, mut visit: impl FnMut(&Row) -> Result<()>) -> Result<()> {
    let sql = CString::new(sql).map_err(internal)?;
    Spi::connect(|_| {
        let read_only = true; // keeps the active snapshot
        let status = unsafe { pg_sys::SPI_execute(sql.as_ptr(), read_only, 0) };
        if status != pg_sys::SPI_OK_SELECT as i32 {
            return Err(internal(format!("a query ended with status {status}")));
        }
        let (table, rows) = unsafe { (pg_sys::SPI_tuptable, pg_sys::SPI_processed) };
        for index in 0..rows as usize {
            let tuple = unsafe { *(*table).vals.add(index) };
            visit(&Row { tuple, descriptor: unsafe { (*table).tupdesc } })?;
        }
        Ok(())
    })
}

/// Runs `action` under a snapshot of now: what others committed since a REPEATABLE READ transaction
/// began, such as the charges of its own releases, is visible. For [`read_rows`].
pub(crate) fn as_of_now<T>(action: impl FnOnce() -> T) -> T {
    unsafe { pg_sys::PushActiveSnapshot(pg_sys::GetLatestSnapshot()) };
    let result = action();
    // after an error the transaction's end pops it
    unsafe { pg_sys::PopActiveSnapshot() };
    result
}

/// Whether a SELECT has any row; like [`read_rows`].
pub(crate) fn exists(sql: &str) -> Result<bool> {
    let mut any = false;
    read_rows(sql, |_| {
        any = true;
        Ok(())
    })?;
    Ok(any)
}

/// A row of [`read_rows`].
pub(crate) struct Row {
    tuple: pg_sys::HeapTuple,
    descriptor: pg_sys::TupleDesc,
}

impl Row {
    /// The column at a position counted from 1; the caller knows its type from the query.
    pub(crate) fn get<T: FromDatum>(&self, position: i32) -> Option<T> {
        unsafe {
            let mut is_null = false;
            let datum = pg_sys::SPI_getbinval(self.tuple, self.descriptor, position, &mut is_null);
            T::from_datum(datum, is_null)
        }
    }
}

/// The extension's schema, quoted for use in a query.
pub(crate) fn extension_schema() -> Result<String> {
    let sql = "SELECT extnamespace::pg_catalog.regnamespace::pg_catalog.text \
                 FROM pg_catalog.pg_extension WHERE extname OPERATOR(pg_catalog.=) 'pg_dp'";
    let mut schema = None;
    read_rows(sql, |row| {
        schema = row.get(1);
        Ok(())
    })?;
    schema.ok_or_else(|| internal("the extension is not installed in this database"))
}

/// The extension's type of that name.
pub(crate) fn extension_type(name: &str) -> Result<Oid> {
    Ok(pgrx::regtypein(&format!("{}.{name}", extension_schema()?)))
}
