//! pg_dp: differentially private statistics released from inside PostgreSQL.
//!
//! Rooms depend downwards only:
//!
//! - [`work`]: long work counts what it does, so that it can be cancelled; [`noise`]: exact
//!   samplers.
//! - [`privacy`]: epsilon, and how losses add up.
//! - [`charge`]: what a release costs, and the receipts without which nothing private is read and
//!   no noise is drawn.
//! - [`fit`]: least squares and medians under constraints.
//! - [`coco`]: one histogram of group sizes, and how it is estimated; [`counting`]: how rows are
//!   counted into histograms; [`hierarchy`]: those of all regions of a tree together.
//! - [`ranges`]: sums over ranges of bins; [`bounds`]: largest amounts, sizes and numbers of rows
//!   that the data choose.
//! - `pg`: the extension. All else knows nothing of PostgreSQL and builds without it.

// `pub` in a private module says of something that it is an interface, which it is not; a program,
// for which cargo's own lint table would hold, too, has none
#![warn(unreachable_pub)]
// what a user can send never panics; an error says what is wrong and what to do
#![cfg_attr(not(test), warn(clippy::unwrap_used))]
// the order of a hash table differs from run to run: nothing that is released may follow it
#![warn(clippy::iter_over_hash_type)]

pub mod bounds;
pub mod charge;
pub mod coco;
pub mod counting;
mod fit;
pub mod hierarchy;
pub mod noise;
pub mod path;
pub mod privacy;
pub mod ranges;
pub mod work;

#[cfg(feature = "pgrx")]
pub mod pg;
