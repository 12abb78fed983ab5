//! The dual problem of the nearest consistent cumulative counts: prices of the sums.
//!
//! Only the leaves' counts x are variables; a region a above them has the sum X_a of its leaves.
//! Give a its own variable c_a and every unit of c_a - X_a the *price* p_a. Without the constraint
//! c_a = X_a the problem falls apart:
//!
//! - c_a = y_a - p_a / (2 w_a) is what the region *wants*;
//! - a leaf sees, per size, the sum P of the prices above it. It *responds* with the non-decreasing
//!   sequence within its bounds that is nearest to y + P / (2 w): a weighted isotonic regression,
//!   clamped.
//!
//! Their least cost D(p) is a lower bound of the problem's, the leaves' responses with their sums
//! are a solution of it, of cost F, and inserting c_a gives
//!
//!   F - D(p) = sum over the regions above the leaves of w_a (c_a - X_a)^2.
//!
//! So every p brings its own certificate, without cancellation. As F grows at least as the weighted
//! squared distance from the optimum, this *gap* also bounds the sum of w (c - c*)^2 over all
//! regions and sizes. Where only the root's total G is given, the root's last count has no noisy
//! value; its price is always the one to which the leaves respond with G together.

use crate::hierarchy::consistency::noisy_counts::{NoisyCounts, NoisyTarget, Weights, transposed};
use crate::hierarchy::consistency::pgsr::last_price;
use crate::hierarchy::consistency::totals::KnownTotals;
use crate::work::poll;

/// Consecutive sizes whose counts are the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plateau {
    pub(super) end: usize,
    pub(super) value: f64,
    /// Infinite where a bound holds the block.
    pub(super) weight: f64,
}

impl Plateau {
    /// How much the block moves when the price of one of its sizes rises by one.
    pub(super) fn compliance(&self) -> f64 {
        0.5 / self.weight
    }
}

/// Pool-adjacent-violators: the block that a new last one forms with those before it whose values
/// are not less, and how many remain before.
fn pool(blocks: &[Plateau], mut last: Plateau) -> (usize, Plateau) {
    let mut kept = blocks.len();
    while kept > 0 && blocks[kept - 1].value >= last.value {
        kept -= 1;
        let before = blocks[kept];
        let weight = before.weight + last.weight;
        // from the heavier value, so that equal ones stay and a negligible one does no harm
        let (heavy, light) =
            if before.weight > last.weight { (before, last) } else { (last, before) };
        last.value = heavy.value + (light.value - heavy.value) * (light.weight / weight);
        last.weight = weight;
    }
    (kept, last)
}

fn push(blocks: &mut Vec<Plateau>, cell: Plateau) {
    let (kept, block) = pool(blocks, cell);
    blocks.truncate(kept);
    blocks.push(block);
}

/// The problem in the sizes whose counts are not fixed. Cells of the regions above the leaves are
/// at `region * free + size`.
pub(super) struct Problem<'a> {
    pub(super) sizes: usize,
    /// Cell (region, size) is at `region * sizes + size`.
    pub(super) values: Vec<f64>,
    /// In the same order, where they are not those of regions.
    pub(super) cell_weights: Vec<f64>,
    pub(super) weights: Weights<'a>,
    pub(super) totals: KnownTotals<'a>,
    pub(super) free: usize,
    /// The regions above the leaves stand first.
    pub(super) inner: usize,
    pub(super) parents: Vec<usize>,
}

/// Prices, and what follows from them.
pub(super) struct Response {
    pub(super) prices: Vec<f64>,
    /// Each leaf's fit.
    pub(super) blocks: Vec<Vec<Plateau>>,
    /// The gradient: what each region above the leaves wants more than its leaves give.
    pub(super) misses: Vec<f64>,
    /// The compliance of what each lowest region above the leaves has below it.
    pub(super) compliances: Vec<f64>,
    pub(super) cost: f64,
    pub(super) gap: f64,
}

impl Response {
    pub(super) fn lower_bound(&self) -> f64 {
        self.cost - self.gap
    }
}

