//! A transaction of its own, whatever becomes of the caller's: a message to a dynamic background
//! worker and its answer.
//!
//! The worker commits before it answers, so an answer means that its work is durable. No answer
//! (no worker slot, a worker that died, a cancelled caller) means that the caller must not go on;
//! the work may have been done all the same.
//!
//! A worker's start takes longer than what it is sent for. So it stays for the session's next
//! message: without a transaction, for a moment only, not when the session has ended, and not while
//! somebody looks for a worker slot. If it is gone by then, another one is started. And one may
//! [start early], to wait in the same way for its first message.
//!
//! [start early]: start_early

mod process;
mod serving;
mod work;

pub(crate) use serving::{Afterwards, Answer, serve};
pub(crate) use work::Work;

use super::locks::{PrivateLock, Turn, is_taken, sleep};
use super::segment::{Next, Segment};
use super::state::is_in_recovery;
use crate::pg::errors::{Result, internal};
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use process::{Process, State};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// How long to look for a slot after waiting longer than that for one's turn to look.
const LAST_LOOK: Duration = Duration::from_millis(500);

/// How long a worker may take to get into the database. It has no lock_timeout yet then, and the
/// caller itself may hold a lock on a system catalog.
const START_PATIENCE: Duration = Duration::from_secs(5);

/// How long to sleep at most before one looks whether there is an answer: the worker wakes who waits.
const LOOK: Duration = Duration::from_secs(1);

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

/// A worker that waits for a moment for the session's next message.
struct Staying {
    process: Process,
    /// That of its last message, mapped until the session ends.
    segment: Segment,
}

thread_local! {
    static STAYING: RefCell<Option<Staying>> = const { RefCell::new(None) };
}

/// Has a worker start whose first message follows in a moment, so that the caller can look at what is
/// public meanwhile. Where no slot is free, or others queue for one, it is waited for when there is
/// a message.
pub(crate) fn start_early(errand: &Errand) -> Result<()> {
    let has_one = || STAYING.with_borrow(|staying| staying.as_ref().is_some_and(is_there));
    if is_in_recovery() || has_one() || is_taken(PrivateLock::WorkerSlot, 0) {
        return Ok(());
    }
    let segment = Segment::create(errand.work as u32, &[])?;
    match Process::start(errand.work, &segment) {
        Some(process) => stay(Staying { process, segment }),
        None => segment.detach(),
    }
    Ok(())
}

fn is_there(staying: &Staying) -> bool {
    matches!(staying.segment.next(), Next::NothingYet)
        && !matches!(staying.process.state(), State::Ended)
}

/// Keeps the worker for the session's next message; one that was kept before may end.
fn stay(staying: Staying) {
    staying.segment.keep();
    if let Some(Staying { process, segment }) = STAYING.replace(Some(staying)) {
        segment.give_back();
        segment.end();
        process.wake();
        segment.detach();
    }
}

/// Nobody waits for the answer any more, so that the worker is not to stay after it.
struct Unheard<'a>(&'a Segment);

impl Drop for Unheard<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Sends a message to a worker, and returns its answer. Errands with the same number `whose` take
/// turns; all who look for a free slot queue for it.
pub(crate) fn ask(errand: &Errand, whose: i64, message: &[u8]) -> Answered<Vec<u8>> {
    if is_in_recovery() {
        return Err(Unanswered::Standby);
    }
    let _turn = Turn::take(errand.turn, whose as u64);
    let segment = Segment::create(errand.work as u32, message)?;
    let unheard = Unheard(&segment);
    let staying = STAYING.take();
    let mut worker = None;
    if let Some(Staying { process, segment: before }) = staying {
        // from here on the resource owner detaches it, should this fail
        before.give_back();
        if before.go_on_with(&segment) {
            process.wake();
            wait(&process, &segment)?;
            worker = Some(process);
        }
        before.detach();
    }
    // one that has ended before it began has done nothing
    let process = match worker {
        Some(process) if segment.has_started() => process,
        _ => {
            let process = start(errand, &segment)?;
            wait(&process, &segment)?;
            process
        }
    };
    let answer = segment.take_answer().ok_or(Unanswered::Failed)?;
    std::mem::forget(unheard);
    stay(Staying { process, segment });
    Ok(answer)
}

fn start(errand: &Errand, segment: &Segment) -> Answered<Process> {
    let begin = Instant::now();
    let _turn = Turn::take(PrivateLock::WorkerSlot, 0);
    let deadline = (begin + errand.patience).max(Instant::now() + LAST_LOOK);
    loop {
        match Process::start(errand.work, segment) {
            Some(process) => return Ok(process),
            None if Instant::now() < deadline => {
                pgrx::check_for_interrupts!();
                std::thread::sleep(Duration::from_millis(5));
            }
            None => return Err(Unanswered::NoSlot),
        }
    }
}

/// Waits until the worker has answered or has ended, and ends it if it does not get into the
/// database.
fn wait(process: &Process, segment: &Segment) -> Result<()> {
    let begin = Instant::now();
    while !segment.has_answer() {
        let left = match segment.has_started() {
            true => LOOK,
            false => START_PATIENCE.saturating_sub(begin.elapsed()),
        };
        // one that begins in this moment is not to be ended: it would have begun to write
        if left.is_zero() && segment.withdraw() {
            process.end().map_err(|_| internal("the postmaster died"))?;
            segment.offer_again();
            return Ok(());
        }
        match process.state() {
            State::Runs | State::Starts => {
                sleep(left, pg_sys::WaitEventIPC::WAIT_EVENT_BGWORKER_SHUTDOWN)
            }
            State::Ended => break,
        }
    }
    Ok(())
}
