//! How many bins there can be.

/// The most bins that a mechanism takes.
pub const MAX_BINS: usize = 1 << 24;

/// The most bins of the mechanisms whose measurements are convolutions: those take about 230 bytes
/// of memory a bin, and a transform, which cannot be cancelled, about 0.1 seconds at this number.
pub const MAX_CONVOLUTION_BINS: usize = 1 << 20;

/// The most bins of the root with weights, whose prefixes' variances take time n^2: about 0.2
/// seconds at this number.
pub const MAX_WEIGHTED_BINS: usize = 1 << 14;

/// The most bins of estimates that see the shape: those take about 300 bytes of memory a bin.
pub const MAX_ADAPTIVE_BINS: usize = 1 << 20;

/// The fewest bins of which buckets are found, by whatever method.
pub const MIN_AWARE_BINS: usize = 64;

/// The most bins of which buckets are found, by about 100 bytes of memory a bin.
pub const MAX_AWARE_BINS: usize = 1 << 20;

/// The most bins of which buckets are found one after another, from the costs of all runs of bins: in
/// a second or so, with 25 MB.
pub const MAX_STRUCTURE_BINS: usize = 1 << 11;
