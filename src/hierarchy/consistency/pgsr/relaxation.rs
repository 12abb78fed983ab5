//! The real-valued problem: responses to prices.

use crate::hierarchy::consistency::noisy_counts::{NoisyCounts, NoisyTarget};
use crate::hierarchy::tree::Tree;
use crate::work::poll;
use std::mem::take;
use std::ops::Range;

/// A point of a response, as a function of the price; it goes on in a straight line to the next
/// kink. Before its first kink a response is 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kink {
    pub(super) price: f64,
    pub(super) count: f64,
    /// How much the price rises per unit from here on.
    pub(super) stiffness: f64,
}

/// Below a leaf there is nothing that costs.
const BELOW_LEAF: [Kink; 1] = [Kink { price: 0.0, count: 0.0, stiffness: 0.0 }];

/// The real response of what lies below each region, for one size.
pub(super) struct Relaxation<'a> {
    tree: &'a Tree,
    /// Which of the tree's leaves lie below each region that is none.
    below: Vec<Range<usize>>,
    /// For each level above the leaves, the kinks of the sum of the children's responses, in order
    /// of price, one for each leaf and at its region's place in [`Relaxation::below`].
    levels: Vec<Vec<Kink>>,
}

impl<'a> Relaxation<'a> {
    pub(super) fn new(tree: &'a Tree) -> Relaxation<'a> {
        let leaves = tree.leaves();
        let mut below = vec![0..0; leaves.start];
        for region in (0..leaves.start).rev() {
            let children = &tree.regions()[region].children;
            below[region] = match below.get(children.clone()) {
                Some(inner) => inner[0].start..inner[inner.len() - 1].end,
                None => children.start - leaves.start..children.end - leaves.start,
            };
        }
        let levels = vec![vec![BELOW_LEAF[0]; leaves.len()]; tree.depth() - 1];
        Relaxation { tree, below, levels }
    }

    /// The kinks of the sum of the responses of the root's children.
    pub(super) fn root(&self) -> &[Kink] {
        self.levels.first().map_or(&BELOW_LEAF, |level| level)
    }

    /// Makes the responses of the levels from `top` down.
    pub(super) fn fit(&mut self, top: usize, targets: &[NoisyTarget]) {
        // the prices at which the slope of the sum changes, and by how much
        let mut turns: Vec<(f64, f64)> = Vec::new();
        for level in (top..self.levels.len()).rev() {
            let (upper, lower) = self.levels.split_at_mut(level + 1);
            let below = |child: usize| match lower.first() {
                Some(level) => &level[self.below[child].clone()],
                None => &BELOW_LEAF,
            };
            for region in self.tree.level(level) {
                poll();
                turns.clear();
                for child in self.tree.regions()[region].children.clone() {
                    let target = targets[child];
                    let mut slope = 0.0;
                    turns.extend(below(child).iter().map(|kink| {
                        let before = slope;
                        slope = 1.0 / (kink.stiffness + 2.0 * target.weight);
                        (kink.price + target.slope(kink.count), slope - before)
                    }));
                }
                turns.sort_by(|a, b| a.0.total_cmp(&b.0));

                let (mut last, mut count, mut slope) = (turns[0].0, 0.0, 0.0);
                for (kink, &(price, gain)) in
                    upper[level][self.below[region].clone()].iter_mut().zip(&turns)
                {
                    count += slope * (price - last);
                    slope += gain;
                    last = price;
                    *kink = Kink { price, count, stiffness: 1.0 / slope };
                }
            }
        }
    }

    /// The price that each region sees when the root, below which are these kinks, sees this one.
    pub(super) fn prices(&self, targets: &[NoisyTarget], root: &[Kink], price: f64) -> Vec<f64> {
        let mut prices = vec![price; targets.len()];
        for (number, level) in self.levels.iter().enumerate() {
            for region in self.tree.level(number) {
                let kinks = if region == 0 { root } else { &level[self.below[region].clone()] };
                let (_, price) = respond(kinks, targets[region], prices[region]);
                prices[self.tree.regions()[region].children.clone()].fill(price);
            }
        }
        prices
    }
}

/// The real response of a region to a price, given that of its children together, and the price
/// that they see.
pub(super) fn respond(kinks: &[Kink], target: NoisyTarget, price: f64) -> (f64, f64) {
    let own = |kink: &Kink| kink.price + target.slope(kink.count);
    let passed = kinks.partition_point(|kink| own(kink) <= price);
    if passed == 0 {
        return (0.0, kinks[0].price);
    }
    let kink = kinks[passed - 1];
    let beyond = (price - own(&kink)) / (kink.stiffness + 2.0 * target.weight);
    // rounding must not lead past the next kink: from there on a price may mean far larger counts
    let next = kinks.get(passed).map_or(f64::INFINITY, |next| next.price);
    (kink.count + beyond, (kink.price + kink.stiffness * beyond).min(next))
}

/// The prices that clear: to them the real responses add up.
pub(super) struct Market<'a> {
    relaxation: Relaxation<'a>,
    /// The price that all sizes' roots see.
    price: f64,
    /// Where that had to be found, the kinks of every size's root.
    roots: Vec<Vec<Kink>>,
}

impl<'a> Market<'a> {
    /// Of all sizes, with the total if one is given.
    pub(super) fn new(noisy: &NoisyCounts<'a>, total: Option<u64>) -> Market<'a> {
        let mut this =
            Market { relaxation: Relaxation::new(noisy.tree), price: 0.0, roots: vec![] };
        if let Some(total) = total {
            let mut targets = Vec::with_capacity(noisy.sizes);
            for size in 0..noisy.sizes {
                let of_size = noisy.targets(size);
                this.relaxation.fit(0, &of_size);
                this.roots.push(this.relaxation.root().to_vec());
                targets.push(of_size[0]);
            }
            this.price = last_price(total as f64, |price| {
                let roots = targets.iter().zip(&this.roots);
                roots.map(|(target, kinks)| respond(kinks, *target, price).0).sum()
            });
        }
        this
    }

    /// The price that each region sees, for one size.
    pub(super) fn prices(&mut self, size: usize, targets: &[NoisyTarget]) -> Vec<f64> {
        match self.roots.get_mut(size) {
            Some(root) => {
                self.relaxation.fit(1, targets);
                let root = take(root); // no one asks for it again
                self.relaxation.prices(targets, &root, self.price)
            }
            None => {
                self.relaxation.fit(0, targets);
                self.relaxation.prices(targets, self.relaxation.root(), self.price)
            }
        }
    }
}

/// The last price to which a response that rises with the price is not more than the total: at most
/// 64 halvings of the floating-point numbers.
pub(in crate::hierarchy) fn last_price(total: f64, response: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (rank(-1e200), rank(1e200)); // beyond any price
    loop {
        poll();
        let middle = i64::midpoint(low, high);
        if middle == low || middle == high {
            return ranked(low);
        }
        if response(ranked(middle)) > total { high = middle } else { low = middle }
    }
}

/// A number's place among all floating-point numbers in their order, without gaps.
pub(super) fn rank(number: f64) -> i64 {
    let bits = number.to_bits() as i64;
    if bits < 0 { bits ^ i64::MAX } else { bits }
}

/// The number of a rank.
pub(super) fn ranked(rank: i64) -> f64 {
    f64::from_bits(if rank < 0 { rank ^ i64::MAX } else { rank } as u64)
}
