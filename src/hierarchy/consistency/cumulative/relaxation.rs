//! The nearest consistent cumulative counts as real numbers: Newton's method on the prices of the
//! sums, with the duality gap as certificate.
//!
//! # The dual problem
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
//!
//! # Newton's method
//!
//! D is concave and once differentiable, with the gradient c_a - X_a, and it is quadratic wherever
//! the blocks of the leaves' fits stay the same. There a change dP of the prices moves a block of
//! total weight W by (sum of dP over the block) / (2 W), a block at a bound not at all. The Newton
//! equation is solved by conjugate gradients, where one product costs as much as one pass over the
//! blocks. They are preconditioned by the same matrix with only the diagonal of the leaves' part:
//! per size, that is a network of resistors on the tree, solved from the leaves up and back. A step
//! is shortened until D has risen enough and its slope does not point far back (the strong Wolfe
//! conditions). As soon as the right blocks are found, a full step leads to the optimum. With equal
//! weights 8 to 20 steps do for counties in states, each with 10 to 200 products. The more the
//! regions above weigh against the leaves, the flatter is D along prices that would break blocks
//! up, and the more steps it takes.
//!
//! # Why no QP crate
//!
//! Clarabel 0.11, an interior-point solver, finds the same optima (to 9e-9 of our lower bounds), but
//! its factorisation does not scale with the sizes. On one machine, with equal weights: 801 regions
//! with 100 sizes 2.0 s against 0.02 s here; 201 with 1,000 sizes 74 s and 0.3 GB against 0.24 s;
//! 3,197 with 1,000 sizes 872 s and 4.8 GB against 3.5 s and 0.14 GB.

use crate::hierarchy::consistency::noisy_counts::{NoisyCounts, Target, Weights, transposed};
use crate::hierarchy::consistency::pgsr::last_price;
use crate::hierarchy::consistency::totals::KnownTotals;
use crate::work::poll;

/// The gap, relative to the cost, with which a solution is good enough. Even if all of it lay in
/// one of 10,000 regions, that one's counts would be off by a hundredth of their distance from the
/// noisy ones.
pub(super) const RELATIVE_GAP: f64 = 1e-8;

/// Nor is a solution improved in which every sum is so near, in groups, to what its region wants:
/// rounding to integers will move it further.
pub(super) const LARGEST_MISS: f64 = 1e-3;

const MAX_STEPS: usize = 100;

/// Conjugate gradients end when the residual's norm has fallen so far, or after so many rounds:
/// any direction that they reach is one of ascent.
const RESIDUAL: f64 = 0.1;
const MAX_ROUNDS: usize = 200;

/// The share of the expected ascent that a step must make, and the share of the slope that may
/// point back after it. Without the latter, full steps leap to and fro across the kinks.
const SUFFICIENT_ASCENT: f64 = 1e-4;
const LARGEST_RETURN: f64 = 0.3;
const SHORTEST_STEP: f64 = 1e-9;

pub(super) struct Relaxed {
    /// Cumulative counts of every region and size, non-decreasing; children sum to parents up to
    /// rounding.
    pub(super) counts: Vec<f64>,
    pub(super) cost: f64,
    pub(super) lower_bound: f64,
}

/// Consecutive sizes whose counts are the same.
#[derive(Debug, Clone, Copy)]
struct Block {
    end: usize,
    value: f64,
    /// Infinite where a bound holds the block.
    weight: f64,
}

impl Block {
    /// How much the block moves when the price of one of its sizes rises by one.
    fn compliance(&self) -> f64 {
        0.5 / self.weight
    }
}

/// Pool-adjacent-violators: the block that a new last one forms with those before it whose values
/// are not less, and how many remain before.
fn pool(blocks: &[Block], mut last: Block) -> (usize, Block) {
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

fn push(blocks: &mut Vec<Block>, cell: Block) {
    let (kept, block) = pool(blocks, cell);
    blocks.truncate(kept);
    blocks.push(block);
}

/// The problem in the sizes whose counts are not fixed. Cells of the regions above the leaves are
/// at `region * free + size`.
struct Problem<'a> {
    sizes: usize,
    /// Cell (region, size) is at `region * sizes + size`.
    values: Vec<f64>,
    /// In the same order, where they are not those of regions.
    cell_weights: Vec<f64>,
    weights: Weights<'a>,
    totals: KnownTotals<'a>,
    free: usize,
    /// The regions above the leaves stand first.
    inner: usize,
    parents: Vec<usize>,
}

