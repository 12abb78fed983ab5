//! The checksum of a stored release's rows.

use crate::pg::errors::{Result, internal};
use crate::pg::values::running::{Aggregation, Running};
use pgrx::prelude::*;
use sha2::{Digest, Sha256};

/// The transition function of `dp.sha256_of_lines(line)`: PostgreSQL's `sha256` takes a value of 1 GiB at
/// most, and a release can have more lines than go into it.
#[pg_extern(immutable, parallel_safe)]
fn lines_add(
    mut state: Running<Sha256>,
    line: Option<&str>,
    aggregation: Aggregation,
) -> Result<Running<Sha256>> {
    if state.state().is_none() {
        let lifetime = aggregation
            .lifetime()
            .ok_or_else(|| internal("a transition function was called outside of its aggregate"))?;
        state = Running::start(lifetime, Sha256::new());
    }
    if let (Some(hash), Some(line)) = (state.state(), line) {
        hash.update(line);
        hash.update("\n");
    }
    Ok(state)
}

/// Its final function: in hexadecimal digits.
#[pg_extern(immutable, parallel_safe)]
fn lines_sha256(mut state: Running<Sha256>) -> String {
    let hash = state.state().cloned().unwrap_or_default();
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
