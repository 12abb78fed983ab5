//! PostgreSQL's temporary files: they lie in `temp_tablespaces`, count towards `temp_file_limit`,
//! and go with the transaction, also after an error.

use crate::counting::{BLOCK, Block, TemporaryFile};
use crate::pg::errors::{Result, error};
use pgrx::pg_sys::panic::ErrorReportable;
use pgrx::prelude::*;

/// A temporary file of this session.
pub(crate) struct BufferedFile(*mut pg_sys::BufFile);

impl TemporaryFile for BufferedFile {
    fn create() -> BufferedFile {
        // outlives the query whose rows are put aside; ends with a failed subtransaction
        // SAFETY: the caller's memory context is put back.
        unsafe {
            let caller = pg_sys::MemoryContextSwitchTo(pg_sys::CurTransactionContext);
            let file = pg_sys::BufFileCreateTemp(false);
            pg_sys::MemoryContextSwitchTo(caller);
            BufferedFile(file)
        }
    }

    fn write(&mut self, number: u32, block: &Block) {
        self.seek(number);
        // SAFETY: the file is open; the block is read, and nothing is written to it.
        unsafe { pg_sys::BufFileWrite(self.0, block.as_ptr().cast_mut().cast(), BLOCK) }
    }

    fn read(&mut self, number: u32, block: &mut Block) {
        self.seek(number);
        // SAFETY: the file is open; no more is written than there is room for.
        let read = unsafe { pg_sys::BufFileRead(self.0, block.as_mut_ptr().cast(), BLOCK) };
        whole(read == BLOCK).unwrap_or_report();
    }
}

const _: () =
    assert!(BLOCK == pg_sys::BLCKSZ as usize, "pg_dp needs a PostgreSQL with blocks of 8 kB");

impl BufferedFile {
    fn seek(&mut self, number: u32) {
        // SAFETY: the file is open; the block is within it, or the next one.
        let failed = unsafe { pg_sys::BufFileSeekBlock(self.0, number.into()) };
        whole(failed == 0).unwrap_or_report();
    }
}

/// Error: the system has lost what was written; rows are not to be counted without it.
fn whole(is_whole: bool) -> Result<()> {
    let lost =
        || error(PgSqlErrorCode::ERRCODE_IO_ERROR, "a temporary file of the release is lost");
    is_whole.then_some(()).ok_or_else(lost)
}

impl Drop for BufferedFile {
    fn drop(&mut self) {
        // while an error is on its way PostgreSQL itself closes the file
        if !std::thread::panicking() {
            // SAFETY: the file is open, and the value goes here.
            unsafe { pg_sys::BufFileClose(self.0) }
        }
    }
}
