//! jsonb of a JSON text, byte for byte what PostgreSQL's `jsonb_in` makes of it. That one cannot be
//! cancelled, which takes seconds where there are millions of numbers, and holds a tree of them in
//! memory.
//!
//! The layout is that of values on disk, which `utils/jsonb.h` describes: a container is a header
//! with the number of its children, an entry for each with its type and length, then all children's
//! bytes. An object's children are all its keys, in ascending order of length and then of bytes,
//! and after them all its values.

use crate::pg::errors::error;
use crate::work::poll;
use pgrx::callconv::{BoxRet, FcInfo};
use pgrx::datum::Datum;
use pgrx::pg_sys::panic::ErrorReportable;
use pgrx::prelude::*;
use pgrx::{IntoDatum, direct_function_call_as_datum, varsize_any};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::ffi::CString;
use std::fmt;

/// How many children are read or written between two polls.
const POLL_EVERY: usize = 1 << 14;

/// Numbers and containers begin at multiples of it, counted from the begin of what they are in.
const ALIGNMENT: usize = 4;

/// The type of a child, or that with the number of its bytes: a `JEntry` of PostgreSQL's.
type Entry = u32;

/// The bytes of a jsonb without a varlena's header.
pub(crate) struct Jsonb(Vec<u8>);

impl Jsonb {
    /// Of an object or array in which no object has a key twice.
    ///
    /// Errors, by unwinding: more than PostgreSQL's 256 MiB in a container; cancellation.
    ///
    /// # Panics
    /// If the text is no such JSON.
    pub(crate) fn of_text(text: &str) -> Jsonb {
        let mut bytes = Vec::new();
        let mut reader = serde_json::Deserializer::from_str(text);
        let root = Value(&mut bytes).deserialize(&mut reader).expect("the text is JSON");
        assert_eq!(root, pg_sys::JENTRY_ISCONTAINER, "the text is an object or array");
        Jsonb(bytes)
    }
}

// SAFETY: the bytes are those of a jsonb, as a varlena.
unsafe impl BoxRet for Jsonb {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        match self.0.into_datum() {
            // SAFETY: a new value of the type that the function declares.
            Some(datum) => unsafe { fcinfo.return_raw_datum(datum) },
            None => fcinfo.return_null(),
        }
    }
}

/// Reads a value, appends its bytes and gives its type.
struct Value<'a>(&'a mut Vec<u8>);

