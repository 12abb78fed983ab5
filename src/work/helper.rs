//! A thread that does one job after the other for another one, which goes on meanwhile.

use super::threads::Signals;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

/// Does jobs in their order. It is gone when this is dropped, also on unwinding. Nobody watches its
/// work, so that jobs are to be short: some milliseconds.
pub struct Helper<J, R> {
    /// None when it is to end.
    jobs: Option<SyncSender<J>>,
    results: Receiver<R>,
    thread: Option<JoinHandle<()>>,
}

impl<J: Send + 'static, R: Send + 'static> Helper<J, R> {
    /// `waiting`: how many jobs can wait for it. None where no thread can be started.
    pub fn start(
        waiting: usize,
        mut work: impl FnMut(J) -> R + Send + 'static,
    ) -> Option<Helper<J, R>> {
        let (jobs, to_do) = sync_channel(waiting);
        let (done, results) = channel();
        let all = move || {
            for job in to_do {
                if done.send(work(job)).is_err() {
                    break;
                }
            }
        };
        let signals = Signals::block();
        let thread = Builder::new().spawn(all);
        drop(signals);
        Some(Helper { jobs: Some(jobs), results, thread: Some(thread.ok()?) })
    }

    /// Waits while as many jobs wait as can.
    pub fn give(&mut self, job: J) {
        if self.jobs.as_ref().is_none_or(|jobs| jobs.send(job).is_err()) {
            self.pass_panic_on();
        }
    }

    /// Gives the job back where it would have to wait for others to be taken.
    pub fn offer(&mut self, job: J) -> Option<J> {
        match self.jobs.as_ref().map(|jobs| jobs.try_send(job)) {
            Some(Ok(())) => None,
            Some(Err(TrySendError::Full(job))) => Some(job),
            Some(Err(TrySendError::Disconnected(_))) | None => self.pass_panic_on(),
        }
    }

    /// The next result, if it is there.
    pub fn result(&self) -> Option<R> {
        self.results.try_recv().ok()
    }

    /// The next result, of a job that was given.
    pub fn wait(&mut self) -> R {
        match self.results.recv() {
            Ok(result) => result,
            Err(_) => self.pass_panic_on(),
        }
    }

    /// It ended too early: unwinds as it did.
    pub fn pass_panic_on(&mut self) -> ! {
        let ended = self.thread.take().map(JoinHandle::join);
        match ended {
            Some(Err(panic)) => resume_unwind(panic),
            _ => unreachable!("a helper ends when it is told to, or panics"),
        }
    }
}

impl<J, R> Drop for Helper<J, R> {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            _ = thread.join(); // what it panicked with nobody waits for
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn jobs_are_done_in_their_order() {
        let mut sum = 0;
        let mut helper = Helper::start(2, move |number: u32| {
            sum += number;
            sum
        })
        .unwrap();
        (1..=100).for_each(|number| helper.give(number));
        let sums: Vec<u32> = (1..=100).map(|_| helper.wait()).collect();
        assert_eq!(sums, (1..=100).map(|n| n * (n + 1) / 2).collect::<Vec<_>>());
        assert_eq!(helper.result(), None);
    }

    /// The helper is held until it is told to go on, so that there is no room for a third job.
    #[test]
    fn what_has_to_wait_is_given_back() {
        let (go_on, held) = channel();
        let mut helper = Helper::start(1, move |job: u32| (job, held.recv().is_ok())).unwrap();
        helper.give(1);
        helper.give(2); // waits until the first one is begun
        assert_eq!(helper.offer(3), Some(3));
        (0..2).for_each(|_| go_on.send(()).unwrap());
        assert_eq!([helper.wait(), helper.wait()], [(1, true), (2, true)]);
    }

    #[test]
    fn a_helper_that_panics_does_so_for_whoever_waits() {
        let mut helper = Helper::start(1, |_: u32| panic_any("broken")).unwrap();
        helper.give(1);
        let panic = catch_unwind(AssertUnwindSafe(|| -> () { helper.wait() })).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"broken"));
    }

    #[test]
    fn no_helper_outlives_whoever_it_helps() {
        struct Gone(Arc<AtomicBool>);
        impl Drop for Gone {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let gone = Arc::new(AtomicBool::new(false));
        let until_gone = Gone(gone.clone());
        let helper = Helper::start(1, move |_: u32| {
            thread::sleep(Duration::from_millis(20));
            _ = &until_gone;
        })
        .unwrap();
        let cancelled = catch_unwind(AssertUnwindSafe(move || {
            let mut helper = helper;
            helper.give(1);
            panic_any("cancelled")
        }));
        assert!(cancelled.is_err() && gone.load(Ordering::SeqCst));
    }
}