/// Prices, and what follows from them.
struct Response {
    prices: Vec<f64>,
    /// Each leaf's fit.
    blocks: Vec<Vec<Block>>,
    /// The gradient: what each region above the leaves wants more than its leaves give.
    misses: Vec<f64>,
    /// The compliance of what each lowest region above the leaves has below it.
    compliances: Vec<f64>,
    cost: f64,
    gap: f64,
}

impl Response {
    fn lower_bound(&self) -> f64 {
        self.cost - self.gap
    }

    fn is_good(&self) -> bool {
        self.gap <= RELATIVE_GAP * self.cost
            || self.misses.iter().all(|miss| miss.abs() <= LARGEST_MISS)
    }
}

/// The optimum up to [`RELATIVE_GAP`] or [`LARGEST_MISS`], or as near as floating-point numbers get
/// to it within [`MAX_STEPS`]. The tree has leaves, and there are sizes.
pub(super) fn relax(noisy: &NoisyCounts, totals: KnownTotals) -> Relaxed {
    let problem = Problem::new(noisy, totals);
    let mut at = problem.respond(vec![0.0; problem.inner * problem.free]);
    for _ in 0..MAX_STEPS {
        if at.is_good() {
            break;
        }
        let direction = problem.newton_direction(&at);
        match problem.ascend(&at, &direction) {
            Some(next) => at = next,
            None => break,
        }
    }
    Relaxed { counts: problem.counts(&at), cost: at.cost, lower_bound: at.lower_bound().max(0.0) }
}

impl<'a> Problem<'a> {
    fn new(noisy: &NoisyCounts<'a>, totals: KnownTotals<'a>) -> Problem<'a> {
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

