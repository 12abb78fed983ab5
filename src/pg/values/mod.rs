//! Values between SQL and Rust: the extension's types (`types`) with what they are written as
//! (`stored`, `jsonb`, `jsonb_argument`), the states of aggregates (`expanded`, `running`), questions as users write
//! them (`interval`), bounds (`bound`), amounts and where they are read from (`amounts`, `numeric`), and
//! the bytes behind a datum (`varlena`).

pub(super) mod amounts;
pub(super) mod bound;
pub(super) mod expanded;
pub(super) mod interval;
mod jsonb;
pub(super) mod jsonb_argument;
mod numeric;
pub(super) mod path;
pub(super) mod running;
pub(super) mod stored;
mod types;
pub(super) mod varlena;