impl Value<'_> {
    /// # Safety
    /// It is a numeric that PostgreSQL has made for the caller alone.
    unsafe fn numeric(self, value: pg_sys::Numeric) -> Entry {
        // SAFETY: the caller's promise; a varlena has as many bytes as its header says.
        unsafe {
            let length = varsize_any(value.cast());
            self.0.extend_from_slice(std::slice::from_raw_parts(value.cast(), length));
            pg_sys::pfree(value.cast()); // there are millions
        }
        pg_sys::JENTRY_ISNUMERIC
    }

    /// With as many decimals as it is written with: 1.0 has one.
    fn decimal(self, text: String) -> Entry {
        let text = CString::new(text).expect("a number has no zero byte");
        let arguments =
            [Some(text.as_ptr().into()), pg_sys::InvalidOid.into_datum(), (-1).into_datum()];
        // SAFETY: numeric_in takes a string that ends with a zero, a number that it does not use,
        // and a type modifier, and returns a numeric of its own.
        let made = unsafe { direct_function_call_as_datum(pg_sys::numeric_in, &arguments) };
        // SAFETY: as above.
        unsafe { self.numeric(made.expect("numeric_in returns a value").cast_mut_ptr()) }
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = Entry;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Entry, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JSON")
    }

    fn visit_unit<E>(self) -> Result<Entry, E> {
        Ok(pg_sys::JENTRY_ISNULL)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Entry, E> {
        Ok(if value { pg_sys::JENTRY_ISBOOL_TRUE } else { pg_sys::JENTRY_ISBOOL_FALSE })
    }

    fn visit_str<E>(self, value: &str) -> Result<Entry, E> {
        self.0.extend_from_slice(value.as_bytes());
        Ok(pg_sys::JENTRY_ISSTRING)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Entry, E> {
        // SAFETY: a numeric that is made here.
        Ok(unsafe { self.numeric(pg_sys::int64_to_numeric(value)) })
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Entry, E> {
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            Err(_) => Ok(self.decimal(value.to_string())),
        }
    }

    fn visit_f64<E>(self, value: f64) -> Result<Entry, E> {
        Ok(self.decimal(serde_json::json!(value).to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Entry, A::Error> {
        let (mut bytes, mut children) = (Vec::new(), Vec::new());
        loop {
            pause(children.len());
            let begin = bytes.len();
            let Some(kind) = elements.next_element_seed(Value(&mut bytes))? else { break };
            children.push(JsonChild::new(kind, begin, bytes.len()));
        }
        write_container(self.0, pg_sys::JB_FARRAY, children.len(), children.iter(), &bytes);
        Ok(pg_sys::JENTRY_ISCONTAINER)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Entry, A::Error> {
        let (mut bytes, mut children) = (Vec::new(), Vec::new());
        loop {
            pause(children.len());
            let begin = bytes.len();
            let Some(kind) = pairs.next_key_seed(Value(&mut bytes))? else { break };
            let key = JsonChild::new(kind, begin, bytes.len());
            let begin = bytes.len();
            let kind = pairs.next_value_seed(Value(&mut bytes))?;
            children.push((key, JsonChild::new(kind, begin, bytes.len())));
        }
        // fast where they are in order, as millions of sizes are
        children.sort_by_key(|(key, _)| (key.length(), key.bytes(&bytes)));
        let keys = children.iter().map(|(key, _)| key);
        let in_order = keys.chain(children.iter().map(|(_, value)| value));
        write_container(self.0, pg_sys::JB_FOBJECT, children.len(), in_order, &bytes);
        Ok(pg_sys::JENTRY_ISCONTAINER)
    }
}

/// Where a child's bytes are among those of its siblings.
struct JsonChild {
    begin: u32,
    /// With the length.
    entry: Entry,
}

impl JsonChild {
    fn new(kind: Entry, begin: usize, end: usize) -> JsonChild {
        let begin = checked_length(begin);
        JsonChild { begin, entry: kind | (checked_length(end) - begin) }
    }

    fn kind(&self) -> Entry {
        self.entry & pg_sys::JENTRY_TYPEMASK
    }

    fn length(&self) -> usize {
        (self.entry & pg_sys::JENTRY_OFFLENMASK) as usize
    }

    fn bytes<'a>(&self, siblings: &'a [u8]) -> &'a [u8] {
        &siblings[self.begin as usize..][..self.length()]
    }
}

/// Appends a container. `count`: of its elements or pairs.
fn write_container<'a>(
    out: &mut Vec<u8>,
    flag: u32,
    count: usize,
    children: impl Iterator<Item = &'a JsonChild> + Clone,
    siblings: &[u8],
) {
    let start = out.len();
    out.extend((flag | checked_length(count)).to_ne_bytes());
    let mut entry_at = out.len();
    out.resize(entry_at + size_of::<Entry>() * children.clone().count(), 0);
    let data = out.len();
    for (i, child) in children.enumerate() {
        pause(i);
        let before = out.len() - data;
        if matches!(child.kind(), pg_sys::JENTRY_ISNUMERIC | pg_sys::JENTRY_ISCONTAINER) {
            out.resize(start + (out.len() - start).next_multiple_of(ALIGNMENT), 0);
        }
        out.extend_from_slice(child.bytes(siblings));
        let after = out.len() - data;
        // every so often the end instead of the length
        let position = match i.is_multiple_of(pg_sys::JB_OFFSET_STRIDE as usize) {
            true => pg_sys::JENTRY_HAS_OFF | checked_length(after),
            false => checked_length(after) - before as u32,
        };
        out[entry_at..][..size_of::<Entry>()]
            .copy_from_slice(&(child.kind() | position).to_ne_bytes());
        entry_at += size_of::<Entry>();
    }
}

fn pause(children: usize) {
    if children.is_multiple_of(POLL_EVERY) {
        poll();
    }
}

/// A length or number as an entry or header holds it.
fn checked_length(length: usize) -> u32 {
    let most = pg_sys::JENTRY_OFFLENMASK;
    let length = u32::try_from(length).ok().filter(|length| *length <= most).ok_or_else(|| {
        error(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!("the jsonb would exceed the maximum of {most} bytes in an object or array"),
        )
    });
    length.unwrap_or_report()
}
