//! Exact integer noise: random words from the operating system and the samplers built on them.
//!
//! Both laws have the form P(X = k) proportional to e^-E(k), E(k) = r |k|^p, with a rational r and
//! p of 1 (discrete Laplace) or 2 (discrete Gaussian). No floating-point value stands between the
//! random words and a draw, and a draw has exactly that law, for these reasons.
//!
//! *Inversion.* Let U be uniform on [0, 1), its binary digits being random bits, and F a
//! distribution function on 0, 1, ...: the smallest i with U < F(i) has the law F. The first digits
//! of U, 24 or 63, place it in an interval. A table holds integers within 1 of 2^63 F(i), and
//! decides only what all U in the interval decide alike. For the others, less than 2^-51 of all
//! with 63 digits, more are appended to the same U until bounds of F of the same precision decide.
//! So the outcome is that of the infinitely precise U. It takes forever with probability 0.
//!
//! *Blocks.* Where the law is narrow, |X| is drawn by inversion, with the weight e^-E(0) / 2 for 0
//! and e^-E(k) for the others; a fair sign leaves every k with half of e^-E(k). Where it is wide, a
//! block i of w = 2^b magnitudes is drawn with the weight e^-E(i w), a fair sign, and an offset
//! that is uniform on 0 .. w-1 if the sign is positive, 1 .. w if it is negative. With the
//! start s = i w, the value with the magnitude s + offset is kept with probability
//! e^-(E(s + offset) - E(s)), else all is drawn anew. Every integer comes from one block, sign and
//! offset alone, and is proposed and kept with a probability proportional to e^-E(s) e^-(E(s + offset) - E(s)) =
//! e^-E(k). Signs, offsets and the U of table and coin take different bits of the words, which are
//! independent.
//!
//! *The coin* with probability e^-x, x rational, is U < e^-x, decided like the inversion: by bounds
//! of e^-x in 64 bits, and where these leave U undecided, by bounds at the precision of more bits.
//!
//! *Bounds.* All are computed in integers, each operation rounded down for a lower bound and up for
//! an upper one, with the rest of an infinite sum bounded by a geometric series; the thresholds in
//! 128-bit integers that carry the sum of their rounding errors along, the others in big integers.
//!
//! The samplers of Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy"
//! (2020) are the tests' oracle.
//!
//! *Time.* The words that a draw takes and its time depend on the law and on these words, never on
//! data: the samplers do not see what noise is added to. They do depend on the noise: values in the
//! tails take longer to find, about 3 % of the draws of wide laws are rejected and repeated, and an
//! undecided one takes up to a millisecond. Who could time single draws would learn of the noise.

mod acceptance;
mod appearance;
mod exponential;
mod gaussian;
mod laplace;
mod law;
mod rational;
mod sampler;
mod table;
mod words;

pub use appearance::{Appearance, AppearanceError, MIN_DELTA};
#[cfg(test)]
pub(crate) use appearance::{CERTAIN, exp_neg_above};
pub use gaussian::DiscreteGaussian;
pub use laplace::DiscreteLaplace;
pub use rational::{MAX_SCALE, MIN_SCALE, Scale, ScaleError, shown};
pub(crate) use words::Key;
pub use words::{EntropyError, RandomWords, SystemWords, words_from_system};

#[cfg(test)]
mod bernoulli;
#[cfg(test)]
mod goodness_of_fit;
#[cfg(test)]
mod plain;
