//! A segment of dynamic shared memory, by which a session sends a worker a message and gets an
//! answer. A worker's own extra data are too short for that.

use super::state::{current_database, own_process};
use crate::pg::errors::{Result, internal};
use pgrx::pg_sys::{self, Oid};
use std::slice;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The longest answer in bytes, to so long a message: to one that asks for much it may be longer, to
/// one that brings much it need not be.
fn answer_room(message: usize) -> usize {
    1024 + message.min(1 << 16)
}

/// The version of the library that wrote a segment. A session keeps the library that it began with,
/// a new worker has the one that is installed, and what they mean by the bytes may differ.
const WRITER: [u8; 16] = {
    let (version, mut writer, mut index) = (env!("CARGO_PKG_VERSION").as_bytes(), [0; 16], 0);
    while index < version.len() {
        writer[index] = version[index];
        index += 1;
    }
    writer
};

/// What the segment begins with; the message and room for the answer follow.
#[repr(C)]
struct Head {
    writer: [u8; 16],
    database: Oid,
    /// The session's process.
    caller: i32,
    /// What the message is for.
    work: u32,
    message_length: u64,
    /// [`OFFERED`], until the worker begins or the session withdraws it.
    started: AtomicU32,
    /// 0 until the worker has written the answer.
    answer_length: AtomicU32,
    /// [`NOTHING_YET`], until the first of the two says what comes next: the session its next
    /// segment or [`NOTHING_MORE`], the worker, if it has waited long enough, the latter.
    next: AtomicU64,
}

const OFFERED: u32 = 0;
const STARTED: u32 = 1;
const WITHDRAWN: u32 = 2;

const NOTHING_YET: u64 = 0;
/// No segment: their handles have 32 bits.
const NOTHING_MORE: u64 = u64::MAX;

/// What a worker that stays is told.
pub(super) enum Next {
    NothingYet,
    NothingMore,
    Message(pg_sys::dsm_handle),
}

/// A segment that this process has mapped, laid out as [`Head`] says.
///
/// If the process fails, its resource owner detaches it, unless it is kept.
pub(super) struct Segment(*mut pg_sys::dsm_segment);

impl Segment {
    /// A new one with a message, mapped until the resource owner ends.
    pub(super) fn create(work: u32, message: &[u8]) -> Result<Segment> {
        let size = size_of::<Head>() + message.len() + answer_room(message.len());
        let head = Head {
            writer: WRITER,
            database: current_database(),
            caller: own_process(),
            work,
            message_length: message.len() as u64,
            started: AtomicU32::new(OFFERED),
            answer_length: AtomicU32::new(0),
            next: AtomicU64::new(NOTHING_YET),
        };
        // SAFETY: nobody else knows the segment yet. It has room for the head, for which it is
        // aligned, and for the message after it.
        unsafe {
            let segment = Segment(pg_sys::dsm_create(size, 0));
            segment.begin().write(head);
            let body = segment.begin().add(1).cast::<u8>();
            std::ptr::copy_nonoverlapping(message.as_ptr(), body, message.len());
            Ok(segment)
        }
    }

    /// One that another process has created, mapped until this process ends; None if it is gone.
    ///
    /// Error: another version of the library wrote it.
    pub(super) fn attach(handle: pg_sys::dsm_handle) -> Result<Option<Segment>> {
        // SAFETY: any number may be looked for; what is found is mapped, and pinned once.
        let segment = unsafe {
            let segment = pg_sys::dsm_attach(handle);
            if segment.is_null() {
                return Ok(None);
            }
            pg_sys::dsm_pin_mapping(segment);
            Segment(segment)
        };
        // SAFETY: a segment is longer than that, whoever wrote it, and any bytes are such ones.
        if unsafe { segment.begin().cast::<[u8; 16]>().read() } != WRITER {
            return Err(internal(
                "a session from before another version was installed; it has to connect again",
            ));
        }
        Ok(Some(segment))
    }

    /// What [`Segment::attach`] finds it by.
    pub(super) fn handle(&self) -> pg_sys::dsm_handle {
        // SAFETY: the segment is mapped.
        unsafe { pg_sys::dsm_segment_handle(self.0) }
    }

    fn begin(&self) -> *mut Head {
        // SAFETY: the segment is mapped.
        unsafe { pg_sys::dsm_segment_address(self.0) }.cast()
    }

