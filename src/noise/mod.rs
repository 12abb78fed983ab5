//! Exact integer noise: random words from the operating system and the samplers built on them.
//!
//! No floating-point value stands between the random words and a draw. Every probability that a
//! sampler needs is a rational number or `exp(-rational)`, decided by integer comparisons after
//! Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020), section 5.
//! The samplers here are the plain ones: right first, and the oracle for faster ones.

mod bernoulli;
mod gaussian;
mod laplace;
mod rational;
mod words;

pub use gaussian::DiscreteGaussian;
pub use laplace::DiscreteLaplace;
pub use rational::{MAX_SCALE, MIN_SCALE, Scale, ScaleError};
pub use words::{EntropyError, RandomWords, words_from_system};

#[cfg(test)]
mod goodness_of_fit;
