//! The cascade's noise for counts that arrive one by one, up to a declared horizon.
//!
//! # The order of the draws
//!
//! The tree over 2^k bins grows upwards (Dharangutte et al. 2025, remark 3.6). With the noise X of
//! a full left half, the right half's is (-X + Z) / 2, Z of variance 3 s^2, of which (X + Z) / 2 is
//! the whole's: both have variance s^2 and the halves the covariance -s^2 / 2, as in a cascade from
//! above. Within a half, a node of noise X has children of noise (X + Y) / 2 and (X - Y) / 2, Y of
//! variance 3 s^2. The first bin's own noise is an integer of variance s^2.
//!
//! # Why that is a measurement of integers
//!
//! Let e be the noise of the bins of the whole horizon and zeta all draws. What each draw is of e
//! follows from the above: the first bin's noise, 2 right + left at a growth, left - right at a
//! split, where left and right are sums of e. So zeta = B e for a matrix B of integers, and
//! x + e = B^-1 (B x + zeta): all that is released, by the end of the horizon, is a function of
//! the integers B x with discrete Gaussian noise, and at any time before the end a part of it.
//!
//! # The sensitivity
//!
//! With W the variances of zeta over s^2, the square of the distance of neighbours is the largest
//! entry of the diagonal of B^T W^-1 B, the inverse of the covariance of e for continuous noise,
//! which is that of the perfect binary tree over the horizon: at most 1 + k/3. The price is that of
//! the horizon, whether it is reached or not.

use crate::charge::Receipt;
use crate::noise::{DiscreteGaussian, RandomWords, ScaleError};
use crate::privacy::gaussian_sigma;
use num_rational::Ratio;
use std::fmt;

/// The longest horizon: noise is counted in units of 4^-MAX_HEIGHT, for which 128 bits have room.
pub(crate) const MAX_HEIGHT: u32 = 24;

/// The noise of the cascade for counts that arrive one by one.
#[derive(Debug, Clone)]
pub struct CascadeStream {
    height: u32,
    first: DiscreteGaussian,
    step: DiscreteGaussian,
}

/// Noisy sums of a stream of counts, with errors that grow with the logarithm of time.
#[derive(Debug)]
pub struct RunningSums {
    law: CascadeStream,
    time: u64,
    /// The sum of the noise so far, in units of 4^-height.
    noise: i128,
    /// The noise of the right children that are still to come, the next one last; same units.
    waiting: Vec<i128>,
    /// The sum of the counts so far.
    total: i128,
}

/// All counts of the declared horizon have arrived, or they sum to more than 2^63.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamError {
    HorizonReached,
    TooManyRows,
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamError::HorizonReached => write!(f, "the declared horizon is reached"),
            StreamError::TooManyRows => write!(f, "the counts sum to more than 2^63"),
        }
    }
}

impl std::error::Error for StreamError {}

impl CascadeStream {
    /// For up to 2^`height` counts. All that is released of them together is `rho`-zCDP, for
    /// neighbouring streams: one count, at any time, differs by 1.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If the height is above [`MAX_HEIGHT`].
    pub fn new(height: u32, rho: f64) -> Result<CascadeStream, ScaleError> {
        assert!(height <= MAX_HEIGHT, "a horizon of 2^{height}");
        let square = Ratio::new(3 + u64::from(height), 3);
        Ok(CascadeStream {
            height,
            first: DiscreteGaussian::new(gaussian_sigma(square, rho))?,
            step: DiscreteGaussian::new(gaussian_sigma(square * 3, rho))?,
        })
    }
}

impl<P> Receipt<CascadeStream, P> {
    /// Before the first count.
    pub fn start(self) -> RunningSums {
        let law = self.into_mechanism();
        RunningSums { law, time: 0, noise: 0, waiting: Vec::new(), total: 0 }
    }
}

impl RunningSums {
    /// Takes the next count; the estimate of the sum of all counts so far, exact up to its rounding
    /// to an `f64`. Time: amortised constant, at most the height.
    ///
    /// Errors, which leave the stream as it was: no more counts were declared; they overflow.
    pub fn push<R: RandomWords + ?Sized>(
        &mut self,
        count: u64,
        words: &mut R,
    ) -> Result<f64, StreamError> {
        if self.time >> self.law.height > 0 {
            return Err(StreamError::HorizonReached);
        }
        let total = self.total + i128::from(count);
        if total > 1 << 63 {
            return Err(StreamError::TooManyRows);
        }
        self.total = total;
        self.noise += self.next_noise(&mut |law| law.sample(words));
        self.time += 1;
        let unit = 1i128 << (2 * self.law.height);
        Ok((self.total * unit + self.noise) as f64 / unit as f64)
    }