    fn head(&self) -> &Head {
        // SAFETY: the segment begins with a head, of which after its creation only the atomic
        // fields change, and is mapped for as long as the value lives.
        unsafe { &*self.begin() }
    }

    /// The database of the session that created it.
    pub(super) fn database(&self) -> Oid {
        self.head().database
    }

    /// The process of that session.
    pub(super) fn caller(&self) -> i32 {
        self.head().caller
    }

    pub(super) fn work(&self) -> u32 {
        self.head().work
    }

    pub(super) fn message(&self) -> &[u8] {
        let length = self.head().message_length as usize;
        // SAFETY: so many bytes follow the head, and do not change after the segment's creation.
        unsafe { slice::from_raw_parts(self.begin().add(1).cast(), length) }
    }

    fn answer(&self) -> *mut u8 {
        // SAFETY: the room follows the message within the segment.
        unsafe { self.begin().add(1).cast::<u8>().add(self.head().message_length as usize) }
    }

    /// The worker begins. False if the message is withdrawn.
    pub(super) fn start(&self) -> bool {
        self.exchange_started(OFFERED, STARTED)
    }

    pub(super) fn has_started(&self) -> bool {
        self.head().started.load(Ordering::Acquire) == STARTED
    }

    /// No worker is to begin any more. False if one has.
    pub(super) fn withdraw(&self) -> bool {
        self.exchange_started(OFFERED, WITHDRAWN)
    }

    /// Another worker may begin.
    pub(super) fn offer_again(&self) {
        self.exchange_started(WITHDRAWN, OFFERED);
    }

    fn exchange_started(&self, from: u32, to: u32) -> bool {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        self.head().started.compare_exchange(from, to, success, failure).is_ok()
    }

    /// Whether there is room for an answer. One that there is no room for cannot be given, so that
    /// what it answers must not be done.
    pub(super) fn has_room(&self, answer: &[u8]) -> bool {
        answer.len() <= answer_room(self.head().message_length as usize)
    }

    /// Answers, if there is room.
    pub(super) fn put_answer(&self, answer: &[u8]) {
        if self.has_room(answer) {
            // SAFETY: there is room, which the other process reads only once the length is set.
            unsafe {
                std::ptr::copy_nonoverlapping(answer.as_ptr(), self.answer(), answer.len());
            }
            self.head().answer_length.store(answer.len() as u32, Ordering::Release);
        }
    }

    /// The answer, if the worker has given one.
    pub(super) fn take_answer(&self) -> Option<Vec<u8>> {
        let length = self.head().answer_length.load(Ordering::Acquire) as usize;
        // SAFETY: once the length is set, so many bytes are written and do not change any more.
        (length > 0).then(|| unsafe { slice::from_raw_parts(self.answer(), length) }.to_vec())
    }

    pub(super) fn has_answer(&self) -> bool {
        self.head().answer_length.load(Ordering::Acquire) != 0
    }

    /// What the worker is to do when it has answered.
    pub(super) fn next(&self) -> Next {
        match self.head().next.load(Ordering::Acquire) {
            NOTHING_YET => Next::NothingYet,
            NOTHING_MORE => Next::NothingMore,
            handle => Next::Message(handle as pg_sys::dsm_handle),
        }
    }

    /// Has the worker take up another segment's message next. False if it does not wait any more.
    pub(super) fn go_on_with(&self, next: &Segment) -> bool {
        self.settle_next(next.handle().into())
    }

    /// Nothing follows. False if something does.
    pub(super) fn end(&self) -> bool {
        self.settle_next(NOTHING_MORE)
    }

    fn settle_next(&self, next: u64) -> bool {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        self.head().next.compare_exchange(NOTHING_YET, next, success, failure).is_ok()
    }

    /// Has it stay mapped until this process ends, whatever becomes of what it does now.
    pub(super) fn keep(&self) {
        // SAFETY: the segment is mapped, and the resource owner's.
        unsafe { pg_sys::dsm_pin_mapping(self.0) };
    }

    /// Gives one that was kept to the resource owner of now.
    pub(super) fn give_back(&self) {
        // SAFETY: the segment is mapped, and kept.
        unsafe { pg_sys::dsm_unpin_mapping(self.0) };
    }

    pub(super) fn detach(self) {
        // SAFETY: the segment is mapped, and the value goes here.
        unsafe { pg_sys::dsm_detach(self.0) };
    }
}
