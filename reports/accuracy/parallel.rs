//! Many independent measurements on all cores.

use std::sync::Mutex;
use std::thread;
use std::time::Instant;

/// Measures every cell `runs` times: `one` gets the run and the cell, which are all that its random
/// words may depend on. The results are in the order of runs, then of cells, whichever thread was
/// ready first.
///
/// Error: the first one that a measurement returned.
pub fn measure<T: Send>(
    what: &str,
    runs: usize,
    cells: usize,
    one: impl Fn(usize, usize) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    // one run of all cells, then the next: the time that is left can be told after the first
    let next = Mutex::new(0..runs * cells);
    let progress = Mutex::new((Instant::now(), 0));
    let work = || -> Result<Vec<(usize, T)>, String> {
        let mut results = vec![];
        while let Some(place) = next.lock().ok().and_then(|mut next| next.next()) {
            results.push((place, one(place / cells, place % cells)?));
            let mut progress = progress.lock().map_err(|_| "another thread failed")?;
            progress.1 += 1;
            if progress.1 % cells == 0 {
                let (done, minutes) =
                    (progress.1 / cells, progress.0.elapsed().as_secs_f64() / 60.0);
                let left = minutes * (runs - done) as f64 / done as f64;
                eprintln!(
                    "==> {what}: {done} of {runs} runs after {minutes:.1} minutes, about {left:.1} to go"
                );
            }
        }
        Ok(results)
    };
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    let mut results = thread::scope(|scope| -> Result<Vec<(usize, T)>, String> {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut results = vec![];
        for thread in threads {
            results.extend(thread.join().map_err(|_| "a thread failed")??);
        }
        Ok(results)
    })?;
    results.sort_by_key(|(place, _)| *place);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}
