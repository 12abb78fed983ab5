//! Values between SQL and Rust: the extension's types, and the arguments that are questions.

pub(super) mod expanded;
pub(super) mod interval;
pub(super) mod jsonb;
pub(super) mod types;
