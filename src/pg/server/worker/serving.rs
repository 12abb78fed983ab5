//! The worker's side.

use super::work::Work;
use crate::pg::errors::Result;
use crate::pg::server::locks::{PrivateLock, is_taken, sleep, wake};
use crate::pg::server::segment::{Next, Segment};
use crate::pg::server::settings::set;
use crate::pg::server::state::is_running;
use pgrx::bgworkers::BackgroundWorker;
use pgrx::pg_sys::panic::ErrorReportable;
use pgrx::prelude::*;
use std::ffi::CStr;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

/// How long a worker stays for a session that does not ask again. It holds a slot meanwhile, and who
/// drops the database waits for it.
const STAY: Duration = Duration::from_secs(1);

/// How long it sleeps at most before it looks whether its slot is wanted: the session wakes it.
const LOOK: Duration = Duration::from_millis(50);

/// How long the worker waits for a lock that another transaction holds. The caller waits for the
/// worker, which no deadlock detector sees, so this has to end by itself.
const LOCK_TIMEOUT: &CStr = c"5s";

unsafe extern "C-unwind" {
    // PostgreSQL's handlers of SIGTERM (tcop/tcopprot.h) and SIGHUP (postmaster/interrupt.h) in
    // sessions; pgrx only has them wrapped.
    fn die(signal: std::ffi::c_int);
    fn SignalHandlerForConfigReload(signal: std::ffi::c_int);
}

/// What a worker answers a message.
pub(crate) struct Answer {
    pub(crate) bytes: Vec<u8>,
    /// What follows, in a transaction of its own: it may fail, and nothing else would with it.
    pub(crate) afterwards: Option<Afterwards>,
}

pub(crate) type Afterwards = Box<dyn FnOnce() -> Result<()>>;

type Answering = fn(Work, &[u8]) -> Result<Answer>;

/// What a worker's function does: it answers the message in one transaction, and commits before the
/// answer is given; then it may stay for another message. `argument`: the function's.
///
/// Any error ends it; there is no answer if it comes before the commit.
pub(crate) fn serve(argument: pg_sys::Datum, answer: Answering) {
    take_signals();
    let mut next = Segment::attach(argument.value() as pg_sys::dsm_handle).unwrap_or_report();
    let Some(first) = &next else {
        return; // the caller is gone
    };
    BackgroundWorker::connect_worker_to_spi_by_oid(Some(first.database()), None);
    settle();
    while let Some(segment) = next {
        // the first message of one that was started early is in the next segment
        if !segment.message().is_empty() && answer_one(&segment, answer).is_none() {
            return;
        }
        next = wait_for_next(&segment);
        segment.detach();
    }
}

/// None if there is no answer: the work is unknown, its message withdrawn, or what was committed may
/// not last.
fn answer_one(segment: &Segment, answer: Answering) -> Option<()> {
    let work = Work::ALL.into_iter().find(|work| *work as u32 == segment.work())?;
    set(c"application_name", work.name());
    if !segment.start() {
        return None;
    }
    // an error is raised inside, or the transaction would commit what was done before it
    let message = segment.message();
    let Answer { bytes, afterwards } = BackgroundWorker::transaction(|| {
        let answer = answer(work, message).unwrap_or_report();
        if !segment.has_room(&answer.bytes) {
            pgrx::error!("pg_dp: there is no room for the answer");
        }
        answer
    });
    // A worker that is to end, or whose postmaster is gone, waits for a synchronous standby no further,
    // and commits: if the standby takes over, that is lost.
    // SAFETY: reads a flag of this process.
    if unsafe { pg_sys::ProcDiePending } != 0 {
        return None;
    }
    segment.put_answer(&bytes);
    if let Some(afterwards) = afterwards {
        BackgroundWorker::transaction(AssertUnwindSafe(|| afterwards().unwrap_or_report()));
    }
    // it looks by itself where that takes long
    wake(segment.caller());
    Some(())
}

/// The next segment, if the session has one in time. No transaction is open, and no lock held.
fn wait_for_next(segment: &Segment) -> Option<Segment> {
    let begin = Instant::now();
    loop {
        match segment.next() {
            Next::Message(handle) => {
                let next = Segment::attach(handle).unwrap_or_report();
                // one that was there before may have got the number of one that is gone
                return next.filter(|next| {
                    (next.caller(), next.database()) == (segment.caller(), segment.database())
                });
            }
            Next::NothingMore => return None,
            Next::NothingYet if begin.elapsed() < STAY && !is_wanted_elsewhere(segment) => {
                sleep(LOOK, pg_sys::PG_WAIT_EXTENSION);
                heed_settings();
            }
            Next::NothingYet => _ = segment.end(), // unless one has come just now
        }
    }
}

/// Whether the slot would do others good, or does this session none.
fn is_wanted_elsewhere(segment: &Segment) -> bool {
    is_taken(PrivateLock::WorkerSlot, 0) || !is_running(segment.caller())
}

/// Follows changes of the server's settings, as a session does between its commands.
fn heed_settings() {
    // SAFETY: the handler of the signal sets the flag, which is this process's own; no transaction
    // is open.
    unsafe {
        if pg_sys::ConfigReloadPending != 0 {
            pg_sys::ConfigReloadPending = 0;
            pg_sys::ProcessConfigFile(pg_sys::GucContext::PGC_SIGHUP);
        }
    }
}

/// What PostgreSQL leaves to a worker: to handle signals, and to own what outlives a transaction.
fn take_signals() {
    // SAFETY: a worker does so once, when it starts. The handler is the server's own: pgrx's would
    // leave pg_terminate_backend without effect.
    unsafe {
        #[cfg(not(feature = "pg18"))]
        use pg_sys::pqsignal;
        #[cfg(feature = "pg18")]
        use pg_sys::pqsignal_be as pqsignal;
        pqsignal(pg_sys::SIGTERM as i32, Some(die));
        pqsignal(pg_sys::SIGHUP as i32, Some(SignalHandlerForConfigReload));
        pg_sys::BackgroundWorkerUnblockSignals();
        pg_sys::CurrentResourceOwner =
            pg_sys::ResourceOwnerCreate(std::ptr::null_mut(), c"pg_dp".as_ptr());
    }
}

/// Settings that the work relies on, whatever the database's or the role's defaults are.
fn settle() {
    // what ALTER DATABASE ... SET role has made it
    set(c"role", c"none");
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