impl<'a> Problem<'a> {
    pub(super) fn new(noisy: &NoisyCounts<'a>, totals: KnownTotals<'a>) -> Problem<'a> {
        let (tree, sizes) = (noisy.tree, noisy.sizes);
        let mut parents = vec![0; tree.regions().len()];
        for (region, parent) in tree.regions().iter().enumerate() {
            parents[parent.children.clone()].fill(region);
        }
        let free = match totals {
            KnownTotals::Root(_) => sizes,
            KnownTotals::Regions(_) => sizes - 1,
        };
        let by_region = |cells: &[f64]| transposed(cells, tree.regions().len());
        let cell_weights = match noisy.weights {
            Weights::OfCells(weights) => by_region(weights),
            Weights::Equal | Weights::OfRegions(_) => vec![],
        };
        Problem {
            sizes,
            values: by_region(noisy.values),
            cell_weights,
            weights: noisy.weights,
            totals,
            free,
            inner: tree.leaves().start,
            parents,
        }
    }

    fn target(&self, region: usize, size: usize) -> NoisyTarget {
        let cell = region * self.sizes + size;
        let weight = match self.weights {
            Weights::Equal => 1.0,
            Weights::OfRegions(weights) => weights[region],
            Weights::OfCells(_) => self.cell_weights[cell],
        };
        NoisyTarget { value: self.values[cell], weight }
    }

    /// The most that a count of a leaf can be.
    fn bound(&self, leaf: usize) -> f64 {
        match self.totals {
            KnownTotals::Root(total) => total as f64,
            KnownTotals::Regions(totals) => totals[leaf] as f64,
        }
    }

    /// The cell above the leaves whose count is fixed, and its count.
    fn fixed(&self) -> Option<(usize, f64)> {
        match self.totals {
            KnownTotals::Root(total) => Some((self.free - 1, total as f64)),
            KnownTotals::Regions(_) => None,
        }
    }

    /// Adds to every region's row that of its parent, from the root down.
    pub(super) fn add_down(&self, rows: &mut [f64]) {
        for region in 1..self.inner {
            let (above, row) = rows.split_at_mut(region * self.free);
            let parent = &above[self.parents[region] * self.free..];
            row.iter_mut().zip(parent).take(self.free).for_each(|(cell, up)| *cell += up);
        }
    }

    /// Adds every region's row to that of its parent, from the leaves up.
    pub(super) fn add_up(&self, rows: &mut [f64]) {
        for region in (1..self.inner).rev() {
            let (above, row) = rows.split_at_mut(region * self.free);
            let parent = &mut above[self.parents[region] * self.free..];
            parent.iter_mut().zip(&*row).take(self.free).for_each(|(up, cell)| *up += cell);
        }
    }

    /// What leaves and regions make of prices; that of the fixed count is replaced.
    pub(super) fn respond(&self, mut prices: Vec<f64>) -> Response {
        let free = self.free;
        let fixed = self.fixed();
        if let Some((cell, _)) = fixed {
            prices[cell] = 0.0;
        }
        let mut seen = prices.clone();
        self.add_down(&mut seen);
        let leaves = self.inner..self.parents.len();
        let seen = |leaf: usize| match self.inner {
            0 => &[][..],
            _ => &seen[self.parents[leaf] * free..][..free],
        };
        let cell = |leaf: usize, size: usize, price: f64| {
            let NoisyTarget { value, weight } = self.target(leaf, size);
            let seen = seen(leaf).get(size).map_or(0.0, |seen| seen + price);
            Plateau { end: size + 1, value: value + seen / (2.0 * weight), weight }
        };

        let before_last = if fixed.is_some() { free - 1 } else { free };
        let mut blocks: Vec<Vec<Plateau>> = leaves
            .clone()
            .map(|leaf| {
                poll();
                let mut blocks = Vec::new();
                (0..before_last).for_each(|size| push(&mut blocks, cell(leaf, size, 0.0)));
                blocks
            })
            .collect();
        if let Some((fixed, total)) = fixed {
            let last = |leaf, price| cell(leaf, before_last, price);
            prices[fixed] = last_price(total, |price| {
                let counts = leaves.clone().zip(&blocks).map(|(leaf, blocks)| {
                    pool(blocks, last(leaf, price)).1.value.clamp(0.0, total)
                });
                counts.sum()
            });
            for (leaf, blocks) in leaves.clone().zip(&mut blocks) {
                push(blocks, last(leaf, prices[fixed]));
            }
        }
        self.account(prices, blocks)
    }

    /// The sums of the leaves' fits, once their bounds are kept, and all that follows from them.
    fn account(&self, prices: Vec<f64>, mut blocks: Vec<Vec<Plateau>>) -> Response {
        let free = self.free;
        let mut sums = vec![0.0; prices.len()];
        let mut compliances = vec![0.0; prices.len()];
        let mut cost = 0.0;
        for (leaf, blocks) in (self.inner..).zip(&mut blocks) {
            poll();
            let parent = self.parents[leaf] * free;
            let mut begin = 0;
            for block in blocks {
                let within = block.value.clamp(0.0, self.bound(leaf));
                if within != block.value {
                    *block = Plateau { value: within, weight: f64::INFINITY, ..*block };
                }
                for size in begin..block.end {
                    let NoisyTarget { value, weight } = self.target(leaf, size);
                    cost += weight * (within - value).powi(2);
                }
                if self.inner > 0 {
                    let cells = parent + begin..parent + block.end;
                    sums[cells.clone()].iter_mut().for_each(|sum| *sum += within);
                    compliances[cells].iter_mut().for_each(|c| *c += block.compliance());
                }
                begin = block.end;
            }
        }
        self.add_up(&mut sums);

        let mut misses = sums;
        let mut gap = 0.0;
        for region in 0..self.inner {
            for size in 0..free {
                let cell = region * free + size;
                if self.fixed().is_some_and(|(fixed, _)| fixed == cell) {
                    misses[cell] = 0.0;
                    continue;
                }
                let NoisyTarget { value, weight } = self.target(region, size);
                let sum = misses[cell];
                cost += weight * (sum - value).powi(2);
                misses[cell] = value - prices[cell] / (2.0 * weight) - sum;
                gap += weight * misses[cell].powi(2);
            }
        }
        Response { prices, blocks, misses, compliances, cost, gap }
    }

    /// How much less a region above the leaves wants when its price rises by one.
    pub(super) fn compliance(&self, region: usize, size: usize) -> f64 {
        match self.fixed() {
            Some((fixed, _)) if fixed == region * self.free + size => 0.0,
            _ => 0.5 / self.target(region, size).weight,
        }
    }

    /// The fits of all regions for all sizes.
    pub(super) fn counts(&self, at: &Response) -> Vec<f64> {
        let sizes = self.sizes;
        let mut counts = vec![0.0; self.values.len()];
        for (leaf, blocks) in (self.inner..).zip(&at.blocks) {
            poll();
            let row = &mut counts[leaf * sizes..][..sizes];
            let mut begin = 0;
            for block in blocks {
                row[begin..block.end].fill(block.value);
                begin = block.end;
            }
            row[begin..].fill(self.bound(leaf));
        }
        for region in (1..self.parents.len()).rev() {
            poll();
            let (above, row) = counts.split_at_mut(region * sizes);
            let parent = &mut above[self.parents[region] * sizes..];
            parent.iter_mut().zip(&*row).take(sizes).for_each(|(up, cell)| *up += cell);
        }
        counts
    }
}
