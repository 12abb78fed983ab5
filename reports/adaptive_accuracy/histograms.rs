//! The histograms that are released, and samples of them.

use rand_chacha::ChaCha20Rng;
use rand_distr::{Binomial, Distribution};
use std::error::Error;

const COUNTS: &str = include_str!("../../data/histograms.csv");

/// A column of real data.
pub struct Histogram {
    pub name: String,
    counts: Vec<u64>,
}

pub fn histograms() -> Result<Vec<Histogram>, Box<dyn Error>> {
    let of_line = |line: &str| -> Result<Histogram, Box<dyn Error>> {
        let (name, counts) = line.split_once(',').ok_or("a line of one field")?;
        let counts = counts.split(',').map(str::parse).collect::<Result<_, _>>()?;
        Ok(Histogram { name: name.into(), counts })
    };
    COUNTS.lines().map(of_line).collect()
}

impl Histogram {
    pub fn bins(&self) -> usize {
        self.counts.len()
    }

    pub fn rows(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The bins with rows.
    pub fn filled(&self) -> usize {
        self.counts.iter().filter(|&&count| count > 0).count()
    }

    /// So many rows, drawn with replacement.
    pub fn sample(&self, rows: u64, random: &mut ChaCha20Rng) -> Result<Vec<u64>, String> {
        let (mut left, mut of_left) = (rows, self.rows());
        let draw = |&count: &u64| -> Result<u64, String> {
            if count == 0 {
                return Ok(0);
            }
            let share = count as f64 / of_left as f64;
            let law = Binomial::new(left, share).map_err(|e| format!("{}: {e}", self.name))?;
            let drawn = law.sample(random);
            of_left -= count;
            left -= drawn;
            Ok(drawn)
        };
        self.counts.iter().map(draw).collect()
    }
}
