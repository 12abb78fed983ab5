//! Correlated noise of equal variance on every node of a tree over the bins, with node sums that
//! are the sums of their children (Dharangutte, Gao, Gong, Wang 2025), in exact integers.
//!
//! # The noise
//!
//! The root has noise X of variance s^2. Where a node has m children and noise X, child i has
//! X/m + w_i, the w of covariance ((m+1)/m) (I - J/m) s^2, J all ones: they sum to X, and each has
//! variance s^2/m^2 + ((m+1)/m) (1 - 1/m) s^2 = s^2. For m = 2 that is X/2 +- sqrt(3)/2 Y; an only
//! child has its parent's noise.
//!
//! # The measurement
//!
//! That noise comes from integers: the total with noise of variance s^2 and, at every node, the
//! Helmert contrasts x_1 + ... + x_j - j x_{j+1} of the children's sums, j = 1 .. m - 1, with noise
//! of variance ((m+1)/m) j (j+1) s^2 each. Those are n integers for n bins. They determine the
//! bins, going down, by quotients with m and j (j+1): with the contrasts' vectors h_j, which are
//! orthogonal, of square length j (j+1) and orthogonal to the ones, child i is X/m + sum_j h_j[i]
//! c_j / (j (j+1)), and the noise of the second term has covariance ((m+1)/m) s^2 sum_j h_j h_j^T /
//! |h_j|^2, where the sum is the projection I - J/m.
//!
//! # The sensitivity
//!
//! A row in a bin adds 1 to the total, and at every ancestor h_j[i] to contrast j, i being the
//! child on the way. In units of the noise's variance over s^2 the square of the distance is
//!   1 + sum over ancestors of (m/(m+1)) sum_j h_j[i]^2 / (j (j+1)),
//! where sum_j h_j[i]^2 / |h_j|^2 = 1 - 1/m, again the projection's diagonal: whatever i is, an
//! ancestor adds (m-1)/(m+1). For a perfect binary tree of height k that is 1 + k/3.

pub(in crate::ranges) mod contrasts;
pub(in crate::ranges) mod grid;
pub(in crate::ranges) mod line;
pub(in crate::ranges::methods) mod method;
mod spread;
#[cfg(test)]
mod tests;
pub(in crate::ranges) mod tree;
