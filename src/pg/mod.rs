//! The extension: SQL values in, the mechanisms of the other modules, SQL values out.
//!
//! The SQL that declares these functions is written by hand, in `sql/`.

// pgrx raises an ErrorReport by value
#![allow(clippy::result_large_err)]
// the macro that declares table functions reads their row types in place
#![allow(clippy::type_complexity)]

mod dataset;
mod errors;
mod functions;
mod ledger;
mod release;
mod server;
mod values;

pgrx::pg_module_magic!(name, version);

/// Called by PostgreSQL when it loads the library.
#[pgrx::pg_guard]
pub extern "C-unwind" fn _PG_init() {
    // backtraces would get into the DETAIL of errors, which clients see
    for variable in ["RUST_BACKTRACE", "RUST_LIB_BACKTRACE"] {
        // SAFETY: no other thread runs yet.
        unsafe { std::env::remove_var(variable) };
    }
    server::settings::define_settings();
    server::interrupts::watch_for_interrupts();
}
