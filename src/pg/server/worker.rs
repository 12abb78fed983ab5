//! A transaction of its own, whatever becomes of the caller's: a message to a dynamic background
//! worker and its answer.
//!
//! The worker commits before it answers, so an answer means that its work is durable. No answer
//! (no worker slot, a worker that died, a cancelled caller) means that the caller must not go on;
//! the work may have been done all the same.

use super::locks::{PrivateLock, Turn, sleep};
use super::segment::Segment;
use super::settings::set;
use super::state::{is_in_recovery, own_process};
use crate::pg::errors::{Result, internal};
use pgrx::bgworkers::{
    BackgroundWorker, BackgroundWorkerBuilder, BackgroundWorkerStatus, DynamicBackgroundWorker,
};
use pgrx::pg_sys::panic::{ErrorReport, ErrorReportable};
use pgrx::prelude::*;
use std::ffi::CStr;
use std::time::{Duration, Instant};

/// How long to look for a slot after waiting longer than that for one's turn to look.
const LAST_LOOK: Duration = Duration::from_millis(500);

/// How long a worker may take to get into the database. It has no lock_timeout yet then, and the
/// caller itself may hold a lock on a system catalog.
const START_PATIENCE: Duration = Duration::from_secs(5);

/// How long the worker waits for a lock that another transaction holds. The caller waits for the
/// worker, which no deadlock detector sees, so this has to end by itself.
const LOCK_TIMEOUT: &CStr = c"5s";

/// What workers are sent for.
pub(crate) struct Errand {
    /// What `pg_stat_activity` calls the worker.
    pub(crate) worker: &'static str,
    /// The worker's function, which [serves](serve) the message.
    pub(crate) function: &'static str,
    /// What sessions with such an errand for one dataset queue for: together they need one worker
    /// slot, not many, and where another transaction holds the dataset, only they wait.
    pub(crate) turn: PrivateLock,
    /// How long to wait for a worker slot that other sessions' workers or parallel queries hold.
    pub(crate) patience: Duration,
}

/// Why there is no answer.
pub(crate) enum Unanswered {
    /// The server is one, and nothing was sent.
    Standby,
    /// No worker was to be had, and nothing was sent.
    NoSlot,
    /// The worker ended without one. What it was to do may be done.
    Failed,
    Broken(Box<ErrorReport>),
}

impl From<ErrorReport> for Unanswered {
    fn from(report: ErrorReport) -> Unanswered {
        Unanswered::Broken(Box::new(report))
    }
}

/// Sends a message to a new worker, and returns its answer. Errands with the same number `whose`
/// take turns; all who look for a free slot queue for it.
pub(crate) fn ask(
    errand: &Errand,
    whose: i64,
    message: &[u8],
) -> std::result::Result<Vec<u8>, Unanswered> {
    if is_in_recovery() {
        return Err(Unanswered::Standby);
    }
    let _turn = Turn::take(errand.turn, whose as u64);
    let segment = Segment::create(message)?;
    let worker = start(errand, segment.handle())?;
    wait(worker, &segment)?;
    segment.take_answer().ok_or(Unanswered::Failed)
}

fn start(
    errand: &Errand,
    segment: pg_sys::dsm_handle,
) -> std::result::Result<DynamicBackgroundWorker, Unanswered> {
    let begin = Instant::now();
    let _turn = Turn::take(PrivateLock::WorkerSlot, 0);
    let deadline = (begin + errand.patience).max(Instant::now() + LAST_LOOK);
    loop {
        let started = BackgroundWorkerBuilder::new(errand.worker)
            .set_library("pg_dp")
            .set_function(errand.function)
            .enable_spi_access()
            .set_restart_time(None)
            .set_notify_pid(own_process())
            .set_argument(Some(pg_sys::Datum::from(segment)))
            .load_dynamic();
        match started {
            Ok(worker) => return Ok(worker),
            Err(_) if Instant::now() < deadline => {
                pgrx::check_for_interrupts!();
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(_) => return Err(Unanswered::NoSlot),
        }
    }
}

/// Waits until the worker has ended, and ends it if it does not get into the database.
fn wait(worker: DynamicBackgroundWorker, segment: &Segment) -> Result<()> {
    let died = |_| internal("the postmaster died");
    let begin = Instant::now();
    while !segment.has_started() {
        let left = START_PATIENCE.saturating_sub(begin.elapsed());
        if left.is_zero() {
            return worker.terminate().wait_for_shutdown().map_err(died);
        }
        match worker.pid() {
            Ok(_) | Err(BackgroundWorkerStatus::NotYetStarted) => {
                sleep(left, pg_sys::WaitEventIPC::WAIT_EVENT_BGWORKER_SHUTDOWN)
            }
            Err(_) => break, // it has ended
        }
    }
    worker.wait_for_shutdown().map_err(died)
}

unsafe extern "C-unwind" {
    /// PostgreSQL's handler of SIGTERM in sessions (tcop/tcopprot.h); pgrx only has it wrapped.
    fn die(signal: std::ffi::c_int);
}

/// What a worker's function does: it answers the message in one transaction, and commits before the
/// answer is given. `argument`: the function's.
///
/// Any error ends it without an answer.
pub(crate) fn serve(argument: pg_sys::Datum, answer: fn(&[u8]) -> Result<Vec<u8>>) {
    take_signals();
    let segment = Segment::attach(argument.value() as pg_sys::dsm_handle).unwrap_or_report();
    let Some(segment) = segment else {
        return; // the caller is gone
    };
    BackgroundWorker::connect_worker_to_spi_by_oid(Some(segment.database()), None);
    settle();
    segment.start();
    // an error is raised inside, or the transaction would commit what was done before it
    let message = segment.message();
    let answer = BackgroundWorker::transaction(|| {
        let answer = answer(message).unwrap_or_report();
        if !segment.has_room(&answer) {
            pgrx::error!("pg_dp: there is no room for the answer");
        }
        answer
    });
    segment.put_answer(&answer);
}

/// What PostgreSQL leaves to a worker: to handle signals, and to own what outlives a transaction.
fn take_signals() {
    // SAFETY: a worker does so once, when it starts. The handler is the server's own: pgrx's would
    // leave pg_terminate_backend without effect.
    unsafe {
        #[cfg(not(feature = "pg18"))]
        pg_sys::pqsignal(pg_sys::SIGTERM as i32, Some(die));
        #[cfg(feature = "pg18")]
        pg_sys::pqsignal_be(pg_sys::SIGTERM as i32, Some(die));
        pg_sys::BackgroundWorkerUnblockSignals();
        pg_sys::CurrentResourceOwner =
            pg_sys::ResourceOwnerCreate(std::ptr::null_mut(), c"pg_dp ledger".as_ptr());
    }
}

/// Settings that the work relies on, whatever the database's or the role's defaults are.
fn settle() {
    set(c"search_path", c"pg_catalog, pg_temp");
    set(c"default_transaction_isolation", c"read committed");
    set(c"default_transaction_read_only", c"off");
    set(c"lock_timeout", LOCK_TIMEOUT);
    #[cfg(any(feature = "pg17", feature = "pg18"))]
    set(c"transaction_timeout", c"0");
    // a charge that a crash could undo would be no charge, and a release that one could undo would
    // be made anew, with other numbers, when the first ones have been seen
    set(c"synchronous_commit", c"on");
    // the rows of a release that could not be stored are for nobody, and no error is to quote them
    set(c"log_error_verbosity", c"terse");
}
