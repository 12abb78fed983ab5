//! The largest variance of any range of the cascade.

use super::contrasts::Contrasts;
use crate::work::done;

/// What joining the parts of one child takes, in units of [`done`].
const UNITS_PER_CHILD: u64 = 64;

/// A part of a node's bins that reaches to one of its ends, as far as it matters to what lies
/// beyond that end.
#[derive(Debug, Clone, Copy)]
struct EndPart {
    /// The multiple of the node's own noise that the part's noise has.
    share: f64,
    variance: f64,
}

/// The parts of a node that some range may make the most of.
#[derive(Debug, Default)]
struct EndParts {
    /// Those that begin where the node begins, the whole node among them.
    first: Vec<EndPart>,
    /// Those that end where it ends, the whole node among them.
    last: Vec<EndPart>,
}

#[derive(Debug, Clone, Copy)]
struct ChildNoise {
    variance: f64,
    /// With each of the children before it, which is the same for all.
    covariance: f64,
}

impl Contrasts {
    /// The largest variance of any range, of noise with these variances of the laws.
    pub(in crate::ranges) fn worst_range(&self, variances: &[f64]) -> f64 {
        let mut worst = 0.0;
        Search { contrasts: self, variances }.parts(0, variances[0], &mut worst);
        worst
    }
}

struct Search<'a> {
    contrasts: &'a Contrasts,
    /// of the laws
    variances: &'a [f64],
}

impl Search<'_> {
    /// The children of a node whose own variance is given.
    ///
    /// All have the same share of the node's noise. Child k has -k in contrast k and 1 in those
    /// after it; the children before have 1 in all of these.
    fn children(&self, node: usize, variance: f64) -> Vec<ChildNoise> {
        let m = self.contrasts.tree.children(node).len();
        let mut shared = variance / (m * m) as f64;
        let mut children = vec![ChildNoise { variance, covariance: 0.0 }; m];
        for k in (1..m).rev() {
            let square = ((k * (k + 1)) as f64).powi(2);
            let own = self.variances[self.contrasts.first_law[m] + k - 1] / square;
            let k_own = k as f64 * own;
            children[k] =
                ChildNoise { variance: shared + k as f64 * k_own, covariance: shared - k_own };
            shared += own;
        }
        if let Some(first) = children.first_mut() {
            first.variance = shared;
        }
        children
    }

    /// The parts of a node whose own variance is given, where `worst` takes in the ranges inside of
    /// it.
    ///
    /// A range that touches children i < k of a node consists of a last part of i, all between and
    /// a first part of k. Its variance is linear in share and variance of either part, the other
    /// held fixed, so the largest has both on the upper convex hulls, and only those are kept.
    /// What takes a part to one of a larger node, too, is linear and keeps the order of variances,
    /// so a hull's images contain the image's hull.
    fn parts(&self, node: usize, variance: f64, worst: &mut f64) -> EndParts {
        if self.contrasts.tree.is_leaf(node) {
            *worst = worst.max(variance);
            let whole = EndPart { share: 1.0, variance };
            return EndParts { first: vec![whole], last: vec![whole] };
        }
        let children = self.children(node, variance);
        done(UNITS_PER_CHILD * children.len() as u64);
        let mut parts = EndParts::default();
        // all children before this one, and what ends where they end; shares are sums still
        let mut before = EndPart { share: 0.0, variance: 0.0 };
        for (child, law) in self.contrasts.tree.children(node).zip(&children) {
            let own = self.parts(child, law.variance, worst);
            let joined = |left: &EndPart, right: &EndPart| EndPart {
                share: left.share + right.share,
                variance: left.variance
                    + right.variance
                    + 2.0 * left.share * right.share * law.covariance,
            };
            let pairs = parts.last.iter().flat_map(|left| own.first.iter().map(move |r| (left, r)));
            *worst = pairs.map(|(left, right)| joined(left, right).variance).fold(*worst, f64::max);

            let child_whole = EndPart { share: 1.0, variance: law.variance };
            parts.first.extend(own.first.iter().map(|part| joined(&before, part)));
            let longer = parts.last.iter().map(|part| joined(part, &child_whole));
            parts.last = upper_hull(longer.chain(own.last).collect());
            before = joined(&before, &child_whole);
        }
        parts.first = upper_hull(parts.first);
        for part in parts.first.iter_mut().chain(&mut parts.last) {
            part.share /= children.len() as f64;
        }
        parts
    }
}

/// The vertices of the smallest concave function above the points, by share.
fn upper_hull(mut points: Vec<EndPart>) -> Vec<EndPart> {
    points.sort_by(|a, b| a.share.total_cmp(&b.share).then(a.variance.total_cmp(&b.variance)));
    let mut hull: Vec<EndPart> = Vec::new();
    for point in points {
        while let [.., a, b] = hull[..]
            && (b.variance - a.variance) * (point.share - a.share)
                <= (point.variance - a.variance) * (b.share - a.share)
        {
            hull.pop();
        }
        if let [a] = hull[..]
            && a.share == point.share
        {
            hull.pop();
        }
        hull.push(point);
    }
    hull
}
