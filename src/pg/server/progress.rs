//! How far long functions have come: the view `dp.progress`.
//!
//! PostgreSQL keeps the progress of one command per backend in shared memory, for its own views
//! pg_stat_progress_*. Each of them shows the entries with the number of its command; here are
//! those with ours. An aborted transaction or subtransaction ends the entry, as it ends every
//! command's.

use super::roles::acts_for;
use pgrx::pg_sys::{Oid, PgBackendStatus, ProgressCommandType};
use pgrx::prelude::*;
use std::cell::Cell;
use std::ffi::c_int;

// one of the local copies of all backends' entries, counted from 1
#[cfg(feature = "pg15")]
use pg_sys::pgstat_fetch_stat_local_beentry as local_entry;
#[cfg(not(feature = "pg15"))]
use pg_sys::pgstat_get_local_beentry_by_index as local_entry;

/// Our command, none of PostgreSQL's own, which it counts from 0. Another layout of [`Parameter`]
/// takes the next number: a backend may still run an older build of this library.
const COMMAND: ProgressCommandType::Type = 0x6470_0001;

/// What the numbers of an entry mean.
#[derive(Debug, Clone, Copy)]
enum Parameter {
    Function,
    /// Its id, 0 for none.
    Dataset,
    Phase,
    Level,
    /// 0 where there are none.
    Levels,
    Done,
    /// 0 where it is not known.
    Total,
}

/// A function that may take long.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Function {
    CocoHistogram,
    ExplainHierarchy,
    ExplainRanges,
    ExplainRectangles,
    ExplainRegionRanges,
    ExplainRegions,
    ExplainStream,
    FindBound,
    FindRegions,
    GridRelease,
    HierarchyConsistent,
    HierarchyIntervals,
    HierarchyRelease,
    HistogramIntervals,
    KeepIntervals,
    RangeRelease,
    RangeSums,
    RectangleSums,
    RegionRangeRelease,
    RegionRangeSums,
    StreamCreate,
    StreamSums,
    StreamTick,
}

impl Function {
    const NAMES: [&str; 23] = [
        "dp_coco_histogram",
        "dp_explain_hierarchy",
        "dp_explain_ranges",
        "dp_explain_rectangles",
        "dp_explain_region_ranges",
        "dp_explain_regions",
        "dp_explain_stream",
        "dp_find_bound",
        "dp_find_regions",
        "dp_grid_release",
        "dp_hierarchy_consistent",
        "dp_hierarchy_intervals",
        "dp_hierarchy_release",
        "dp_histogram_intervals",
        "dp_keep_intervals",
        "dp_range_release",
        "dp_range_sums",
        "dp_rectangle_sums",
        "dp_region_range_release",
        "dp_region_range_sums",
        "dp_stream_create",
        "dp_stream_sums",
        "dp_stream_tick",
    ];
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Phase {
    /// What is public: arguments, tables, the tree of regions.
    Checking,
    /// How to measure.
    Planning,
    Simulating,
    Charging,
    Reading,
    /// With the noise.
    Measuring,
    MakingConsistent,
    Storing,
}

impl Phase {
    const NAMES: [&str; 8] = [
        "checking",
        "planning",
        "simulating",
        "charging",
        "reading",
        "measuring",
        "making consistent",
        "storing",
    ];
}

/// The entry of this backend, for as long as the value lives.
///
/// It is empty where the backend reports the progress of something else already: of a COPY, or of
/// the function within whose reading this one is called.
pub(crate) struct Progress {
    function: Function,
    is_ours: bool,
    /// How many steps of the phase.
    done: Cell<i64>,
}

impl Progress {
    pub(crate) fn start(function: Function, phase: Phase) -> Progress {
        let is_ours = own_command() == Some(ProgressCommandType::PROGRESS_COMMAND_INVALID);
        if is_ours {
            // SAFETY: writes this backend's own entry.
            unsafe { pg_sys::pgstat_progress_start_command(COMMAND, Oid::INVALID) };
        }
        let progress = Progress { function, is_ours, done: Cell::new(0) };
        progress.set([(Parameter::Function, function as i64), (Parameter::Phase, phase as i64)]);
        progress
    }

    /// The function's name.
    pub(crate) fn function(&self) -> &'static str {
        Function::NAMES[self.function as usize]
    }

    /// It is about the dataset of that number.
    pub(crate) fn dataset(&self, id: i64) {
        self.set([(Parameter::Dataset, id)]);
    }

