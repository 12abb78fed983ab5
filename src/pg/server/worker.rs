//! A transaction of its own, whatever becomes of the caller's: a message to a dynamic background
//! worker and its answer.
//!
//! The worker commits before it answers, so an answer means that its work is durable. No answer
//! (no worker slot, a worker that died, a cancelled caller) means that the caller must not go on;
//! the work may have been done all the same.
//!
//! A worker's start takes longer than what it is sent for. So one that is soon to be followed by
//! another, of the same session, may [stay] for that: without a transaction, for a moment only, and
//! not when the session has ended or forgotten it. If it is gone by then, another one is started.
//! And one may [start early], to wait in the same way for its first message.
//!
//! [stay]: ask_and_keep
//! [start early]: start_early

use super::locks::{PrivateLock, Turn, sleep, wake};
use super::segment::{Next, Segment};
use super::settings::set;
use super::state::{is_in_recovery, own_process};
use crate::pg::errors::{Result, internal};
use pgrx::bgworkers::{
    BackgroundWorker, BackgroundWorkerBuilder, BackgroundWorkerStatus, DynamicBackgroundWorker,
};
use pgrx::pg_sys::panic::{ErrorReport, ErrorReportable};
use pgrx::prelude::*;
use std::ffi::CStr;
use std::fmt;
use std::time::{Duration, Instant};

/// How long to look for a slot after waiting longer than that for one's turn to look.
const LAST_LOOK: Duration = Duration::from_millis(500);

/// How long a worker may take to get into the database. It has no lock_timeout yet then, and the
/// caller itself may hold a lock on a system catalog.
const START_PATIENCE: Duration = Duration::from_secs(5);

/// How long a worker stays: a few times what starting another one takes. It holds a slot meanwhile.
const STAY: Duration = Duration::from_millis(50);

/// How long to sleep at most before one looks whether there is an answer: the worker wakes who waits.
const LOOK: Duration = Duration::from_secs(1);

/// How long the worker waits for a lock that another transaction holds. The caller waits for the
/// worker, which no deadlock detector sees, so this has to end by itself.
const LOCK_TIMEOUT: &CStr = c"5s";

/// What workers do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Ledger,
    Store,
}

impl Work {
    const ALL: [Work; 2] = [Work::Ledger, Work::Store];

    /// What `pg_stat_activity` calls the worker.
    fn name(self) -> &'static CStr {
        match self {
            Work::Ledger => c"pg_dp ledger",
            Work::Store => c"pg_dp store",
        }
    }
}

/// The workers' function, by which PostgreSQL finds it in the library. It [serves](serve).
const FUNCTION: &str = "pg_dp_worker_main";

/// What workers are sent for.
pub(crate) struct Errand {
    pub(crate) work: Work,
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

type Answered<T> = std::result::Result<T, Unanswered>;

/// A worker that waits for a moment for a message. It ends when the value goes.
pub(crate) struct Staying {
    worker: Option<DynamicBackgroundWorker>,
    segment: Option<Segment>,
}

impl fmt::Debug for Staying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Staying")
    }
}

impl Drop for Staying {
    fn drop(&mut self) {
        let Some(segment) = self.segment.take() else { return };
        segment.end();
        // an error may have come from where locks are held that these need: its handling detaches
        // the segment, and the worker sees for itself
        if !std::thread::panicking() {
            if let Some(Ok(process)) = self.worker.as_ref().map(DynamicBackgroundWorker::pid) {
                wake(process);
            }
            segment.detach();
        }
    }
}

/// Has a worker start whose first message follows in a moment, so that the caller can look at what is
/// public meanwhile. None where no slot is free: then one is waited for when there is a message.
pub(crate) fn start_early(errand: &Errand) -> Result<Option<Staying>> {
    if is_in_recovery() {
        return Ok(None);
    }
    let segment = Segment::create(errand.work as u32, &[], true)?;
    let worker = try_to_start(errand, segment.handle());
    Ok(worker.map(|worker| Staying { worker: Some(worker), segment: Some(segment) }))
}

/// Sends a message to a new worker, and returns its answer. Errands with the same number `whose`
/// take turns; all who look for a free slot queue for it.
pub(crate) fn ask(errand: &Errand, whose: i64, message: &[u8]) -> Answered<Vec<u8>> {
    ask_next(None, errand, whose, message)
}

/// The same, of the worker that stays, if it is still there.
pub(crate) fn ask_next(
    staying: Option<Staying>,
    errand: &Errand,
    whose: i64,
    message: &[u8],
) -> Answered<Vec<u8>> {
    send(staying, errand, whose, message, false).map(|(answer, _)| answer)
}

/// The same, and it stays for the next message.
pub(crate) fn ask_and_keep(
    staying: Option<Staying>,
    errand: &Errand,
    whose: i64,
    message: &[u8],
) -> Answered<(Vec<u8>, Staying)> {
    send(staying, errand, whose, message, true)
}

