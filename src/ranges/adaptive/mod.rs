//! Estimates that see the shape of a histogram: made of what was released, so that they cost nothing.
//!
//! An unbiased estimate of a range has the noise that the strategy gave it, whatever is counted. But
//! counts have a shape: neighbouring bins hold alike, or nothing at all, and at which scale they do
//! shows in the release itself. So it is learned from there ([`prior`]) how much each dyadic
//! difference of the histogram ([`differences`]) may be, and the histogram is estimated anew as the
//! posterior's mean, with that and with the strategy's own covariance ([`estimate`]). And no count is
//! below 0: of all sums that follow from such counts, the nearest ones are taken ([`monotone`]), and what
//! is close to 0 is known better ([`counted`]).
//!
//! All differences are estimated together. To shrink each alone, as one does where noise is
//! independent, would lose more than it gains: good strategies have little noise on ranges because
//! the errors of their parts cancel, and those of parts that are shrunk no longer do.

pub(super) mod counted;
mod differences;
pub(super) mod estimate;
mod monotone;
mod prior;
#[cfg(test)]
mod properties;