    /// The next phase begins, of which no share is known.
    pub(crate) fn phase(&self, phase: Phase) {
        self.steps(phase, 0);
    }

    /// The next phase begins, of so many steps.
    pub(crate) fn steps(&self, phase: Phase, total: usize) {
        self.done.set(0);
        self.set([
            (Parameter::Phase, phase as i64),
            (Parameter::Levels, 0),
            (Parameter::Done, 0),
            (Parameter::Total, total as i64),
        ]);
    }

    /// The next step of the phase is done.
    pub(crate) fn step(&self) {
        self.done.set(self.done.get() + 1);
        self.set([(Parameter::Done, self.done.get())]);
    }

    /// So many steps of the phase are done.
    pub(crate) fn steps_done(&self, steps: u64) {
        self.done.set(steps as i64);
        self.set([(Parameter::Done, self.done.get())]);
    }

    /// The phase is at this level of so many.
    pub(crate) fn level(&self, level: usize, levels: usize) {
        self.set([(Parameter::Level, level as i64), (Parameter::Levels, levels as i64)]);
    }

    fn set<const N: usize>(&self, parameters: [(Parameter, i64); N]) {
        if self.is_ours {
            let indices = parameters.map(|(parameter, _)| parameter as c_int);
            let values = parameters.map(|(_, value)| value);
            // SAFETY: reads N numbers of each; the indices are below the number of parameters.
            unsafe {
                pg_sys::pgstat_progress_update_multi_param(
                    N as c_int,
                    indices.as_ptr(),
                    values.as_ptr(),
                );
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // after a caught error of an inner subtransaction the entry may be gone, or another's
        if self.is_ours && own_command() == Some(COMMAND) {
            // SAFETY: writes this backend's own entry.
            unsafe { pg_sys::pgstat_progress_end_command() };
        }
    }
}

/// The command whose progress this backend reports; None for a process without an entry.
fn own_command() -> Option<ProgressCommandType::Type> {
    // SAFETY: null, or this backend's own entry, which it alone writes.
    unsafe { pg_sys::MyBEEntry.as_ref() }.map(|own| own.st_progress_command)
}

/// What a backend's entry says; nothing but whose it is to a role that may not see more.
pub(crate) struct Reported {
    pub(crate) pid: i32,
    pub(crate) database: Oid,
    pub(crate) function: Option<&'static str>,
    pub(crate) dataset: Option<i64>,
    pub(crate) phase: Option<&'static str>,
    pub(crate) level: Option<i32>,
    pub(crate) levels: Option<i32>,
    pub(crate) done: Option<i64>,
    pub(crate) total: Option<i64>,
}

/// All entries of ours. What they say is shown to whom PostgreSQL shows that of other commands.
pub(crate) fn reported() -> Vec<Reported> {
    // SAFETY: makes this backend's copy of all entries, unless the transaction has one.
    let backends = unsafe { pg_sys::pgstat_fetch_stat_numbackends() };
    (1..=backends)
        // SAFETY: one of so many entries of the copy, which lives on while it is read here.
        .filter_map(|index| unsafe { local_entry(index).as_ref() })
        .map(|local| &local.backendStatus)
        .filter(|backend| backend.st_procpid > 0 && backend.st_progress_command == COMMAND)
        .map(Reported::by)
        .collect()
}

impl Reported {
    fn by(backend: &PgBackendStatus) -> Reported {
        let shown = may_see(backend);
        let number = |parameter| backend.st_progress_param[parameter as usize];
        let positive = |parameter| Some(number(parameter)).filter(|number| shown && *number > 0);
        let name = |names: &[&'static str], parameter| {
            let name = names.get(number(parameter) as usize);
            name.copied().filter(|_| shown)
        };
        let levels = positive(Parameter::Levels);
        let total = positive(Parameter::Total);
        Reported {
            pid: backend.st_procpid,
            database: backend.st_databaseid,
            function: name(&Function::NAMES, Parameter::Function),
            dataset: positive(Parameter::Dataset),
            phase: name(&Phase::NAMES, Parameter::Phase),
            level: levels.map(|_| number(Parameter::Level) as i32),
            levels: levels.map(|levels| levels as i32),
            done: total.map(|_| number(Parameter::Done)),
            total,
        }
    }
}

/// Whether the current role has the rights of a backend's role, or sees all statistics.
fn may_see(backend: &PgBackendStatus) -> bool {
    let all = Oid::from(pg_sys::ROLE_PG_READ_ALL_STATS);
    acts_for(all) || acts_for(backend.st_userid)
}
