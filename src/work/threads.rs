//! Jobs that several threads share, of which one alone knows who waits for them.
//!
//! The thread that asks for the work takes part in it, and it alone asks who watches it,
//! who may unwind to cancel: what PostgreSQL offers may be called from no other thread. Nor may
//! its signal handlers run on another, so that the others block every signal.

use super::pace::{poll, watched};
use std::cmp::Reverse;
use std::mem::MaybeUninit;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, Builder};
use std::time::Duration;

/// The work for which one more thread is worth starting: some milliseconds, if a unit is a draw.
const WORK_PER_THREAD: u64 = 1 << 17;

/// Jobs are bundled up to this much work, and to this part of what each thread has to do.
const MOST_BUNDLED: u64 = 1 << 14;
const BUNDLES_PER_THREAD: u64 = 64;

/// Between two polls while the last jobs are waited for.
const WAIT: Duration = Duration::from_millis(2);

/// What unwinds from a job that nobody waits for any more.
struct Stopped;

/// The results of the jobs 0 .. `work.len()`, in this order. `work`: how much there is to do for
/// each, in units of some 20 ns; those with the most are begun first. `threads`: the most that
/// work at a time, the caller's included; where there is little to do, it alone.
///
/// `job` gets a job's number. On the calling thread its polls ask who watches that, on all others
/// they unwind once the work is given up. That is when a watcher unwinds, or a job panics; this
/// function then unwinds likewise. No thread is left when it ends, in whatever way.
pub fn share<T: Send>(
    work: &[u64],
    threads: NonZeroUsize,
    job: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let all = work.iter().fold(0, |sum: u64, work| sum.saturating_add(*work));
    let worth = usize::try_from(all / WORK_PER_THREAD).unwrap_or(usize::MAX);
    let others = (threads.get() - 1).min(work.len().saturating_sub(1)).min(worth);
    let parts = BUNDLES_PER_THREAD.saturating_mul(others as u64 + 1);
    let bundles = bundles(work, MOST_BUNDLED.min(all / parts));
    let others = others.min(bundles.len().saturating_sub(1));
    let mut order: Vec<usize> = (0..bundles.len()).collect();
    order.sort_by_key(|&bundle| Reverse(bundles[bundle].work));
    let queue = Queue { order, taken: AtomicUsize::new(0), stopped: AtomicBool::new(false) };
    let job = |bundle: usize| bundles[bundle].jobs.clone().map(&job).collect::<Vec<T>>();
    let (sender, receiver) = channel();

    let mut done = thread::scope(|scope| {
        let _stop = queue.stop_on_unwinding();
        let signals = Signals::block();
        for _ in 0..others {
            let (queue, job, sender) = (&queue, &job, sender.clone());
            let help = move || {
                let done = catch_unwind(AssertUnwindSafe(|| {
                    let _stop = queue.stop_on_unwinding();
                    watched(&mut || queue.unwind_if_stopped(), || queue.work_off(job))
                }));
                // nobody receives it where the work was given up
                _ = sender.send(done);
            };
            // one thread less is no reason to fail
            _ = Builder::new().spawn_scoped(scope, help);
        }
        drop((signals, sender));
        let mut done = queue.work_off(job);
        loop {
            match receiver.recv_timeout(WAIT) {
                Ok(Ok(of_other)) => done.extend(of_other),
                // of another thread's panic, which is still to be received
                Ok(Err(panic)) if panic.is::<Stopped>() => {}
                Ok(Err(panic)) => resume_unwind(panic),
                Err(RecvTimeoutError::Timeout) => poll(),
                Err(RecvTimeoutError::Disconnected) => return done,
            }
        }
    });
    done.sort_unstable_by_key(|(bundle, _)| *bundle);
    let mut results = Vec::with_capacity(work.len());
    done.into_iter().for_each(|(_, of_bundle)| results.extend(of_bundle));
    results
}

