//! Releases as JSON: text that may be long.

use crate::work::done;
use serde::de::DeserializeOwned;
use std::io::{BufReader, Read};

/// The bytes of a text that are read at a time.
const PIECE: usize = 1 << 16;

/// A text in pieces, each of which counts as work.
struct Pieces<'a> {
    rest: &'a [u8],
}

impl Read for Pieces<'_> {
    fn read(&mut self, piece: &mut [u8]) -> std::io::Result<usize> {
        let read = self.rest.read(piece)?;
        done(read as u64);
        Ok(read)
    }
}

/// What a text is the JSON of; None if it is not.
pub(super) fn read_json<T: DeserializeOwned>(text: &str) -> Option<T> {
    let pieces = Pieces { rest: text.as_bytes() };
    serde_json::from_reader(BufReader::with_capacity(PIECE, pieces)).ok()
}
