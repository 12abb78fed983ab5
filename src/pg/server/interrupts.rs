//! Cancelling: long work of this process asks PostgreSQL now and then whether it shall end.

use crate::work::watch_always;

/// Lets all work of this process be cancelled: it unwinds then.
pub(crate) fn watch_for_interrupts() {
    watch_always(|| {
        pgrx::check_for_interrupts!();
    });
}
