//! How often the error bars of releases hold what is true: docs/coverage.md.

mod report;
mod tally;

use crate::data::{self, Data};
use crate::parallel;
use crate::synthetic::Geography;
use pg_dp::charge::Receipt;
use pg_dp::hierarchy::{Confidence, Mechanism, ReleaseRequest, Replicated};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::error::Error;
use std::num::NonZeroUsize;
use tally::{Kind, LevelTally};

/// Of a whole release.
const EPSILONS: [f64; 3] = [0.3, 1.0, 3.0];

const CONFIDENCE: f64 = 0.9;

/// Of which only is counted how many bars at sizes hold.
const HIGHER: [f64; 2] = [0.95, 0.99];

const SEED: u64 = 2026;

/// The page, of so many releases of each hierarchy at each epsilon.
pub fn page(runs: usize) -> Result<String, Box<dyn Error>> {
    let small = || Geography { states: 6, counties: 10 };
    let [gap, .., schools] = data::hard()?;
    let hierarchies =
        [data::housing(small())?, data::dense(small())?, data::flights()?, gap, schools];
    let mut text = report::head(runs, &hierarchies);
    for data in &hierarchies {
        let one = |run: usize, cell: usize| {
            released(data, EPSILONS[cell], run as u64).map_err(|error| error.to_string())
        };
        let results = parallel::measure(data.title, runs, EPSILONS.len(), one)?;
        let mut of_epsilons = EPSILONS.map(|_| vec![LevelTally::default(); data.tree.depth()]);
        for (place, levels) in results.into_iter().enumerate() {
            for (all, one) in of_epsilons[place % EPSILONS.len()].iter_mut().zip(levels) {
                all.merge(one);
            }
        }
        text += &report::section(data, &EPSILONS, &of_epsilons);
    }
    Ok(text)
}

/// One release and what its bars hold, level by level.
fn released(data: &Data, epsilon: f64, run: u64) -> Result<Vec<LevelTally>, Box<dyn Error>> {
    let request = ReleaseRequest::new(data.tree.depth(), epsilon).up_to(data.max_size as i64);
    let mechanism = Mechanism::new(&request)?;
    let mut words = ChaCha20Rng::seed_from_u64(SEED);
    words.set_stream(run);
    let (one, tree) = (NonZeroUsize::MIN, &data.tree);
    let released = Receipt::uncharged(mechanism.clone()).release(
        tree,
        data.leaves(),
        &mut words,
        one,
        &mut (),
    )?;
    let mechanism = mechanism.with_levels(&released.epsilons)?;
    let again = Replicated::new(&mechanism, tree, &released.histograms, one, &mut ())?;
    let bars = |level, simultaneous| -> Result<_, Box<dyn Error>> {
        let confidence = Confidence::new(level, simultaneous).ok_or("confidence")?;
        Ok(again.clone().bars(confidence))
    };
    let (each, at_once) = (bars(CONFIDENCE, false)?, bars(CONFIDENCE, true)?);
    let higher: Vec<_> =
        HIGHER.iter().map(|level| bars(*level, false)).collect::<Result<_, _>>()?;
    let mut levels = vec![LevelTally::default(); tree.depth()];
    for (level, tally) in levels.iter_mut().enumerate() {
        for region in tree.level(level) {
            let truth = &data.truth[region];
            tally.sizes(truth, each[region].sizes());
            for (number, bars) in higher.iter().enumerate() {
                tally.higher(number, truth, bars[region].sizes());
            }
            tally.statistics(truth, each[region].statistics());
            tally.at_once(truth, &at_once[region]);
        }
    }
    Ok(levels)
}

/// All that is counted.
const KINDS: [Kind; 2] = [Kind::OfSize, Kind::UpToSize];
