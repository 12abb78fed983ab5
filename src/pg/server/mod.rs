//! What PostgreSQL gives and what it takes: roles, settings, snapshots, locks, workers.

pub(super) mod locality;
pub(super) mod progress;
pub(super) mod session;
pub(super) mod surroundings;
pub(super) mod temporary_file;
pub(super) mod worker;
