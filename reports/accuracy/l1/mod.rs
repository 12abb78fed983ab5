//! The comparison of Fioretto, Van Hentenryck and Zhu (2020), section 11.3: the L1 distance of the
//! released numbers of groups from the true ones, and how many constraints are violated.

mod errors;
pub mod figures;
mod methods;
pub mod report;

use crate::data::Data;
use crate::parallel;
use crate::statistics::Mean;
use errors::Errors;
use methods::METHODS;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

/// Of a whole release.
pub const EPSILONS: [f64; 3] = [0.1, 0.5, 1.0];
const SEED: u64 = 2020;

pub struct Comparison<'a> {
    pub data: Vec<&'a Data>,
    pub runs: usize,
    samples: Vec<Sample>,
}

/// The errors of all runs with one data set, epsilon and method.
struct Sample {
    data: usize,
    epsilon: f64,
    method: usize,
    runs: Vec<Errors>,
}

impl<'a> Comparison<'a> {
    pub fn measure(data: Vec<&'a Data>, runs: usize) -> Result<Comparison<'a>, String> {
        let mut samples = Vec::new();
        for data in 0..data.len() {
            for epsilon in EPSILONS {
                let cells = 0..METHODS.len();
                samples.extend(cells.map(|method| Sample { data, epsilon, method, runs: vec![] }));
            }
        }
        let results = parallel::measure("numbers of groups", runs, samples.len(), |run, cell| {
            let Sample { data: index, epsilon, method, .. } = samples[cell];
            let mut words = ChaCha20Rng::seed_from_u64(SEED);
            words.set_stream((run * samples.len() + cell) as u64);
            let released = METHODS[method]
                .run(data[index], epsilon, &mut words)
                .map_err(|error| format!("{}: {error}", METHODS[method].name))?;
            Ok(Errors::of(&data[index].tree, &data[index].truth, &released))
        })?;
        let cells = samples.len();
        for (place, errors) in results.into_iter().enumerate() {
            samples[place % cells].runs.push(errors);
        }
        Ok(Comparison { data, runs, samples })
    }

    fn of_data(&self, data: usize) -> Vec<&Sample> {
        self.samples.iter().filter(|sample| sample.data == data).collect()
    }
}

impl Sample {
    fn mean(&self, of: impl Fn(&Errors) -> f64) -> Mean {
        Mean::of(&self.runs.iter().map(of).collect::<Vec<_>>())
    }

    fn l1(&self, level: usize) -> Mean {
        self.mean(|run| run.l1[level])
    }

    /// Over all levels.
    fn total(&self) -> Mean {
        self.mean(|run| run.l1.iter().sum())
    }
}
