//! Releases that see the data before they measure them: of buckets of bins instead of bins, where
//! bins hold alike. They are found by one of two methods
//! ([`BucketMethod`](super::bucket_method::BucketMethod)); [`structure`] tells of the second one.
//!
//! By the first one, `aware`, it is measured with an eighth of the budget how far the bins of each
//! possible bucket are from a uniform density ([`deviations`]); what came of that, noisy as it is, decides which buckets are
//! released ([`partition`]), with the rest of the budget and the best strategy for so many, and their
//! sums are spread evenly over their bins ([`Buckets`](super::buckets::Buckets)). Fewer counts have
//! less noise, but what is uneven within a bucket is lost: answers are biased, by how much only the
//! deviations can tell ([`within`]).
//!
//! This is DAWA (Li, Hay, Miklau, Wang 2014) with another first stage. There the partition is the
//! noisy minimum over all partitions: nothing but the partition is released, and every bucket's cost
//! has noise of scale 4 / epsilon, as a row moves the deviation from the mean by 2 and that of the
//! partition compared with it by 2. A minimum over so many noisy costs chooses noise more than
//! buckets, and what would help, not to take a cost for less than 0, is no longer covered by the
//! proof: that shifts the noise of the one bucket that holds the row, which a cost at the end does
//! not follow. Here the deviations themselves are released: from the median density, which a row
//! moves by 1, and of buckets of few lengths, of which it lies in one each. So the noise is of scale
//! lengths / epsilon, and whatever is made of it is post-processing.

mod costs;
mod deviations;
mod partition;
pub(super) mod plan;
#[cfg(test)]
mod properties;
mod structure;
#[cfg(test)]
mod structure_properties;
mod within;
