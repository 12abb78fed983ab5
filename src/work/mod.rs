//! Long work: how it is cancelled, and how threads share it.

mod helper;
mod pace;
mod threads;

pub use helper::Helper;
pub use pace::{Paced, PacedIter, apart, done, poll, watch_always, watched};
pub use threads::{share, share_and_tell};
