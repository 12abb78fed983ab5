//! Locks that no SQL function can take, so that nobody can block releases with
//! them: pg_advisory_lock and its relatives use the kinds 1 and 2. And waiting.

use super::state::current_database;
use pgrx::prelude::*;
use std::ffi::c_long;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// How long to wait for a name that another transaction is about to give, which may be idle: as
/// long as the ledger's worker waits for a lock.
const NAME_PATIENCE: Duration = Duration::from_secs(5);

const EXCLUSIVE: pg_sys::LOCKMODE = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;
const SHARE: pg_sys::LOCKMODE = pg_sys::ShareLock as pg_sys::LOCKMODE;

/// What the extension takes locks on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PrivateLock {
    /// The right to have a worker charge a dataset.
    Charge = 0xd8,
    /// The right to look for a free worker slot.
    WorkerSlot = 0xd9,
    /// The right to make the release of a dataset that has a name.
    ReleaseName = 0xda,
    /// The name of a dataset.
    DatasetName = 0xdb,
    /// The right to have a worker store a release of a dataset.
    Store = 0xdc,
    /// The end of the ledger, to which entries are added.
    Ledger = 0xdd,
}

impl PrivateLock {
    fn tag(self, key: u64) -> pg_sys::LOCKTAG {
        // all databases share the slots
        let database = match self {
            PrivateLock::WorkerSlot => pg_sys::Oid::INVALID,
            _ => current_database(),
        };
        pg_sys::LOCKTAG {
            locktag_field1: database.to_u32(),
            locktag_field2: (key >> 32) as u32,
            locktag_field3: key as u32,
            locktag_field4: self as u16,
            locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
            locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
        }
    }
}

/// A right that one session has at a time; the others queue for it. It must not be held until the
/// caller's transaction ends, and is given back before.
///
/// Not a lock of the session's all the same: one that is granted just when its wait is cancelled
/// is nobody's value, and only the end of a transaction would give it back.
pub(crate) struct Turn {
    tag: pg_sys::LOCKTAG,
    owner: pg_sys::ResourceOwner,
}

impl Turn {
    pub(super) fn take(kind: PrivateLock, key: u64) -> Turn {
        let tag = kind.tag(key);
        // SAFETY: copies the tag. The lock is the current owner's, which outlives what it calls.
        let owner = unsafe {
            pg_sys::LockAcquire(&tag, EXCLUSIVE, false, false);
            pg_sys::CurrentResourceOwner
        };
        Turn { tag, owner }
    }

    /// A turn with a name. Who has it must not wait for a client meanwhile: others queue for as
    /// long as their settings and the deadlock detector let them.
    pub(crate) fn take_name(kind: PrivateLock, name: impl Hash) -> Turn {
        Turn::take(kind, key(name))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // SAFETY: the lock was taken when the value was made, by an owner that is there until the
        // command ends or has failed, and is given back once. An error may have struck while
        // another owner was the current one.
        unsafe {
            let current = pg_sys::CurrentResourceOwner;
            pg_sys::CurrentResourceOwner = self.owner;
            pg_sys::LockRelease(&self.tag, EXCLUSIVE, false);
            pg_sys::CurrentResourceOwner = current;
        }
    }
}

/// Whether a session has such a right, or waits for it.
pub(super) fn is_taken(kind: PrivateLock, key: u64) -> bool {
    let tag = kind.tag(key);
    // SAFETY: copies the tag. What is locked is given back at once; who looks at the same time does
    // not count.
    unsafe {
        let outcome = pg_sys::LockAcquire(&tag, SHARE, true, true);
        let is_taken = outcome == pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL;
        if !is_taken {
            pg_sys::LockRelease(&tag, SHARE, true);
        }
        is_taken
    }
}

/// Names that share a key wait for each other, too: no harm.
fn key(name: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// Takes the right to give a name, until the end of the transaction. False if another transaction
/// that has it does not end in time.
///
/// It does not queue for the lock: how long that may take is a setting of the caller's.
pub(crate) fn lock_name(kind: PrivateLock, name: impl Hash) -> bool {
    let tag = kind.tag(key(name));
    let begin = Instant::now();
    loop {
        // SAFETY: copies the tag; the end of the transaction gives the lock back.
        let outcome = unsafe { pg_sys::LockAcquire(&tag, EXCLUSIVE, false, true) };
        if outcome != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL {
            return true;
        }
        if begin.elapsed() >= NAME_PATIENCE {
            return false;
        }
        let reason = pg_sys::PG_WAIT_LOCK | pg_sys::LockTagType::LOCKTAG_ADVISORY;
        sleep(Duration::from_millis(10), reason);
    }
}

/// Takes a lock until the end of the transaction, and waits for it as `lock_timeout` says. It is
/// no lock of a table's: any role may take those that an `INSERT` takes, by preparing one that it
/// may not carry out.
pub(crate) fn lock_until_end(kind: PrivateLock) {
    let tag = kind.tag(0);
    // SAFETY: copies the tag; the end of the transaction gives the lock back.
    unsafe { pg_sys::LockAcquire(&tag, EXCLUSIVE, false, false) };
}

/// Waits a little for what another transaction has locked.
pub(crate) fn sleep_a_moment() {
    let reason = pg_sys::PG_WAIT_LOCK | pg_sys::LockTagType::LOCKTAG_TUPLE;
    sleep(Duration::from_millis(20), reason);
}

/// Waits until this process's latch is set, as a change of a worker's state does, or so long.
/// `pg_stat_activity` shows the reason.
pub(super) fn sleep(longest: Duration, reason: u32) {
    pgrx::check_for_interrupts!();
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    let milliseconds = longest.as_millis() as c_long;
    // SAFETY: the latch is this process's own, set up when it started.
    unsafe {
        pg_sys::WaitLatch(pg_sys::MyLatch, events as i32, milliseconds, reason);
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
}

/// Sets the latch of a process of this server, if there is one.
pub(super) fn wake(process: i32) {
    // SAFETY: finds the process among those that run. Latches of processes lie in shared memory for
    // as long as the server runs; who is woken in vain looks and waits on.
    unsafe {
        if let Some(process) = pg_sys::BackendPidGetProc(process).as_mut() {
            pg_sys::SetLatch(&mut process.procLatch);
        }
    }
}