fn send(
    staying: Option<Staying>,
    errand: &Errand,
    whose: i64,
    message: &[u8],
    stays: bool,
) -> Answered<(Vec<u8>, Staying)> {
    if is_in_recovery() {
        return Err(Unanswered::Standby);
    }
    let _turn = Turn::take(errand.turn, whose as u64);
    let segment = Segment::create(errand.work as u32, message, stays)?;
    let mut worker = None;
    if let Some(mut staying) = staying
        && let Some(before) = &staying.segment
        && before.go_on_with(&segment)
    {
        if let Some(Ok(process)) = staying.worker.as_ref().map(DynamicBackgroundWorker::pid) {
            wake(process);
        }
        wait(&mut staying.worker, &segment)?;
        worker = staying.worker.take();
    }
    // one that has ended before it began has done nothing
    if !segment.has_started() {
        worker = Some(start(errand, segment.handle())?);
        wait(&mut worker, &segment)?;
    }
    let answer = segment.take_answer();
    let staying = Staying { worker, segment: Some(segment) };
    Ok((answer.ok_or(Unanswered::Failed)?, staying))
}

fn start(errand: &Errand, segment: pg_sys::dsm_handle) -> Answered<DynamicBackgroundWorker> {
    let begin = Instant::now();
    let _turn = Turn::take(PrivateLock::WorkerSlot, 0);
    let deadline = (begin + errand.patience).max(Instant::now() + LAST_LOOK);
    loop {
        match try_to_start(errand, segment) {
            Some(worker) => return Ok(worker),
            None if Instant::now() < deadline => {
                pgrx::check_for_interrupts!();
                std::thread::sleep(Duration::from_millis(5));
            }
            None => return Err(Unanswered::NoSlot),
        }
    }
}

/// None if no slot is free.
fn try_to_start(errand: &Errand, segment: pg_sys::dsm_handle) -> Option<DynamicBackgroundWorker> {
    BackgroundWorkerBuilder::new(&errand.work.name().to_string_lossy())
        .set_library("pg_dp")
        .set_function(FUNCTION)
        .enable_spi_access()
        .set_restart_time(None)
        .set_notify_pid(own_process())
        .set_argument(Some(pg_sys::Datum::from(segment)))
        .load_dynamic()
        .ok()
}

/// Waits until the worker has answered or has ended, and ends it if it does not get into the
/// database.
fn wait(worker: &mut Option<DynamicBackgroundWorker>, segment: &Segment) -> Result<()> {
    let begin = Instant::now();
    while !segment.has_answer() {
        let left = match segment.has_started() {
            true => LOOK,
            false => START_PATIENCE.saturating_sub(begin.elapsed()),
        };
        if left.is_zero() {
            let ended = worker.take().map(|worker| worker.terminate().wait_for_shutdown());
            return ended.unwrap_or(Ok(())).map_err(|_| internal("the postmaster died"));
        }
        match worker.as_ref().map(DynamicBackgroundWorker::pid) {
            Some(Ok(_) | Err(BackgroundWorkerStatus::NotYetStarted)) => {
                sleep(left, pg_sys::WaitEventIPC::WAIT_EVENT_BGWORKER_SHUTDOWN)
            }
            _ => break, // it has ended
        }
    }
    Ok(())
}

unsafe extern "C-unwind" {
    /// PostgreSQL's handler of SIGTERM in sessions (tcop/tcopprot.h); pgrx only has it wrapped.
    fn die(signal: std::ffi::c_int);
}

/// What a worker's function does: it answers the message in one transaction, and commits before the
/// answer is given; then it may stay for another message. `argument`: the function's.
///
/// Any error ends it without an answer.
pub(crate) fn serve(argument: pg_sys::Datum, answer: fn(Work, &[u8]) -> Result<Vec<u8>>) {
    take_signals();
    let mut next = Segment::attach(argument.value() as pg_sys::dsm_handle).unwrap_or_report();
    let Some(first) = &next else {
        return; // the caller is gone
    };
    BackgroundWorker::connect_worker_to_spi_by_oid(Some(first.database()), None);
    settle();
    while let Some(segment) = next {
        // the first message of one that was started early is in the next segment
        if !segment.message().is_empty() {
            answer_one(&segment, answer);
        }
        next = wait_for_next(&segment);
    }
}

fn answer_one(segment: &Segment, answer: fn(Work, &[u8]) -> Result<Vec<u8>>) {
    let Some(work) = Work::ALL.into_iter().find(|work| *work as u32 == segment.work()) else {
        return;
    };
    set(c"application_name", work.name());
    segment.start();
    // an error is raised inside, or the transaction would commit what was done before it
    let message = segment.message();
    let answer = BackgroundWorker::transaction(|| {
        let answer = answer(work, message).unwrap_or_report();
        if !segment.has_room(&answer) {
            pgrx::error!("pg_dp: there is no room for the answer");
        }
        answer
    });
    segment.put_answer(&answer);
    wake(segment.caller());
}

/// The next segment, if the session has one in time. No transaction is open, and no lock held.
fn wait_for_next(segment: &Segment) -> Option<Segment> {
    let begin = Instant::now();
    while segment.stays() {
        let left = STAY.saturating_sub(begin.elapsed());
        match segment.next() {
            Next::Message(handle) => {
                let next = Segment::attach(handle).unwrap_or_report();
                // one that was there before may have got the number of one that is gone
                return next.filter(|next| {
                    (next.caller(), next.database()) == (segment.caller(), segment.database())
                });
            }
            Next::NothingMore => break,
            Next::NothingYet if left.is_zero() => _ = segment.end(), // unless one has come just now
            Next::NothingYet => sleep(left, pg_sys::PG_WAIT_EXTENSION),
        }
    }
    None
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
            pg_sys::ResourceOwnerCreate(std::ptr::null_mut(), c"pg_dp".as_ptr());
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
