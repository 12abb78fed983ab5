//! The extension: SQL values in, the mechanisms of the other modules, SQL values out.
//!
//! The SQL that declares these functions is written by hand, in `sql/`.

// pgrx raises an ErrorReport by value
#![allow(clippy::result_large_err)]
// the macro that declares table functions reads their row types in place
#![allow(clippy::type_complexity)]

mod accessors;
mod aggregates;
mod catalog;
mod dataset;
mod errors;
mod expanded;
mod hierarchy;
mod histogram;
mod ledger;
mod session;
mod source;
mod types;
mod worker;

pgrx::pg_module_magic!(name, version);
