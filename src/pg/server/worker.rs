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
use crate::pg::errors::{Result, error, internal};
use pgrx::bgworkers::{
    BackgroundWorker, BackgroundWorkerBuilder, BackgroundWorkerStatus, DynamicBackgroundWorker,
};
use pgrx::pg_sys::panic::ErrorReportable;
use pgrx::prelude::*;
use std::ffi::CStr;
use std::time::{Duration, Instant};

/// How long to wait for a worker slot that other sessions' workers or parallel queries hold.
const SLOT_PATIENCE: Duration = Duration::from_secs(2);

/// How long to look for a slot after waiting longer than that for one's turn to look.
const LAST_LOOK: Duration = Duration::from_millis(500);

/// How long a worker may take to get into the database. It has no lock_timeout yet then, and the
/// caller itself may hold a lock on a system catalog.
const START_PATIENCE: Duration = Duration::from_secs(5);

/// How long the worker waits for a lock that another transaction holds. The caller waits for the
/// worker, which no deadlock detector sees, so this has to end by itself.
const LOCK_TIMEOUT: &CStr = c"5s";

/// Sends a message to a new worker, whose function of that name [serves](serve) it, and returns its
/// answer.
///
/// Sessions that ask for one dataset take turns, so that they need one worker slot, not many, and
/// where another transaction holds the dataset, only releases from it wait. All who look for a
/// free slot queue for it. Errors: the server is a standby; no worker slot; the worker failed.
pub(crate) fn ask(function: &str, dataset: i64, message: &[u8]) -> Result<Vec<u8>> {
    if is_in_recovery() {
        return Err(error(
            PgSqlErrorCode::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            "a standby server cannot charge a budget, so it cannot release",
        )
        .set_hint("Release on the primary; stored releases can be read here."));
    }
    let _turn = Turn::take(PrivateLock::Charge, dataset as u64);
    let segment = Segment::create(message)?;
    let worker = start(function, segment.handle())?;
    wait(worker, &segment)?;
    segment.take_answer().ok_or_else(|| {
        error(
            PgSqlErrorCode::ERRCODE_IO_ERROR,
            "the charge could not be recorded, so nothing was released",
        )
        .set_hint(
            "The server's log says why the ledger's worker failed (a lock held by another \
             transaction for example). If it failed late, the charge may stand: see dp.ledger.",
        )
    })
}

fn start(function: &str, segment: pg_sys::dsm_handle) -> Result<DynamicBackgroundWorker> {
    let begin = Instant::now();
    let _turn = Turn::take(PrivateLock::WorkerSlot, 0);
    let deadline = (begin + SLOT_PATIENCE).max(Instant::now() + LAST_LOOK);
    loop {
        let started = BackgroundWorkerBuilder::new("pg_dp ledger")
            .set_library("pg_dp")
            .set_function(function)
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
            Err(_) => {
                return Err(error(
                    PgSqlErrorCode::ERRCODE_INSUFFICIENT_RESOURCES,
                    "no background worker is free to charge the budget, so nothing was released",
                )
                .set_hint("Nothing was spent. Raise max_worker_processes, or try again later."));
            }
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
    let Some(segment) = Segment::attach(argument.value() as pg_sys::dsm_handle) else {
        return; // the caller is gone
    };
    let message = segment.message().to_vec();
    BackgroundWorker::connect_worker_to_spi_by_oid(Some(segment.database()), None);
    settle();
    segment.start();
    // an error is raised inside, or the transaction would commit what was done before it
    let answer = BackgroundWorker::transaction(move || answer(&message).unwrap_or_report());
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

/// Settings that the charge relies on, whatever the database's or the role's defaults are.
fn settle() {
    set(c"search_path", c"pg_catalog, pg_temp");
    set(c"default_transaction_isolation", c"read committed");
    set(c"default_transaction_read_only", c"off");
    set(c"lock_timeout", LOCK_TIMEOUT);
    // a charge that a crash could undo would be no charge
    set(c"synchronous_commit", c"on");
}