    /// The noise of the next bin, in units of 4^-height.
    fn next_noise(&mut self, draw: &mut dyn FnMut(&DiscreteGaussian) -> i64) -> i128 {
        let mut integer = |law| i128::from(draw(law)) << (2 * self.law.height);
        if self.time == 0 {
            return integer(&self.law.first);
        }
        // the largest subtree that begins here
        let height = self.time.trailing_zeros();
        let mut noise = if self.time.is_power_of_two() {
            (integer(&self.law.step) - self.noise) / 2
        } else {
            self.waiting.pop().expect("a right child was announced")
        };
        for _ in 0..height {
            let split = integer(&self.law.step);
            self.waiting.push((noise - split) / 2);
            noise = (noise + split) / 2;
        }
        noise
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::words_from_system;
    use crate::ranges::methods::cascade::line::Cascade;
    use crate::ranges::methods::cascade::tree::TreeOverBins;
    use crate::ranges::{Calibration, RangeMechanism};

    fn start(height: u32, rho: f64) -> RunningSums {
        Receipt::uncharged(CascadeStream::new(height, rho).unwrap()).start()
    }

    /// Row i: the bins' noise, in units of 4^-height, when draw i is 1 and all others are 0.
    fn responses(height: u32) -> Vec<Vec<i128>> {
        let bins = 1usize << height;
        (0..bins)
            .map(|chosen| {
                let mut stream = start(height, 0.1);
                let mut drawn = 0;
                let row = (0..bins).map(|_| {
                    let noise = stream.next_noise(&mut |_| {
                        drawn += 1;
                        i64::from(drawn == chosen + 1)
                    });
                    stream.noise += noise;
                    stream.time += 1;
                    noise
                });
                let row = row.collect();
                assert_eq!(drawn, bins);
                row
            })
            .collect()
    }

    /// The covariance in units of s^2 times 16^height: only the first draw has variance 1, the
    /// others 3. Halving was exact, or no sum would come out.
    #[test]
    fn the_covariance_is_that_of_the_tree() {
        for height in 0..=6 {
            let bins = 1usize << height;
            let responses = responses(height);
            let unit = 1i128 << (4 * height);
            let covariance = |i: usize, j: usize| -> i128 {
                let terms = responses.iter().enumerate();
                terms.map(|(draw, e)| if draw == 0 { 1 } else { 3 } * e[i] * e[j]).sum()
            };
            for i in 0..bins {
                for j in 0..bins {
                    // definition 3.1: -1/2 over the square of the size of the halves that part them
                    let levels = usize::BITS - (i ^ j).leading_zeros();
                    let expected = if i == j { unit } else { -(unit >> (2 * levels - 1)) };
                    assert_eq!(covariance(i, j), expected, "{height} {i} {j}");
                }
            }
        }
    }

    /// B, by what the documentation says each draw is, takes the bins' noise back to the draws; and
    /// its columns are as long as declared.
    #[test]
    fn the_draws_are_integers_of_the_noise() {
        for height in 0..=6u32 {
            let bins = 1usize << height;
            // as (range, factor) pairs, in the order of the draws
            let mut rows = vec![vec![(0..1usize, 1i128)]];
            for time in 1..bins {
                let size = 1 << time.trailing_zeros();
                if time.is_power_of_two() {
                    rows.push(vec![(0..time, 1), (time..time + size, 2)]);
                }
                let halves = std::iter::successors(Some(size / 2), |half| Some(half / 2));
                for half in halves.take_while(|&half| half > 0) {
                    rows.push(vec![(time..time + half, 1), (time + half..time + 2 * half, -1)]);
                }
            }
            assert_eq!(rows.len(), bins);
            let unit = 1i128 << (2 * height);
            for (draw, e) in responses(height).iter().enumerate() {
                for (i, row) in rows.iter().enumerate() {
                    let value: i128 =
                        row.iter().map(|(of, by)| by * e[of.clone()].iter().sum::<i128>()).sum();
                    assert_eq!(value, if i == draw { unit } else { 0 }, "{height} {draw} {i}");
                }
            }
            let length = |bin: usize| -> Ratio<i128> {
                let entries = rows.iter().enumerate().map(|(i, row)| {
                    let entry: i128 =
                        row.iter().filter(|(of, _)| of.contains(&bin)).map(|(_, by)| by).sum();
                    Ratio::new(entry * entry, if i == 0 { 1 } else { 3 })
                });
                entries.sum()
            };
            let longest = (0..bins).map(length).max().unwrap();
            assert_eq!(longest, Ratio::new(3 + i128::from(height), 3));
        }
    }

    /// 4,000 streams of 2^6 counts: the mean square of the running sums' errors is within 7 of its
    /// standard deviations, sqrt(2 / 4000), of the cascade's variance (probability below 1e-9
    /// each).
    #[test]
    fn running_sums_have_the_cascades_variances() {
        let (height, rho, streams) = (6, 0.02435, 4_000);
        let cascade = Cascade::new(
            TreeOverBins::balanced(1 << height, 2).unwrap(),
            &Calibration::together(rho),
        );
        let cascade = cascade.unwrap();
        let mut words = words_from_system().unwrap();
        let mut squares = vec![0.0; 1 << height];
        for _ in 0..streams {
            let mut stream = start(height, rho);
            for (time, square) in squares.iter_mut().enumerate() {
                let count = time as u64 % 5;
                let estimate = stream.push(count, &mut words).unwrap();
                let truth: usize = (0..=time).map(|t| t % 5).sum();
                *square += (estimate - truth as f64).powi(2) / f64::from(streams);
            }
            assert_eq!(stream.push(0, &mut words), Err(StreamError::HorizonReached));
        }
        for (time, square) in squares.into_iter().enumerate() {
            let off = square / cascade.variance(0..time + 1) - 1.0;
            assert!(off.abs() < 7.0 * (2.0 / f64::from(streams)).sqrt(), "{time}: {off}");
        }
    }

    #[test]
    fn the_longest_stream_has_room() {
        let mut stream = start(MAX_HEIGHT, 1e-15);
        let mut words = words_from_system().unwrap();
        assert!(stream.push(1 << 62, &mut words).is_ok());
        assert!(stream.push(1 << 62, &mut words).is_ok());
        assert_eq!(stream.push(1, &mut words), Err(StreamError::TooManyRows));
        for _ in 0..1000 {
            assert!(stream.push(0, &mut words).unwrap().is_finite());
        }
    }
}
