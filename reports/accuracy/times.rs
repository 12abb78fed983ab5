//! How long a release takes.

use crate::data::Data;
use crate::releases::{DEFAULT, Words, release};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::error::Error;
use std::fmt::Write;
use std::time::Instant;

const ASKED: [Words; 4] = [
    DEFAULT,
    Words { estimator: "cut", consistency: "matching" },
    Words { estimator: "Hc", consistency: "matching" },
    Words { estimator: "Hg", consistency: "matching" },
];
/// Of the whole release.
const EPSILONS: [f64; 2] = [0.3, 3.0];
const REPETITIONS: u64 = 3;

/// The median time of a release in seconds, for each of the words, on one core with nothing else.
pub fn measure(data: &Data) -> Result<Vec<[f64; EPSILONS.len()]>, Box<dyn Error>> {
    let mut times = Vec::new();
    for asked in ASKED {
        let mut of_words = [0.0; EPSILONS.len()];
        for (median, epsilon) in of_words.iter_mut().zip(EPSILONS) {
            let mut seconds = Vec::new();
            for repetition in 0..REPETITIONS {
                let mut words = ChaCha20Rng::seed_from_u64(repetition);
                let start = Instant::now();
                release(data, epsilon, asked, None, &mut words)?;
                seconds.push(start.elapsed().as_secs_f64());
            }
            seconds.sort_by(f64::total_cmp);
            *median = seconds[seconds.len() / 2];
        }
        times.push(of_words);
    }
    Ok(times)
}

pub fn report(data: &Data, times: &[[f64; EPSILONS.len()]]) -> String {
    let mut text = format!(
        "
## Time of a release

{} in three levels, {} groups: the median of {REPETITIONS} releases on one core, in seconds, on the
machine that wrote this page.

| `estimators`, `consistency` | ε = {} | ε = {} |
|---|--:|--:|
",
        data.title,
        crate::numbers::thousands(data.groups() as f64),
        EPSILONS[0],
        EPSILONS[1],
    );
    for (asked, [low, high]) in ASKED.iter().zip(times) {
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "| `'{{{}}}','{}'` | {low:.3} | {high:.3} |",
            asked.estimator, asked.consistency
        );
    }
    text
}