/// As [`share`]; on this thread `tell` is called once for each job that was done on any.
pub fn share_and_tell<T: Send>(
    work: &[u64],
    threads: NonZeroUsize,
    job: impl Fn(usize) -> T + Sync,
    mut tell: impl FnMut(),
) -> Vec<T> {
    let (done, mut told) = (AtomicUsize::new(0), 0);
    let counted = |number: usize| {
        let result = job(number);
        done.fetch_add(1, Ordering::Relaxed);
        result
    };
    let mut tell_of_all = || {
        while told < done.load(Ordering::Relaxed) {
            tell();
            told += 1;
        }
    };
    let results = watched(&mut tell_of_all, || share(work, threads, counted));
    tell_of_all();
    results
}

/// Jobs that one thread does in turn, and how much there is to do for all of them.
struct Bundle {
    jobs: Range<usize>,
    work: u64,
}

/// Jobs in their order, those together that are at most so much work.
fn bundles(work: &[u64], most: u64) -> Vec<Bundle> {
    let mut bundles: Vec<Bundle> = Vec::new();
    for (job, &work) in work.iter().enumerate() {
        match bundles.last_mut() {
            Some(last) if last.work.saturating_add(work) <= most => {
                last.jobs.end = job + 1;
                last.work += work;
            }
            _ => bundles.push(Bundle { jobs: job..job + 1, work }),
        }
    }
    bundles
}

/// Of bundles.
struct Queue {
    order: Vec<usize>,
    /// How many were begun.
    taken: AtomicUsize,
    stopped: AtomicBool,
}

impl Queue {
    /// The results of what this thread gets, with their numbers.
    fn work_off<T>(&self, job: impl Fn(usize) -> T) -> Vec<(usize, T)> {
        let mut done = Vec::new();
        while !self.stopped.load(Ordering::Relaxed)
            && let Some(&number) = self.order.get(self.taken.fetch_add(1, Ordering::Relaxed))
        {
            done.push((number, job(number)));
        }
        done
    }

    fn unwind_if_stopped(&self) {
        if self.stopped.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Stopped)); // unlike a panic it is reported nowhere
        }
    }

    fn stop_on_unwinding(&self) -> StopOnUnwinding<'_> {
        StopOnUnwinding(self)
    }
}

struct StopOnUnwinding<'a>(&'a Queue);

impl Drop for StopOnUnwinding<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stopped.store(true, Ordering::Relaxed);
        }
    }
}

/// While it lives, the signals of this thread wait, and threads that it starts never get any.
pub(super) struct Signals(libc::sigset_t);

impl Signals {
    pub(super) fn block() -> Signals {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: the first call fills `all`. The second reads it and fills `before`; it cannot
        // fail with these arguments.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Signals(before.assume_init())
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: the mask was this thread's.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::panic_any;
    use std::sync::Mutex;

    const THREADS: usize = 4;

    fn threads(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).unwrap()
    }

    /// What a job or a watcher that unwinds leaves of so many long jobs.
    fn unwound(jobs: usize, job: impl Fn(usize) + Sync) -> Box<dyn std::any::Any + Send> {
        let all = || share(&vec![WORK_PER_THREAD; jobs], threads(THREADS), job);
        catch_unwind(AssertUnwindSafe(all)).unwrap_err()
    }

    #[test]
    fn results_stand_in_the_jobs_order_and_the_longest_job_begins_first() {
        for count in 1..=THREADS {
            let work = [3, 0, 9, 9, 1].map(|work| work * WORK_PER_THREAD);
            let begun = Mutex::new(vec![]);
            let job = |number: usize| {
                begun.lock().unwrap().push(number);
                poll();
                10 * number
            };
            assert_eq!(share(&work, threads(count), job), [0, 10, 20, 30, 40]);
            if count == 1 {
                assert_eq!(*begun.lock().unwrap(), [2, 3, 0, 4, 1]);
            }
        }
        let nothing = |_: usize| {};
        assert_eq!(share(&[], threads(THREADS), nothing), []);
        let many = share(&[WORK_PER_THREAD / 1000; 10_000], threads(THREADS), |number| number);
        assert!(many.into_iter().eq(0..10_000));
    }

    #[test]
    fn every_job_is_told_of_once() {
        for count in [1, THREADS] {
            let (mut told, jobs) = (0, 3 * THREADS);
            let work = vec![WORK_PER_THREAD; jobs];
            let done = share_and_tell(&work, threads(count), |number| number, || told += 1);
            assert!(done.into_iter().eq(0..jobs));
            assert_eq!(told, jobs);
        }
    }

