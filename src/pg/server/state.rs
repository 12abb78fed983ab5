//! What PostgreSQL's global variables say of this process, its transaction and the server.

use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use std::ffi::{CStr, OsStr};
use std::fs::metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// A command of this session, told apart from all that it runs before or after: by when its statement
/// began, the transaction's number, and how many commands wrote in it before.
pub(super) type Command = (pg_sys::TimestampTz, u32, pg_sys::CommandId);

pub(super) fn own_command() -> Command {
    // SAFETY: reads variables of this process; that of the transaction is set as long as SQL runs.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        let transaction = (*pg_sys::MyProc).lxid;
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        let transaction = (*pg_sys::MyProc).vxid.lxid;
        let began = pg_sys::GetCurrentStatementStartTimestamp();
        (began, transaction, pg_sys::GetCurrentCommandId(false))
    }
}

/// The role in whose name the current statement runs.
pub(crate) fn current_role() -> Oid {
    // SAFETY: reads a variable of this process, which is set as long as SQL runs.
    unsafe { pg_sys::GetUserId() }
}

/// The database that this process is connected to.
pub(crate) fn current_database() -> Oid {
    // SAFETY: a variable that is set when a process starts; no other thread writes it.
    unsafe { pg_sys::MyDatabaseId }
}

pub(crate) fn own_process() -> i32 {
    // SAFETY: a variable that is set when a process starts; no other thread writes it.
    unsafe { pg_sys::MyProcPid }
}

/// Whether a process of this server has that number.
pub(super) fn is_running(process: i32) -> bool {
    // SAFETY: finds the process among those that run, in the way that is meant for it.
    unsafe { !pg_sys::BackendPidGetProc(process).is_null() }
}

/// Which server, timeline, database, installation and files this is: another one after a restore, a
/// promotion, in a copy, or where the extension was created anew. For a process that may write.
pub(crate) fn own_identity() -> String {
    // SAFETY: reads shared memory that every process has, in the way that is meant for it, and looks
    // the extension up. The timeline is that which is written now; the control file tells that of
    // the last checkpoint.
    unsafe {
        let server = pg_sys::GetSystemIdentifier();
        let timeline = pg_sys::GetWALInsertionTimeLine();
        let extension = pg_sys::get_extension_oid(c"pg_dp".as_ptr(), true).to_u32();
        let DatabaseFiles { database, of_server, of_database } = DatabaseFiles::own();
        format!("{server}/{timeline:08X}/{database}/{extension}/{of_server}.{of_database}")
    }
}

/// A database, and the files in which it and its server are: a copy of these has others.
pub(crate) struct DatabaseFiles {
    database: u32,
    of_server: String,
    of_database: String,
}

impl DatabaseFiles {
    pub(crate) fn own() -> DatabaseFiles {
        // SAFETY: variables that are set when a process starts, which no other thread writes; a path is a
        // string of its own, which ends with a zero.
        let folder = unsafe {
            let path = pg_sys::GetDatabasePath(pg_sys::MyDatabaseId, pg_sys::MyDatabaseTableSpace);
            let folder = CStr::from_ptr(path).to_bytes().to_vec();
            pg_sys::pfree(path.cast());
            folder
        };
        DatabaseFiles {
            database: current_database().to_u32(),
            of_server: file_identity(b"global/pg_control"),
            of_database: file_identity(&folder),
        }
    }

    /// In text, to be kept.
    pub(crate) fn text(&self) -> String {
        format!("{}/{}/{}", self.database, self.of_server, self.of_database)
    }

    /// Whether a text may be that of this database: it is not one's that this one was copied from on the
    /// same server. (A copy of the whole server has other files, too, and so has a standby.)
    pub(crate) fn may_be(&self, text: &str) -> bool {
        let mut parts = text.split('/');
        let mut next = || parts.next().unwrap_or_default();
        let (database, of_server, of_database) = (next(), next(), next());
        database == self.database.to_string()
            && (of_server != self.of_server || of_database == self.of_database)
    }
}

/// Of a file or folder in the data directory: its number, and when it was made where the file system
/// knows that. PostgreSQL writes both of these in place as long as there is the server, or the database.
fn file_identity(path: &[u8]) -> String {
    // SAFETY: a string that is set when the server starts, and ends with a zero.
    let data = unsafe { CStr::from_ptr(pg_sys::DataDir) }.to_bytes();
    let path = Path::new(OsStr::from_bytes(data)).join(OsStr::from_bytes(path));
    let Ok(file) = metadata(path) else { return "unknown".to_string() };
    let made = file.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    format!("{}-{}", file.ino(), made.map_or(0, |made| made.as_nanos()))
}

/// Whether the transaction may not write.
pub(crate) fn is_read_only() -> bool {
    // SAFETY: no other thread of this process writes it.
    unsafe { pg_sys::XactReadOnly }
}

/// Whether all statements of the transaction see what was committed before the first of them.
pub(crate) fn has_one_snapshot() -> bool {
    // SAFETY: no other thread of this process writes it.
    let level = unsafe { pg_sys::XactIsoLevel };
    level as u32 >= pg_sys::XACT_REPEATABLE_READ
}

pub(crate) fn is_serializable() -> bool {
    // SAFETY: no other thread of this process writes it.
    let level = unsafe { pg_sys::XactIsoLevel };
    level as u32 == pg_sys::XACT_SERIALIZABLE
}

/// Whether the server is a standby, or not yet up.
pub(crate) fn is_in_recovery() -> bool {
    // SAFETY: reads shared memory that every process has, in the way that is meant for it.
    unsafe { pg_sys::RecoveryInProgress() }
}

pub(crate) fn database_is_utf8() -> bool {
    // SAFETY: reads a variable of this process, set when it was connected to its database.
    let encoding = unsafe { pg_sys::GetDatabaseEncoding() };
    encoding as u32 == pg_sys::pg_enc::PG_UTF8
}

/// Whether rows that an old snapshot needs may be dropped after a while.
pub(crate) fn old_snapshots_expire() -> bool {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    {
        // SAFETY: a setting that only the server's start changes.
        unsafe { pg_sys::old_snapshot_threshold >= 0 }
    }
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    {
        false
    }
}

/// The bytes that a hash table of the executor's may take, by the settings in force.
pub(crate) fn hash_memory() -> usize {
    // SAFETY: computes with two settings; no other thread of this process writes them.
    unsafe { pg_sys::get_hash_memory_limit() }
}

/// As many workers as the session may have for one query.
pub(crate) fn workers_of_session() -> i32 {
    // SAFETY: a setting; no other thread of this process writes it.
    unsafe { pg_sys::max_parallel_workers_per_gather }
}

/// How deep the stack may get, in kB.
pub(super) fn stack_depth() -> i32 {
    // SAFETY: a setting; no other thread of this process writes it.
    unsafe { pg_sys::max_stack_depth }
}
