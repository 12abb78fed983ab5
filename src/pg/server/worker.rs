//! A transaction of its own, whatever becomes of the caller's: a message to a dynamic background
//! worker and its answer.
//!
//! The worker commits before it answers, so an answer means that its work is durable. No answer
//! (no worker slot, a worker that died, a cancelled caller) means that the caller must not go on;
//! the work may have been done all the same. The message travels in a dynamic shared memory
//! segment: a worker's own extra data are too short.

use super::session::{PrivateLock, private_lock, sleep};
use crate::pg::errors::{Result, error, internal};
use pgrx::bgworkers::{
    BackgroundWorker, BackgroundWorkerBuilder, BackgroundWorkerStatus, DynamicBackgroundWorker,
};
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReportable;
use pgrx::prelude::*;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The longest answer in bytes.
const ANSWER_ROOM: usize = 1024;

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

/// The head of the segment; the message and room for the answer follow.
#[repr(C)]
struct Head {
    database: Oid,
    message_length: u32,
    /// 1 as soon as the worker's lock_timeout is set.
    started: AtomicU32,
    /// 0 until the worker has committed and written the answer.
    answer_length: AtomicU32,
}

/// Sends a message to a new worker and returns its answer.
///
/// Sessions that ask for one dataset take turns, so that they need one worker slot, not many, and
/// where another transaction holds the dataset, only releases from it wait. All who look for a
/// free slot queue for it. Errors: the server is a standby; no worker slot; the worker failed.
pub(crate) fn ask(dataset: i64, message: &[u8]) -> Result<Vec<u8>> {
    if unsafe { pg_sys::RecoveryInProgress() } {
        return Err(error(
            PgSqlErrorCode::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            "a standby server cannot charge a budget, so it cannot release",
        )
        .set_hint("Release on the primary; stored releases can be read here."));
    }
    let _turn = Turn::take(PrivateLock::Charge, dataset as u64);
    let segment = Segment::create(message)?;
    let worker = start(segment.handle())?;
    wait(worker, &segment)?;
    segment.answer().ok_or_else(|| {
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

fn start(segment: pg_sys::dsm_handle) -> Result<DynamicBackgroundWorker> {
    let begin = Instant::now();
    let _turn = Turn::take(PrivateLock::WorkerSlot, 0);
    let deadline = (begin + SLOT_PATIENCE).max(Instant::now() + LAST_LOOK);
    loop {
        let started = BackgroundWorkerBuilder::new("pg_dp ledger")
            .set_library("pg_dp")
            .set_function("pg_dp_worker_main")
            .enable_spi_access()
            .set_restart_time(None)
            .set_notify_pid(unsafe { pg_sys::MyProcPid })
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
    while !segment.started() {
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

/// A right that one session has at a time; the others queue for it.
///
/// A session-level lock, since it must not be held until the caller's transaction ends.
struct Turn(pg_sys::LOCKTAG);

impl Turn {
    fn take(kind: PrivateLock, key: u64) -> Turn {
        let tag = private_lock(kind, key);
        unsafe { pg_sys::LockAcquire(&tag, pg_sys::ExclusiveLock as i32, true, false) };
        Turn(tag)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        unsafe { pg_sys::LockRelease(&self.0, pg_sys::ExclusiveLock as i32, true) };
    }
}

/// The caller's side of the segment. If the caller fails, its resource owner detaches it.
struct Segment(*mut pg_sys::dsm_segment);

impl Segment {
    fn create(message: &[u8]) -> Result<Segment> {
        let message_length = u32::try_from(message.len()).map_err(internal)?;
        unsafe {
            let size = size_of::<Head>() + message.len() + ANSWER_ROOM;
            let segment = pg_sys::dsm_create(size, 0);
            let head = pg_sys::dsm_segment_address(segment).cast::<Head>();
            let database = pg_sys::MyDatabaseId;
            let (started, answer_length) = (AtomicU32::new(0), AtomicU32::new(0));
            head.write(Head { database, message_length, started, answer_length });
            let body = head.add(1).cast::<u8>();
            std::ptr::copy_nonoverlapping(message.as_ptr(), body, message.len());
            Ok(Segment(segment))
        }
    }

    fn handle(&self) -> pg_sys::dsm_handle {
        unsafe { pg_sys::dsm_segment_handle(self.0) }
    }

    fn started(&self) -> bool {
        let head = unsafe { &*pg_sys::dsm_segment_address(self.0).cast::<Head>() };
        head.started.load(Ordering::Acquire) != 0
    }

    fn answer(self) -> Option<Vec<u8>> {
        unsafe {
            let head = pg_sys::dsm_segment_address(self.0).cast::<Head>();
            let length = (*head).answer_length.load(Ordering::Acquire) as usize;
            let begin = head.add(1).cast::<u8>().add((*head).message_length as usize);
            let answer = std::slice::from_raw_parts(begin, length).to_vec();
            pg_sys::dsm_detach(self.0);
            (length > 0).then_some(answer)
        }
    }
}

unsafe extern "C-unwind" {
    /// PostgreSQL's handler of SIGTERM in sessions (tcop/tcopprot.h); pgrx only has it wrapped.
    fn die(signal: std::ffi::c_int);
}

/// The worker: does what the message says in one transaction, commits, answers.
///
/// Any error ends it without an answer.
#[pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pg_dp_worker_main(argument: pg_sys::Datum) {
    unsafe {
        // the server's own handler: pgrx's would leave pg_terminate_backend without effect
        #[cfg(not(feature = "pg18"))]
        pg_sys::pqsignal(pg_sys::SIGTERM as i32, Some(die));
        #[cfg(feature = "pg18")]
        pg_sys::pqsignal_be(pg_sys::SIGTERM as i32, Some(die));
        pg_sys::BackgroundWorkerUnblockSignals();

        pg_sys::CurrentResourceOwner =
            pg_sys::ResourceOwnerCreate(std::ptr::null_mut(), c"pg_dp ledger".as_ptr());
        let segment = pg_sys::dsm_attach(argument.value() as pg_sys::dsm_handle);
        if segment.is_null() {
            return; // the caller is gone
        }
        // the mapping outlives the transaction below
        pg_sys::dsm_pin_mapping(segment);
        let head = pg_sys::dsm_segment_address(segment).cast::<Head>();
        let body = head.add(1).cast::<u8>();
        let message = std::slice::from_raw_parts(body, (*head).message_length as usize).to_vec();

        BackgroundWorker::connect_worker_to_spi_by_oid(Some((*head).database), None);
        settle();
        (*head).started.store(1, Ordering::Release);
        // an error is raised inside, or the transaction would commit what was done before it
        let answer = BackgroundWorker::transaction(move || {
            crate::pg::ledger::charge::record(&message).unwrap_or_report()
        });
        if answer.len() <= ANSWER_ROOM {
            let room = body.add((*head).message_length as usize);
            std::ptr::copy_nonoverlapping(answer.as_ptr(), room, answer.len());
            (*head).answer_length.store(answer.len() as u32, Ordering::Release);
        }
    }
}

/// Settings that the charge relies on, whatever the database's or the role's defaults are.
fn settle() {
    for (name, value) in [
        (c"search_path", c"pg_catalog, pg_temp"),
        (c"default_transaction_isolation", c"read committed"),
        (c"default_transaction_read_only", c"off"),
        (c"lock_timeout", LOCK_TIMEOUT),
        // a charge that a crash could undo would be no charge
        (c"synchronous_commit", c"on"),
    ] {
        unsafe {
            pg_sys::SetConfigOption(
                name.as_ptr(),
                value.as_ptr(),
                pg_sys::GucContext::PGC_SUSET,
                pg_sys::GucSource::PGC_S_SESSION,
            );
        }
    }
}
