//! Settings: those of the extension, and others that are in force for a while.

use super::state::{stack_depth, workers_of_session};
use crate::pg::errors::{Result, internal};
use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting};
use pgrx::prelude::*;
use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::num::NonZeroUsize;
use std::thread::available_parallelism;

type Setting = (&'static CStr, Cow<'static, CStr>);

/// How much memory, in kB, the reading of a release may take before it puts rows aside in files:
/// where that is so shows, so no caller may choose it.
static WORK_MEM: GucSetting<i32> = GucSetting::<i32>::new(16 << 10);

pub(crate) fn define_settings() {
    GucRegistry::define_int_guc(
        c"pg_dp.work_mem",
        c"Sets the memory that the reading of a release may take.",
        c"Rows of more groups than fit into 1 MB of it, and what else takes more, are put aside in \
          temporary files. The session's work_mem does not count there.",
        &WORK_MEM,
        64,
        i32::MAX / 1024,
        GucContext::Suset,
        GucFlags::UNIT_KB,
    );
    // SAFETY: copies the string that it is given.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"pg_dp".as_ptr()) };
}

/// Runs `action` with these settings, which end with it; after an error the end of the transaction
/// or subtransaction ends them.
pub(super) fn with_settings<T>(
    settings: impl IntoIterator<Item = Setting>,
    action: impl FnOnce() -> T,
) -> T {
    // SAFETY: begins a level of settings. It is ended below, with all that are left open within.
    let level = unsafe { pg_sys::NewGUCNestLevel() };
    for (name, value) in settings {
        // SAFETY: copies two strings that end with a zero. What is set is put back with the level.
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
    let result = action();
    // SAFETY: the level was begun above, and an error in between does not get here.
    unsafe { pg_sys::AtEOXact_GUC(false, level) };
    result
}

/// Sets what holds for the rest of this process, unless something else is set.
pub(super) fn set(name: &CStr, value: &CStr) {
    // SAFETY: copies two strings that end with a zero.
    unsafe {
        pg_sys::SetConfigOption(
            name.as_ptr(),
            value.as_ptr(),
            pg_sys::GucContext::PGC_SUSET,
            pg_sys::GucSource::PGC_S_SESSION,
        );
    }
}

/// The settings under which rows are read that the current role may not see.
///
/// The session's own settings could print the plan of the inner query. What PostgreSQL or the code
/// of a table's owner has to say meanwhile is for nobody. From where on rows go to temporary files
/// is no choice of the session's; these lie where the database has them, whatever they take: a
/// limit would be met or not as there are rows. The settings of output formats are fixed, so that a
/// region has one name for everybody, and so is the search_path. (What is planned is planned alike
/// under any other settings: see `dataset::query`.)
pub(super) fn reading_settings() -> impl Iterator<Item = Setting> {
    const FIXED: [(&CStr, &CStr); 19] = [
        (c"search_path", c"pg_catalog, pg_temp"),
        (c"client_min_messages", c"error"),
        (c"debug_print_parse", c"off"),
        (c"debug_print_rewritten", c"off"),
        (c"debug_print_plan", c"off"),
        (c"trace_sort", c"off"),
        (c"jit", c"off"),
        (c"max_parallel_workers_per_gather", c"0"), // but for those that a query asks for
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
    ];
    let work_mem = number(c"work_mem", WORK_MEM.get());
    FIXED.into_iter().map(|(name, value)| (name, value.into())).chain([work_mem])
}

fn number(name: &'static CStr, value: i32) -> Setting {
    let text = CString::new(value.to_string()).unwrap_or_default();
    (name, text.into())
}

/// Runs `action` where a parallel plan may have so many workers.
pub(crate) fn with_workers<T>(workers: i32, action: impl FnOnce() -> T) -> T {
    with_settings([number(c"max_parallel_workers_per_gather", workers)], action)
}

/// Whether more than half of the stack is used.
pub(super) fn stack_is_half_used() -> bool {
    let half = (stack_depth() / 2).max(100);
    // SAFETY: compares an address with a setting.
    let is_used = || unsafe { pg_sys::stack_is_too_deep() };
    with_settings([number(c"max_stack_depth", half)], is_used)
}

/// As many threads as there are cores, but no more than the query could have processes: whoever
/// bounds these by `max_parallel_workers_per_gather` means what a query may take of the machine.
pub(crate) fn threads() -> NonZeroUsize {
    threads_of(workers_of_session())
}

/// Whether a thread may work beside this one, where a query could have so many workers.
pub(crate) fn may_have_helper(workers: i32) -> bool {
    threads_of(workers) > NonZeroUsize::MIN
}

fn threads_of(workers: i32) -> NonZeroUsize {
    let workers = usize::try_from(workers).unwrap_or(0);
    let processes = NonZeroUsize::MIN.saturating_add(workers);
    available_parallelism().map_or(NonZeroUsize::MIN, |cores| cores.min(processes))
}

/// The transaction waits for locks until it gets them, and does not end where several wait for each other.
pub(crate) fn wait_without_end() -> Result<()> {
    for setting in ["lock_timeout = 0", "deadlock_timeout = 2147483647"] {
        Spi::run(&format!("SET LOCAL {setting}")).map_err(internal)?;
    }
    Ok(())
}
