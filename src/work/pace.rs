//! Long work that can be cancelled: algorithms count what they do, and whoever waits for them is
//! asked every few milliseconds.
//!
//! An algorithm knows nothing of who that is. It calls [`done`] as it goes, or runs through
//! [`Paced::paced`]; a caller who wants to be asked says so around the call, with [`watched`], or
//! for all work of a thread, with [`watch_always`]. A watcher that wants the work to end unwinds.

use std::cell::Cell;
use std::ptr::null;

/// The work between two polls, in units of some 20 nanoseconds, the time for a draw of noise.
const UNITS_PER_POLL: u64 = 1 << 16;

/// The items of [`Paced`] that are counted at a time; each is a unit.
const ITEMS_AT_A_TIME: u32 = 1 << 12;

thread_local! {
    /// Until the next poll.
    static UNITS_LEFT: Cell<u64> = const { Cell::new(UNITS_PER_POLL) };
    static INNERMOST: Cell<*const Watcher> = const { Cell::new(null()) };
    static ALWAYS: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// Someone who is asked while a call of [`watched`] lasts, on its stack.
struct Watcher {
    ask: *mut (dyn FnMut() + 'static),
    outer: *const Watcher,
}

/// Counts work; now and then it [polls](poll), and then it may unwind.
pub fn done(units: u64) {
    match UNITS_LEFT.get().checked_sub(units) {
        Some(left) => UNITS_LEFT.set(left),
        None => poll(),
    }
}

/// Asks whoever watches this thread, from the innermost watcher outwards; for steps that take a
/// millisecond or more. May unwind.
pub fn poll() {
    UNITS_LEFT.set(UNITS_PER_POLL);
    // a watcher that works itself is not asked meanwhile
    let asking = Innermost::replaced_by(null());
    let mut next = asking.before;
    // SAFETY: each watcher lies on this thread's stack, below this call, for as long as it is in
    // the list.
    while let Some(watcher) = unsafe { next.as_ref() } {
        // SAFETY: its closure is borrowed mutably by that call of `watched` alone, which does not
        // use it, and by nobody else here, as the list is empty meanwhile.
        unsafe { (*watcher.ask)() };
        next = watcher.outer;
    }
    if let Some(ask) = ALWAYS.get() {
        ask();
    }
}

/// Runs `action`, whose polls on this thread ask `ask`.
pub fn watched<T>(ask: &mut dyn FnMut(), action: impl FnOnce() -> T) -> T {
    let ask: *mut (dyn FnMut() + '_) = ask;
    // SAFETY: the types differ by a lifetime only; the watcher is out of the list before it ends.
    let ask = unsafe { std::mem::transmute::<*mut (dyn FnMut() + '_), *mut dyn FnMut()>(ask) };
    let watcher = Watcher { ask, outer: INNERMOST.get() };
    let _inside = Innermost::replaced_by(&watcher);
    action()
}

/// Runs `action` as if nothing had been counted before it, and leaves nothing counted behind, also
/// on unwinding: where later polls of this thread fall tells nothing of what `action` did.
pub fn apart<T>(action: impl FnOnce() -> T) -> T {
    struct Forget;
    impl Drop for Forget {
        fn drop(&mut self) {
            UNITS_LEFT.set(UNITS_PER_POLL);
        }
    }
    UNITS_LEFT.set(UNITS_PER_POLL);
    let _forget = Forget;
    action()
}

/// Makes all polls on this thread ask `ask`, too, for good.
pub fn watch_always(ask: fn()) {
    ALWAYS.set(Some(ask));
}

/// Puts the list of watchers back, also on unwinding.
struct Innermost {
    before: *const Watcher,
}

impl Innermost {
    fn replaced_by(watcher: *const Watcher) -> Innermost {
        Innermost { before: INNERMOST.replace(watcher) }
    }
}

impl Drop for Innermost {
    fn drop(&mut self) {
        INNERMOST.set(self.before);
    }
}

/// Iterators whose items count as work.
pub trait Paced: Iterator + Sized {
    /// Its items, each of which counts as [one unit](done) of work.
    fn paced(self) -> PacedIter<Self> {
        PacedIter { items: self, until_counted: 0 }
    }
}

impl<I: Iterator> Paced for I {}

/// See [`Paced::paced`].
#[derive(Debug, Clone)]
pub struct PacedIter<I> {
    items: I,
    until_counted: u32,
}

impl<I: Iterator> Iterator for PacedIter<I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        // of the ways to write this the one that takes two instructions
        let (left, none_left) = self.until_counted.overflowing_sub(1);
        self.until_counted = left;
        if none_left {
            self.until_counted = ITEMS_AT_A_TIME - 1;
            done(ITEMS_AT_A_TIME.into());
        }
        self.items.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::thread;

    /// How often a watcher is asked during the action.
    fn polls(action: impl FnOnce()) -> u64 {
        UNITS_LEFT.set(UNITS_PER_POLL);
        let mut polls = 0;
        watched(&mut || polls += 1, action);
        polls
    }

    #[test]
    fn work_is_counted_and_polls_now_and_then() {
        assert_eq!(polls(|| done(UNITS_PER_POLL)), 0);
        assert_eq!(polls(|| done(UNITS_PER_POLL + 1)), 1);
        assert_eq!(polls(|| (0..10 * (UNITS_PER_POLL + 1)).for_each(|_| done(1))), 10);
        assert_eq!(polls(poll), 1);
        let items = 100 * UNITS_PER_POLL;
        let by_items = polls(|| assert_eq!((0..items).paced().count() as u64, items));
        assert!((90..=101).contains(&by_items), "{by_items}");
        assert_eq!(polls(|| assert_eq!((0..3).paced().collect::<Vec<_>>(), [0, 1, 2])), 0);
    }

    #[test]
    fn what_is_done_apart_is_not_counted_before_or_after() {
        assert_eq!(polls(|| (done(1), apart(|| done(UNITS_PER_POLL))).1), 0);
        let later = || {
            apart(|| done(UNITS_PER_POLL));
            drop(catch_unwind(|| {
                apart(|| {
                    done(UNITS_PER_POLL);
                    resume_unwind(Box::new("failed"))
                })
            }));
            done(UNITS_PER_POLL);
        };
        assert_eq!(polls(later), 0);
    }

    #[test]
    fn the_innermost_watcher_is_asked_first_and_then_all_others() {
        let asked = Cell::new(vec![]);
        let note = |who: u32| {
            let mut all = asked.take();
            all.push(who);
            asked.set(all);
        };
        watched(&mut || note(1), || {
            watched(&mut || note(2), poll);
            poll();
        });
        poll();
        assert_eq!(asked.take(), [2, 1, 1]);
    }

    #[test]
    fn a_watcher_that_works_is_not_asked_about_that() {
        let inner = Cell::new(0);
        let asked = polls(|| {
            let ask = &mut || {
                inner.set(inner.get() + 1);
                poll();
            };
            watched(ask, poll);
        });
        assert_eq!((asked, inner.get()), (1, 1));
    }

    #[test]
    fn a_watcher_can_end_the_work_by_unwinding() {
        let outer = polls(|| {
            let cancelled = catch_unwind(AssertUnwindSafe(|| {
                watched(&mut || resume_unwind(Box::new("cancelled")), || {
                    loop {
                        done(1);
                    }
                })
            }));
            let payload = cancelled.unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&"cancelled"));
            poll(); // the other one is still asked, and only once
        });
        assert_eq!(outer, 1);
    }

    #[test]
    fn who_watches_one_thread_is_not_asked_on_another() {
        assert_eq!(polls(|| thread::scope(|scope| drop(scope.spawn(poll).join()))), 0);
    }

    #[test]
    fn whoever_always_watches_a_thread_is_asked_last() {
        thread_local! { static ASKED: Cell<u32> = const { Cell::new(0) } }
        let in_thread = || {
            watch_always(|| ASKED.set(ASKED.get() + 1));
            poll();
            assert_eq!(polls(poll), 1);
            ASKED.get()
        };
        assert_eq!(thread::spawn(in_thread).join().ok(), Some(2));
    }
}