    /// Each job waits for all others to have begun: it takes as many threads as jobs. Who watches
    /// the caller is asked on its own thread only, and no signal reaches another.
    #[test]
    fn threads_work_at_a_time_and_only_the_callers_is_watched() {
        let (begun, caller) = (AtomicUsize::new(0), thread::current().id());
        let mut calls = 0;
        let job = |_: usize| {
            poll();
            begun.fetch_add(1, Ordering::SeqCst);
            while begun.load(Ordering::SeqCst) < THREADS {
                poll();
                thread::sleep(WAIT);
            }
            thread::sleep(10 * WAIT);
            (thread::current().id(), blocks(libc::SIGINT))
        };
        let ask = &mut || {
            assert_eq!(thread::current().id(), caller);
            calls += 1;
        };
        let done = watched(ask, || share(&[WORK_PER_THREAD; THREADS], threads(THREADS), job));
        for (place, &(id, blocks)) in done.iter().enumerate() {
            assert_eq!(blocks, id != caller);
            assert!(done[..place].iter().all(|(earlier, _)| *earlier != id));
        }
        assert!(!blocks(libc::SIGINT));
        assert!(calls > 0);
    }

    fn blocks(signal: i32) -> bool {
        let mut mask = MaybeUninit::uninit();
        // SAFETY: without a new mask it fills in the present one.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr());
            libc::sigismember(mask.as_ptr(), signal) == 1
        }
    }

    #[test]
    fn little_work_is_not_shared() {
        let job = |_: usize| thread::current().id();
        let work = [WORK_PER_THREAD / 4; 3];
        let caller = thread::current().id();
        assert_eq!(share(&work, threads(THREADS), job), [caller; 3]);
    }

    /// Counts the jobs that are under way.
    struct Running<'a>(&'a AtomicUsize);

    impl Running<'_> {
        fn begin(count: &AtomicUsize) -> Running<'_> {
            count.fetch_add(1, Ordering::SeqCst);
            Running(count)
        }
    }

    impl Drop for Running<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// The jobs would never end. A watcher unwinds while the caller works, or, where it has no
    /// job left, while it waits.
    #[test]
    fn a_watcher_that_unwinds_ends_all_jobs() {
        for calls_until_end in [1, 2, 20] {
            let caller = thread::current().id();
            for caller_works in [true, false] {
                let running = AtomicUsize::new(0);
                let job = |_: usize| {
                    let _running = Running::begin(&running);
                    let on_caller = thread::current().id() == caller;
                    while on_caller && running.load(Ordering::SeqCst) == 1 {
                        thread::yield_now(); // until another thread has a job
                    }
                    if on_caller && !caller_works {
                        return;
                    }
                    loop {
                        poll();
                        thread::yield_now();
                    }
                };
                let mut calls = 0;
                let ask = &mut || {
                    calls += 1;
                    if calls == calls_until_end {
                        panic_any("cancelled");
                    }
                };
                let payload = watched(ask, || unwound(100, job));
                assert_eq!(payload.downcast_ref(), Some(&"cancelled"));
                assert_eq!(running.load(Ordering::SeqCst), 0);
            }
        }
    }

    /// Whichever thread it is on, the panic comes out of `share`, and the others end.
    #[test]
    fn a_job_that_panics_ends_all_jobs() {
        let caller = thread::current().id();
        for on_caller in [true, false] {
            let (running, panicked) = (AtomicUsize::new(0), AtomicBool::new(false));
            let job = |_: usize| {
                let _running = Running::begin(&running);
                let here = (thread::current().id() == caller) == on_caller;
                if here && !panicked.swap(true, Ordering::SeqCst) {
                    panic_any("broken");
                }
                // the caller's polls do not know of others' panics
                while !(panicked.load(Ordering::SeqCst) && thread::current().id() == caller) {
                    poll();
                    thread::yield_now();
                }
            };
            let payload = unwound(100, job);
            assert_eq!(payload.downcast_ref(), Some(&"broken"), "{:?}", payload.is::<Stopped>());
            assert_eq!(running.load(Ordering::SeqCst), 0);
        }
    }
}
