//! PostgreSQL's temporary files: they lie in `temp_tablespaces`, count towards `temp_file_limit`,
//! and go with the transaction, also after an error.

use crate::counting::TemporaryFile;
use pgrx::prelude::*;
use std::ffi::c_int;

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

    fn write(&mut self, bytes: &[u8]) {
        // SAFETY: the file is open; so many bytes are read, and none is written.
        unsafe { pg_sys::BufFileWrite(self.0, bytes.as_ptr().cast_mut().cast(), bytes.len()) }
    }

    fn rewind(&mut self) {
        const SEEK_SET: c_int = 0;
        // SAFETY: the file is open; its begin is always within it.
        unsafe { pg_sys::BufFileSeek(self.0, 0, 0, SEEK_SET) };
    }

    fn read(&mut self, buffer: &mut [u8]) -> usize {
        // SAFETY: the file is open; at most so many bytes are written.
        unsafe { pg_sys::BufFileRead(self.0, buffer.as_mut_ptr().cast(), buffer.len()) }
    }

    /// One block of PostgreSQL's, and what describes the file.
    const BYTES: usize = pg_sys::BLCKSZ as usize + 256;
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
