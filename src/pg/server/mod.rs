//! What PostgreSQL gives to every function of the extension, behind safe functions: roles,
//! settings, snapshots and queries of our own, locks, relations as its catalog describes them, rows
//! that are returned or written many at a time, temporary files, the progress that it shows, and
//! workers, which commit whatever becomes of the caller.
//!
//! Nothing here knows what a release is, but for what would make one tell more than it should:
//! where its tables lie (`locality`), and what the session and the server are like
//! (`surroundings`).

pub(super) mod catalog;
pub(super) mod clock;
pub(super) mod interrupts;
pub(super) mod locality;
pub(super) mod locks;
pub(super) mod progress;
pub(super) mod relations;
pub(super) mod returned_rows;
pub(super) mod roles;
mod segment;
pub(super) mod select;
pub(super) mod settings;
pub(super) mod state;
pub(super) mod surroundings;
pub(super) mod table_writer;
pub(super) mod temporary_file;
pub(super) mod transaction;
pub(super) mod worker;
