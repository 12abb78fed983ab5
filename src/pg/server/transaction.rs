//! Part of a transaction that is kept or undone as a whole.

use pgrx::prelude::*;

/// Runs `action`, which tells whether what it did is to be kept; if not, or if it fails, all that it
/// did in the database is undone. It must not be called with SPI connected.
pub(crate) fn all_or_nothing<T, E>(action: impl FnOnce() -> Result<(T, bool), E>) -> Result<T, E> {
    // SAFETY: what is begun is ended on each way out but a PostgreSQL error, which ends it together
    // with the transaction; context and owner are those of before, as each ending demands.
    unsafe {
        let (context, owner) = (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner);
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::MemoryContextSwitchTo(context);
        let outcome = action();
        if matches!(outcome, Ok((_, true))) {
            pg_sys::ReleaseCurrentSubTransaction();
        } else {
            pg_sys::RollbackAndReleaseCurrentSubTransaction();
        }
        pg_sys::MemoryContextSwitchTo(context);
        pg_sys::CurrentResourceOwner = owner;
        outcome.map(|(value, _)| value)
    }
}