    fn target(&self, region: usize, size: usize) -> Target {
        let cell = region * self.sizes + size;
        let weight = match self.weights {
            Weights::Equal => 1.0,
            Weights::OfRegions(weights) => weights[region],
            Weights::OfCells(_) => self.cell_weights[cell],
        };
        Target { value: self.values[cell], weight }
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
    fn add_down(&self, rows: &mut [f64]) {
        for region in 1..self.inner {
            let (above, row) = rows.split_at_mut(region * self.free);
            let parent = &above[self.parents[region] * self.free..];
            row.iter_mut().zip(parent).take(self.free).for_each(|(cell, up)| *cell += up);
        }
    }

    /// Adds every region's row to that of its parent, from the leaves up.
    fn add_up(&self, rows: &mut [f64]) {
        for region in (1..self.inner).rev() {
            let (above, row) = rows.split_at_mut(region * self.free);
            let parent = &mut above[self.parents[region] * self.free..];
            parent.iter_mut().zip(&*row).take(self.free).for_each(|(up, cell)| *up += cell);
        }
    }

    /// What leaves and regions make of prices; that of the fixed count is replaced.
    fn respond(&self, mut prices: Vec<f64>) -> Response {
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
            let Target { value, weight } = self.target(leaf, size);
            let seen = seen(leaf).get(size).map_or(0.0, |seen| seen + price);
            Block { end: size + 1, value: value + seen / (2.0 * weight), weight }
        };

        let before_last = if fixed.is_some() { free - 1 } else { free };
        let mut blocks: Vec<Vec<Block>> = leaves
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
    fn account(&self, prices: Vec<f64>, mut blocks: Vec<Vec<Block>>) -> Response {
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
                    *block = Block { value: within, weight: f64::INFINITY, ..*block };
                }
                for size in begin..block.end {
                    let Target { value, weight } = self.target(leaf, size);
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
                let Target { value, weight } = self.target(region, size);
                let sum = misses[cell];
                cost += weight * (sum - value).powi(2);
                misses[cell] = value - prices[cell] / (2.0 * weight) - sum;
                gap += weight * misses[cell].powi(2);
            }
        }
        Response { prices, blocks, misses, compliances, cost, gap }
    }

    /// How much less a region above the leaves wants when its price rises by one.
    fn compliance(&self, region: usize, size: usize) -> f64 {
        match self.fixed() {
            Some((fixed, _)) if fixed == region * self.free + size => 0.0,
            _ => 0.5 / self.target(region, size).weight,
        }
    }

    /// How much the misses fall when the prices rise by `change`, as long as the blocks stay.
    fn fall(&self, at: &Response, change: &[f64]) -> Vec<f64> {
        let free = self.free;
        let mut seen = change.to_vec();
        self.add_down(&mut seen);
        let mut fall = vec![0.0; change.len()];
        for (leaf, blocks) in (self.inner..).zip(&at.blocks) {
            poll();
            let row = self.parents[leaf] * free..(self.parents[leaf] + 1) * free;
            let (seen, fall) = (&seen[row.clone()], &mut fall[row]);
            let mut begin = 0;
            for block in blocks {
                if block.weight < f64::INFINITY {
                    let rise = block.compliance() * seen[begin..block.end].iter().sum::<f64>();
                    fall[begin..block.end].iter_mut().for_each(|cell| *cell += rise);
                }
                begin = block.end;
            }
        }
        self.add_up(&mut fall);
        for region in 0..self.inner {
            for size in 0..free {
                let cell = region * free + size;
                fall[cell] += self.compliance(region, size) * change[cell];
            }
        }
        fall
    }

    /// The change of prices that would make the misses fall by `misses`, if every leaf's count
    /// moved with its own price alone, by its share of the block's compliance.
    ///
    /// In the prices that leaves see (the sums along their paths) each size is a network on the
    /// tree: a resistor between a region and its parent, or the ground above the root, and one
    /// between each of the lowest regions and the ground, for its leaves.
    fn precondition(&self, at: &Response, misses: &[f64]) -> Vec<f64> {
        let free = self.free;
        let (mut own, mut flow) = (at.compliances.clone(), misses.to_vec());
        for region in (1..self.inner).rev() {
            for size in 0..free {
                let (cell, above) = (region * free + size, self.parents[region] * free + size);
                flow[above] -= misses[cell];
            }
        }
        for region in (0..self.inner).rev() {
            for size in 0..free {
                let cell = region * free + size;
                let link = self.compliance(region, size);
                let both = link + own[cell];
                if region > 0 {
                    let above = self.parents[region] * free + size;
                    flow[above] += link / both * flow[cell];
                    own[above] += link * (own[cell] / both);
                }
                own[cell] = both;
            }
        }
        let mut seen = flow;
        for region in 0..self.inner {
            for size in 0..free {
                let cell = region * free + size;
                let above = if region > 0 { seen[self.parents[region] * free + size] } else { 0.0 };
                // only below a fixed count can all be rigid; its price then stays
                let inflow = seen[cell] + self.compliance(region, size) * above;
                seen[cell] = if own[cell] > 0.0 { inflow / own[cell] } else { 0.0 };
            }
        }
        for region in (1..self.inner).rev() {
            for size in 0..free {
                seen[region * free + size] -= seen[self.parents[region] * free + size];
            }
        }
        seen
    }

    /// Preconditioned conjugate gradients on the Newton equation.
    fn newton_direction(&self, at: &Response) -> Vec<f64> {
        let mut residual = at.misses.clone();
        let mut step = self.precondition(at, &residual);
        let mut direction = vec![0.0; step.len()];
        let mut norm = dot(&residual, &step);
        let enough = RESIDUAL * RESIDUAL * norm;
        for _ in 0..MAX_ROUNDS {
            let fall = self.fall(at, &step);
            let length = norm / dot(&step, &fall);
            if !length.is_finite() {
                break;
            }
            add(&mut direction, length, &step);
            add(&mut residual, -length, &fall);
            let next = self.precondition(at, &residual);
            let before = std::mem::replace(&mut norm, dot(&residual, &next));
            if norm <= enough {
                break;
            }
            let keep = norm / before;
            step.iter_mut().zip(next).for_each(|(step, next)| *step = next + keep * *step);
        }
        direction
    }

    /// A step along the direction that raises the lower bound; None where none can be found.
    fn ascend(&self, at: &Response, direction: &[f64]) -> Option<Response> {
        let slope = dot(direction, &at.misses);
        let mut length = 1.0;
        while length >= SHORTEST_STEP {
            let mut prices = at.prices.clone();
            add(&mut prices, length, direction);
            let next = self.respond(prices);
            let next_slope = dot(direction, &next.misses);
            let ascent = next.lower_bound() - at.lower_bound();
            if ascent >= SUFFICIENT_ASCENT * length * slope && next_slope >= -LARGEST_RETURN * slope
            {
                return Some(next);
            }
            // where the slope would be 0 if it were linear
            let secant = slope / (slope - next_slope);
            length *= if secant.is_finite() { secant.clamp(0.1, 0.5) } else { 0.1 };
        }
        None
    }

    /// The fits of all regions for all sizes.
    fn counts(&self, at: &Response) -> Vec<f64> {
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

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(to: &mut [f64], factor: f64, what: &[f64]) {
    to.iter_mut().zip(what).for_each(|(to, what)| *to += factor * what);
}
