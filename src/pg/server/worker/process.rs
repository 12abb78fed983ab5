//! A worker's process, as the session sees it that started it.

use super::work::Work;
use crate::pg::server::locks::wake;
use crate::pg::server::segment::Segment;
use crate::pg::server::state::own_process;
use pgrx::bgworkers::BackgroundWorkerBuilder;
use pgrx::memcxt::PgMemoryContexts;
use pgrx::pg_sys;
use std::ptr::null_mut;

/// The workers' function, by which PostgreSQL finds it in the library. It
/// [serves](super::serving::serve).
const FUNCTION: &str = "pg_dp_worker_main";

/// PostgreSQL's handle of it, which is for as long as the value lives: pgrx's is for as long as a
/// command runs.
pub(super) struct Process(*mut pg_sys::BackgroundWorkerHandle);

pub(super) enum State {
    Starts,
    Runs,
    Ended,
}

impl Process {
    /// Has one start that attaches the segment. None if no slot is free.
    pub(super) fn start(work: Work, segment: &Segment) -> Option<Process> {
        let builder = BackgroundWorkerBuilder::new(&work.name().to_string_lossy())
            .set_library("pg_dp")
            .set_function(FUNCTION)
            .enable_spi_access()
            .set_restart_time(None)
            .set_notify_pid(own_process())
            .set_argument(Some(pg_sys::Datum::from(segment.handle())));
        let mut worker = pg_sys::BackgroundWorker::from(&builder);
        let mut handle = null_mut();
        // SAFETY: both live for the call, which allocates the handle in the context that outlives
        // the session's commands, where it succeeds.
        let is_registered = unsafe {
            PgMemoryContexts::TopMemoryContext
                .switch_to(|_| pg_sys::RegisterDynamicBackgroundWorker(&mut worker, &mut handle))
        };
        is_registered.then(|| Process(handle))
    }

    fn status(&self) -> (pg_sys::BgwHandleStatus::Type, pg_sys::pid_t) {
        let mut process = 0;
        // SAFETY: the handle is as it was made.
        let status = unsafe { pg_sys::GetBackgroundWorkerPid(self.0, &mut process) };
        (status, process)
    }

    pub(super) fn state(&self) -> State {
        match self.status().0 {
            pg_sys::BgwHandleStatus::BGWH_STARTED => State::Runs,
            pg_sys::BgwHandleStatus::BGWH_NOT_YET_STARTED => State::Starts,
            _ => State::Ended,
        }
    }

    /// Has it look at what it waits for.
    pub(super) fn wake(&self) {
        if let (pg_sys::BgwHandleStatus::BGWH_STARTED, process) = self.status() {
            wake(process);
        }
    }

    /// Ends it, and waits until it has ended. An error if the postmaster has died.
    pub(super) fn end(&self) -> std::result::Result<(), ()> {
        // SAFETY: the handle is as it was made; this process is the one that is told.
        let status = unsafe {
            pg_sys::TerminateBackgroundWorker(self.0);
            pg_sys::WaitForBackgroundWorkerShutdown(self.0)
        };
        (status == pg_sys::BgwHandleStatus::BGWH_STOPPED).then_some(()).ok_or(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // SAFETY: it was allocated when the value was made, and is freed once.
        unsafe { pg_sys::pfree(self.0.cast()) };
    }
}
