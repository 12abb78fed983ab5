//! PGSR: the consistent counts nearest to noisy ones, as exact integers (Fioretto, Van Hentenryck,
//! Zhu 2020, the post-processing of M_H^dp), without the paper's cost tables.
//!
//! Given noisy counts y and weights w > 0 per region and size, find integers x >= 0 that minimise
//! the sum of w (x - y)^2, where for every size a parent's x is the sum of its children's and, if a
//! total G is given, the root's x over all sizes sum to G.
//!
//! # Algorithm
//!
//! A *price* p is what one more group earns. A subtree *responds* to p with a root count k that
//! minimises (its least cost with root count k) - p k. Below a region v all children see the same
//! price. Per size:
//!
//! 1. Relax integrality. From the leaves up, the real response X_v(p) is piecewise linear with one
//!    kink per leaf: the children's responses add up, and v's own cost takes the child price q with
//!    response X to the price q + 2 w (X - y). From the root down this gives every region a price.
//! 2. From the leaves up, make the *integer* response of every subtree to its region's price: start
//!    with the rounded real response at a leaf, with the sum of the children's integer responses
//!    above. Then, as long as a unit more costs no more than the price (or the last one costs more
//!    than it), add (remove) a unit at the leaf where that is cheapest.
//!
//! The root's price is 0 where no total is given. Otherwise it is the one to which the real
//! responses of all sizes add up to G, and after step 2 units are added to, or taken from, the
//! cheapest size until the sum is G.
//!
//! # Why the result is optimal
//!
//! Let c_v(k) be the least cost of v's subtree with root count k, and m_v(k) = c_v(k+1) - c_v(k).
//!
//! *c_v is convex, and from an optimum for k the cheapest single unit at a leaf leads to one for
//! k+1, and the cheapest to be removed to one for k-1.* Clear at a leaf. Above, the children's
//! optimal costs together are an infimal convolution of convex sequences: its sequence of marginal
//! costs is theirs merged in order, which is non-decreasing; adding v's own, 2 w (k - y) + w, keeps
//! it so. Counts k_c are optimal for their sum if and only if m_a(k_a) >= m_b(k_b - 1) for all
//! children a, b, and the next optimum adds a unit where m is least, within that child's subtree by
//! induction at its cheapest leaf.
//!
//! *Step 2 therefore keeps every finished subtree optimal for its own root count*: children that
//! respond to the same p have m(k - 1) <= p <= m(k), which is the condition above, so together they
//! are optimal for their sum, and from there only cheapest units are moved. At the root, -down <= 0
//! <= up is optimality without a total; with one, the sizes are children of an imaginary region
//! that has no cost. None of this depends on where the prices come from: a rounding error in
//! step 1 costs time, never the optimum. In other words, the result is a solution that no exchange
//! of a single unit improves, and for this (laminar) problem such a solution is a global optimum.
//!
//! # Why it is fast
//!
//! *An integer response k of v to any price p is within B = (leaves below v) / 2 of the real
//! response x = X_v(p).* At a leaf it is the real one rounded. The bound adds up over children; let
//! it hold for them together, and let q be the price that they see at x. If k > x + B, the last
//! unit fits a child price of p - 2 w (k - 1/2 - y) < q, as k - 1/2 >= k - B > x; so the children's
//! real response to it, at least k - B, is at most that to q, which is x: a contradiction. Likewise
//! if k < x - B.
//!
//! So v's children together start within 2 B of the response that v looks for, and each region
//! costs at most as many moves as it has leaves: at most depth x leaves moves per size, and at the
//! top half the number of sizes times leaves. Above every region's children stands a tournament for
//! the cheapest, so a move costs O(depth + log regions). All together that is
//! O(regions sizes depth (depth + log regions)), whatever the counts. (In `f64` the starts are off
//! by a further 2^-52 of the counts.)
//!
//! # Exactness
//!
//! Marginal costs along a path are sums of at most `depth` terms w (2 (x - y) + 1), in `f64`. With
//! integer y and integer weights they are integers, and as long as they stay below 2^53 all that
//! decides optimality is exact: the result is an exact optimum. Otherwise two moves are told apart
//! up to the rounding of the terms on their paths. A term that is large although the total is small
//! has cancelled against another one, so its |x - y| is at least 1/2 and its share of the cost as
//! large as itself: what rounding can lose is of the order of 2^-52 of the cost per unit moved.
//! Feasibility is integer arithmetic and holds in any case.
//!
//! Where several optima cost the same, every size's root count is the largest one if no total is
//! given. Otherwise ties go to the first size and to the first child.

use super::tree::Tree;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Noisy counts of groups, one for every region and size, the regions in the tree's order.
#[derive(Debug, Clone, Copy)]
pub struct NoisyCounts<'a> {
    pub(super) tree: &'a Tree,
    pub(super) sizes: usize,
    pub(super) values: &'a [f64],
    pub(super) weights: Option<&'a [f64]>,
}

impl<'a> NoisyCounts<'a> {
    /// The largest and the smallest weight that can be told apart safely from 0 and infinity.
    pub const WEIGHTS: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

    /// Cell (region, size) is at `region * sizes + size`. Without weights, all are 1.
    ///
    /// Panics where there are too many or too few values or weights, where the magnitude of a
    /// value exceeds [`NoisyCounts::largest`], and where a weight is not in
    /// [`NoisyCounts::WEIGHTS`].
    pub fn new(
        tree: &'a Tree,
        sizes: usize,
        values: &'a [f64],
        weights: Option<&'a [f64]>,
    ) -> NoisyCounts<'a> {
        assert_eq!(values.len(), tree.regions().len() * sizes, "one value per region and size");
        let largest = NoisyCounts::largest(tree);
        assert!(values.iter().all(|value| value.abs() <= largest), "a value is too large");
        if let Some(weights) = weights {
            assert_eq!(weights.len(), values.len(), "one weight per value");
            let valid = |weight| NoisyCounts::WEIGHTS.contains(weight);
            assert!(weights.iter().all(valid), "a weight is not positive and finite");
        }
        NoisyCounts { tree, sizes, values, weights }
    }

    /// The largest magnitude of a value: sums over the leaves still fit a count.
    pub fn largest(tree: &Tree) -> f64 {
        LARGEST_SUM as f64 / tree.leaves().len().max(1) as f64
    }

    /// What [`pgsr`] minimises: the sum of w (x - y)^2.
    pub fn cost(&self, counts: &[u64]) -> f64 {
        assert_eq!(counts.len(), self.values.len());
        let cells = (0..self.tree.regions().len())
            .flat_map(|region| (0..self.sizes).map(move |size| (region, size)));
        cells.zip(counts).map(|((region, size), &x)| self.target(region, size).cost(x)).sum()
    }

    /// Whether groups have a place to be: a leaf and a size.
    ///
    /// Panics where a total cannot be met: above 2^62, or above 0 without a place.
    pub(super) fn has_room_for(&self, total: Option<u64>) -> bool {
        let room = !self.tree.leaves().is_empty() && self.sizes > 0;
        assert!(room || total.unwrap_or(0) == 0, "groups without a place to be");
        assert!(total.unwrap_or(0) <= LARGEST_SUM, "the total is too large");
        room
    }

    pub(super) fn target(&self, region: usize, size: usize) -> Target {
        let cell = region * self.sizes + size;
        Target { value: self.values[cell], weight: self.weights.map_or(1.0, |all| all[cell]) }
    }

    /// One size's cells in all regions.
    fn targets(&self, size: usize) -> Vec<Target> {
        (0..self.tree.regions().len()).map(|region| self.target(region, size)).collect()
    }
}

/// The largest sum of counts that is provided for.
pub(super) const LARGEST_SUM: u64 = 1 << 62;

/// The consistent counts of least cost: integers >= 0 in the order of the noisy ones, children
/// summing to their parents for every size, the root's summing to `total` if it is given.
///
/// `checkpoint` is called every few milliseconds; it may unwind.
///
/// Panics where a total cannot be met: above 2^62, or above 0 where there are no leaves or sizes.
pub fn pgsr(noisy: &NoisyCounts, total: Option<u64>, checkpoint: &mut dyn FnMut()) -> Vec<u64> {
    let (tree, sizes) = (noisy.tree, noisy.sizes);
    let mut counts = vec![0; noisy.values.len()];
    if !noisy.has_room_for(total) {
        return counts;
    }
    let mut relaxation = Relaxation::new(tree);
    let price = root_price(noisy, &mut relaxation, total, checkpoint);
    let tournament = Tournament::new(tree);
    let mut allocations = Vec::with_capacity(sizes);
    for size in 0..sizes {
        let targets = noisy.targets(size);
        relaxation.fit(&targets, checkpoint);
        let prices = relaxation.prices(&targets, price);
        allocations.push(Allocation::responding(&tournament, targets, &prices, checkpoint));
    }
    if let Some(total) = total {
        reach(&mut allocations, total, checkpoint);
    }
    for (size, allocation) in allocations.iter().enumerate() {
        checkpoint();
        for (row, &count) in counts.chunks_exact_mut(sizes).zip(&allocation.counts) {
            row[size] = count;
        }
    }
    counts
}

/// The real-valued optimum of the same problem, of which [`pgsr`] is the integer one: the counts
/// add up but for rounding errors. Rounded one by one, as M_H^r does, they would not any more.
///
/// `checkpoint` is called every few milliseconds; it may unwind.
///
/// Panics where a total cannot be met: above 2^62, or above 0 where there are no leaves or sizes.
pub fn pgsr_relaxed(
    noisy: &NoisyCounts,
    total: Option<u64>,
    checkpoint: &mut dyn FnMut(),
) -> Vec<f64> {
    let (tree, sizes) = (noisy.tree, noisy.sizes);
    let mut counts = vec![0.0; noisy.values.len()];
    if !noisy.has_room_for(total) {
        return counts;
    }
    let mut relaxation = Relaxation::new(tree);
    let price = root_price(noisy, &mut relaxation, total, checkpoint);
    for size in 0..sizes {
        let targets = noisy.targets(size);
        relaxation.fit(&targets, checkpoint);
        let prices = relaxation.prices(&targets, price);
        for leaf in tree.leaves() {
            counts[leaf * sizes + size] = targets[leaf].response(prices[leaf]).max(0.0);
        }
    }
    for region in (0..tree.leaves().start).rev() {
        for size in 0..sizes {
            let children = tree.regions()[region].children.clone();
            counts[region * sizes + size] =
                children.map(|child| counts[child * sizes + size]).sum();
        }
    }
    counts
}

/// The price that all sizes' roots see.
fn root_price(
    noisy: &NoisyCounts,
    relaxation: &mut Relaxation,
    total: Option<u64>,
    checkpoint: &mut dyn FnMut(),
) -> f64 {
    total.map_or(0.0, |total| clearing_price(noisy, relaxation, total, checkpoint))
}

/// A noisy count and the weight of its squared distance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub(super) value: f64,
    pub(super) weight: f64,
}

impl Target {
    pub(super) fn cost(self, count: u64) -> f64 {
        let distance = count as f64 - self.value;
        self.weight * distance * distance
    }

    /// The derivative of the cost.
    fn slope(self, count: f64) -> f64 {
        2.0 * self.weight * (count - self.value)
    }

    /// The count at which the derivative of the cost is the price.
    fn response(self, price: f64) -> f64 {
        price / (2.0 * self.weight) + self.value
    }

    /// What one unit more or less costs.
    fn moves(self, count: u64) -> Moves {
        let twice = 2.0 * (count as f64 - self.value);
        Moves { up: self.weight * (twice + 1.0), down: self.weight * (1.0 - twice) }
    }
}

// ---- the real-valued problem ----

/// A point of a response, as a function of the price; it goes on in a straight line to the next
/// kink. Before its first kink a response is 0.
#[derive(Debug, Clone, Copy)]
struct Kink {
    price: f64,
    count: f64,
    /// How much the price rises per unit from here on.
    stiffness: f64,
}

/// The real response of what lies below each region, for one size.
struct Relaxation<'a> {
    tree: &'a Tree,
    /// Which of the tree's leaves lie below each region.
    below: Vec<Range<usize>>,
    /// For each level, the kinks of the sum of the children's responses, in order of price, one for
    /// each leaf and at its region's place in [`Relaxation::below`].
    levels: Vec<Vec<Kink>>,
}

impl<'a> Relaxation<'a> {
    fn new(tree: &'a Tree) -> Relaxation<'a> {
        let leaves = tree.leaves();
        let mut below = vec![0..0; tree.regions().len()];
        for (place, region) in leaves.clone().enumerate() {
            below[region] = place..place + 1;
        }
        for region in (0..leaves.start).rev() {
            let children = &tree.regions()[region].children;
            below[region] = below[children.start].start..below[children.end - 1].end;
        }
        // below a leaf there is nothing that costs
        let free = Kink { price: 0.0, count: 0.0, stiffness: 0.0 };
        Relaxation { tree, below, levels: vec![vec![free; leaves.len()]; tree.depth()] }
    }

    fn fit(&mut self, targets: &[Target], checkpoint: &mut dyn FnMut()) {
        // the prices at which the slope of the sum changes, and by how much
        let mut turns: Vec<(f64, f64)> = Vec::new();
        for level in (0..self.levels.len() - 1).rev() {
            let (upper, lower) = self.levels.split_at_mut(level + 1);
            for region in self.tree.level(level) {
                checkpoint();
                turns.clear();
                for child in self.tree.regions()[region].children.clone() {
                    let target = targets[child];
                    let mut slope = 0.0;
                    turns.extend(lower[0][self.below[child].clone()].iter().map(|kink| {
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

    /// The price that each region sees when the root sees this one, and for a leaf its response.
    fn prices(&self, targets: &[Target], root: f64) -> Vec<f64> {
        let mut prices = vec![root; targets.len()];
        for level in 0..self.levels.len() {
            for region in self.tree.level(level) {
                let kinks = &self.levels[level][self.below[region].clone()];
                let (_, price) = respond(kinks, targets[region], prices[region]);
                prices[self.tree.regions()[region].children.clone()].fill(price);
            }
        }
        prices
    }
}

/// The real response of a region to a price, given that of its children together, and the price
/// that they see.
fn respond(kinks: &[Kink], target: Target, price: f64) -> (f64, f64) {
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

/// The price to which the real responses of all sizes add up to the total.
fn clearing_price(
    noisy: &NoisyCounts,
    relaxation: &mut Relaxation,
    total: u64,
    checkpoint: &mut dyn FnMut(),
) -> f64 {
    let mut roots: Vec<(Target, Vec<Kink>)> = Vec::with_capacity(noisy.sizes);
    for size in 0..noisy.sizes {
        let targets = noisy.targets(size);
        relaxation.fit(&targets, checkpoint);
        roots.push((targets[0], relaxation.levels[0].clone()));
    }
    last_price(total as f64, checkpoint, |price| {
        roots.iter().map(|(target, kinks)| respond(kinks, *target, price).0).sum()
    })
}

/// The last price to which a response that rises with the price is not more than the total: at most
/// 64 halvings of the floating-point numbers.
pub(super) fn last_price(
    total: f64,
    checkpoint: &mut dyn FnMut(),
    response: impl Fn(f64) -> f64,
) -> f64 {
    let (mut low, mut high) = (rank(-1e200), rank(1e200)); // beyond any price
    loop {
        checkpoint();
        let middle = i64::midpoint(low, high);
        if middle == low || middle == high {
            return ranked(low);
        }
        if response(ranked(middle)) > total { high = middle } else { low = middle }
    }
}

/// A number's place among all floating-point numbers in their order, without gaps.
fn rank(number: f64) -> i64 {
    let bits = number.to_bits() as i64;
    if bits < 0 { bits ^ i64::MAX } else { bits }
}

/// The number of a rank.
fn ranked(rank: i64) -> f64 {
    f64::from_bits(if rank < 0 { rank ^ i64::MAX } else { rank } as u64)
}

// ---- the integer problem ----

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// The least costs of a unit more and of a unit less in a subtree.
#[derive(Debug, Clone, Copy)]
struct Moves {
    up: f64,
    down: f64,
}

impl Moves {
    fn of(self, direction: Direction) -> f64 {
        match direction {
            Direction::Up => self.up,
            Direction::Down => self.down,
        }
    }

    fn plus(self, other: Moves) -> Moves {
        Moves { up: self.up + other.up, down: self.down + other.down }
    }

    fn or(self, other: Moves) -> Moves {
        Moves { up: self.up.min(other.up), down: self.down.min(other.down) }
    }
}

/// The tree with the children of every region joined in pairs: its nodes are the regions and, after
/// them, the joins.
struct Tournament<'a> {
    tree: &'a Tree,
    parents: Vec<usize>,
    /// None below a leaf, the same node twice below a region, two different ones below a join.
    children: Vec<Option<[usize; 2]>>,
    /// The joins below each region, every one after those that it joins.
    joins: Vec<Range<usize>>,
}

impl<'a> Tournament<'a> {
    fn new(tree: &'a Tree) -> Tournament<'a> {
        let regions = tree.regions().len();
        let mut this = Tournament {
            tree,
            parents: vec![0; regions],
            children: vec![None; regions],
            joins: vec![0..0; regions],
        };
        for region in 0..tree.leaves().start {
            let mut round: Vec<usize> = tree.regions()[region].children.clone().collect();
            let begin = this.children.len();
            while round.len() > 1 {
                round = round.chunks(2).map(|pair| this.join(pair)).collect();
            }
            this.joins[region] = begin..this.children.len();
            this.parents[round[0]] = region;
            this.children[region] = Some([round[0]; 2]);
        }
        this
    }

    fn join(&mut self, pair: &[usize]) -> usize {
        let &[a, b] = pair else { return pair[0] };
        let join = self.children.len();
        self.children.push(Some([a, b]));
        self.parents.push(0);
        (self.parents[a], self.parents[b]) = (join, join);
        join
    }
}

/// Consistent counts of one size.
struct Allocation<'a> {
    tournament: &'a Tournament<'a>,
    targets: Vec<Target>,
    counts: Vec<u64>,
    /// For every node of the tournament; that of a region contains its own cost.
    moves: Vec<Moves>,
}

impl<'a> Allocation<'a> {
    /// Every region's response to its price; of several the largest.
    fn responding(
        tournament: &'a Tournament<'a>,
        targets: Vec<Target>,
        prices: &[f64],
        checkpoint: &mut dyn FnMut(),
    ) -> Allocation<'a> {
        let tree = tournament.tree;
        let mut this = Allocation {
            tournament,
            counts: vec![0; targets.len()],
            moves: vec![Moves { up: 0.0, down: 0.0 }; tournament.children.len()],
            targets,
        };
        for region in (0..tree.regions().len()).rev() {
            let (target, price) = (this.targets[region], prices[region]);
            if tree.leaves().contains(&region) {
                // negative becomes 0
                this.counts[region] = (target.response(price) + 0.5).floor() as u64;
            } else {
                checkpoint();
                let children = tree.regions()[region].children.clone();
                this.counts[region] = this.counts[children].iter().sum();
                tournament.joins[region].clone().for_each(|join| this.refresh(join));
            }
            this.refresh(region);
            this.shift(region, Direction::Up, checkpoint, |moves| moves.up <= price);
            this.shift(region, Direction::Down, checkpoint, |moves| -moves.down > price);
        }
        this
    }

    fn shift(
        &mut self,
        top: usize,
        direction: Direction,
        checkpoint: &mut dyn FnMut(),
        worthwhile: impl Fn(Moves) -> bool,
    ) {
        let mut units = 0u64;
        while worthwhile(self.moves[top]) {
            self.shift_unit(top, direction);
            units += 1;
            if units.is_multiple_of(1024) {
                checkpoint();
            }
        }
    }

    /// Adds or removes the cheapest unit below a region.
    fn shift_unit(&mut self, top: usize, direction: Direction) {
        let mut node = top;
        while let Some([a, b]) = self.tournament.children[node] {
            let cost = |node: usize| self.moves[node].of(direction);
            node = if cost(a) <= cost(b) { a } else { b };
        }
        loop {
            if let Some(count) = self.counts.get_mut(node) {
                match direction {
                    Direction::Up => *count += 1,
                    Direction::Down => *count -= 1,
                }
            }
            self.refresh(node);
            if node == top {
                break;
            }
            node = self.tournament.parents[node];
        }
    }

    /// A node's moves from those of its children.
    fn refresh(&mut self, node: usize) {
        let below = match self.tournament.children[node] {
            Some([a, b]) => self.moves[a].or(self.moves[b]),
            None if self.counts[node] == 0 => Moves { up: 0.0, down: f64::INFINITY },
            None => Moves { up: 0.0, down: 0.0 },
        };
        self.moves[node] = match self.counts.get(node) {
            Some(&count) => self.targets[node].moves(count).plus(below),
            None => below,
        };
    }
}

/// Adds to the sizes, or takes from them, the cheapest units until their sum is the total.
fn reach(allocations: &mut [Allocation], total: u64, checkpoint: &mut dyn FnMut()) {
    let sum: u64 = allocations.iter().map(|allocation| allocation.counts[0]).sum();
    let direction = if sum < total { Direction::Up } else { Direction::Down };
    let offer = |(size, allocation): (usize, &Allocation)| {
        Reverse((rank(allocation.moves[0].of(direction)), size))
    };
    let mut offers: BinaryHeap<_> = allocations.iter().enumerate().map(offer).collect();
    for unit in 0..sum.abs_diff(total) {
        if unit.is_multiple_of(1024) {
            checkpoint();
        }
        let Some(mut best) = offers.peek_mut() else { return };
        let Reverse((_, size)) = *best;
        allocations[size].shift_unit(0, direction);
        *best = offer((size, &allocations[size]));
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::Rng;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;
    use std::collections::BTreeSet;

    pub(in crate::hierarchy) fn silent() {}

    pub(in crate::hierarchy) fn tree(
        depth: usize,
        leaves: impl IntoIterator<Item = Vec<u16>>,
    ) -> Tree {
        let named = |path: Vec<u16>| path.iter().map(|name| format!("{name:05}")).collect();
        let leaves = leaves.into_iter().map(|path| (named(path), ())).collect();
        Tree::from_leaves(depth, leaves).unwrap().0
    }

    /// A root with so many children, each with so many, and so on.
    pub(in crate::hierarchy) fn regular_tree(fan_outs: &[u16]) -> Tree {
        let mut paths = vec![vec![]];
        for &fan_out in fan_outs {
            let longer = |path: &Vec<u16>, name| path.iter().copied().chain([name]).collect();
            paths =
                paths.iter().flat_map(|p| (0..fan_out).map(move |name| longer(p, name))).collect();
        }
        tree(fan_outs.len(), paths)
    }

    pub(in crate::hierarchy) fn check_constraints(
        noisy: &NoisyCounts,
        counts: &[u64],
        total: Option<u64>,
    ) {
        let n = noisy.sizes;
        assert_eq!(counts.len(), noisy.values.len());
        for (region, parent) in noisy.tree.regions().iter().enumerate() {
            if !noisy.tree.leaves().contains(&region) {
                for size in 0..n {
                    let sum: u64 =
                        parent.children.clone().map(|child| counts[child * n + size]).sum();
                    assert_eq!(counts[region * n + size], sum);
                }
            }
        }
        if let Some(total) = total {
            assert_eq!(counts[..n].iter().sum::<u64>(), total);
        }
    }

    /// By how much the best exchange of a single unit changes the cost, relative to the largest
    /// term that occurs in it or 1: at least 0 for an optimum.
    fn best_exchange(noisy: &NoisyCounts, counts: &[u64], total: Option<u64>) -> f64 {
        let (tree, n) = (noisy.tree, noisy.sizes);
        let mut best = f64::INFINITY;
        let mut roots = vec![];
        let mut largest = 1.0f64;
        let least = |moves: &[Moves]| {
            moves.iter().fold(Moves { up: f64::INFINITY, down: f64::INFINITY }, |a, b| a.or(*b))
        };
        for size in 0..n {
            let mut moves = vec![Moves { up: 0.0, down: 0.0 }; tree.regions().len()];
            for region in (0..moves.len()).rev() {
                let (x, target) = (counts[region * n + size], noisy.target(region, size));
                let below = if tree.leaves().contains(&region) {
                    Moves { up: 0.0, down: if x == 0 { f64::INFINITY } else { 0.0 } }
                } else {
                    let below = least(&moves[tree.regions()[region].children.clone()]);
                    best = best.min(below.up + below.down);
                    below
                };
                let own = target.moves(x);
                largest = largest.max(own.up.abs());
                moves[region] = own.plus(below);
            }
            roots.push(moves[0]);
        }
        let root = least(&roots);
        best.min(if total.is_some() { root.up + root.down } else { root.up.min(root.down) })
            / largest
    }

    /// Every assignment of counts to the leaves whose sum is at most `limit`.
    pub(in crate::hierarchy) fn for_each_assignment(
        leaves: &mut [u64],
        from: usize,
        limit: u64,
        f: &mut dyn FnMut(&[u64]),
    ) {
        if from == leaves.len() {
            return f(leaves);
        }
        for x in 0..=limit {
            leaves[from] = x;
            for_each_assignment(leaves, from + 1, limit - x, f);
        }
    }

    /// The least cost of one size for each root count up to `limit`, over all assignments.
    fn costs_by_brute_force(noisy: &NoisyCounts, size: usize, limit: u64) -> Vec<f64> {
        let tree = noisy.tree;
        let mut least = vec![f64::INFINITY; limit as usize + 1];
        let mut x = vec![0; tree.regions().len()];
        for_each_assignment(&mut vec![0; tree.leaves().len()], 0, limit, &mut |leaves| {
            x[tree.leaves()].copy_from_slice(leaves);
            for region in (0..tree.leaves().start).rev() {
                x[region] = tree.regions()[region].children.clone().map(|child| x[child]).sum();
            }
            let cost = (0..x.len()).map(|region| noisy.target(region, size).cost(x[region])).sum();
            let least = &mut least[x[0] as usize];
            *least = least.min(cost);
        });
        least
    }

    /// The least sum over all ways to split the total among the sizes, or over all totals.
    fn split_by_brute_force(costs: &[Vec<f64>], total: Option<u64>) -> f64 {
        let Some((first, rest)) = costs.split_first() else {
            return if total.unwrap_or(0) == 0 { 0.0 } else { f64::INFINITY };
        };
        match total {
            None => {
                first.iter().copied().fold(f64::INFINITY, f64::min)
                    + split_by_brute_force(rest, None)
            }
            Some(total) => (0..=total)
                .map(|x| first[x as usize] + split_by_brute_force(rest, Some(total - x)))
                .fold(f64::INFINITY, f64::min),
        }
    }

    /// The paper's algorithm 1 without the region's own cost: the children's tables joined, for
    /// counts up to `limit`, from where each has its minimum, along their slopes in order.
    fn merged_tables(children: &[Vec<f64>], limit: usize) -> Vec<f64> {
        let mut merged = vec![f64::INFINITY; limit + 1];
        let minimum = |table: &Vec<f64>| {
            (0..table.len()).min_by(|&a, &b| table[a].total_cmp(&table[b])).unwrap()
        };
        let start: Vec<usize> = children.iter().map(minimum).collect();
        for upwards in [true, false] {
            let mut steps = vec![];
            for (child, table) in children.iter().enumerate() {
                if upwards {
                    let from = start[child] + 1..table.len();
                    steps.extend(from.map(|v| (table[v] - table[v - 1], child)));
                } else {
                    steps.extend((0..start[child]).rev().map(|v| (table[v] - table[v + 1], child)));
                }
            }
            steps.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut at = start.clone();
            let mut enter = |at: &[usize]| {
                if let Some(entry) = merged.get_mut(at.iter().sum::<usize>()) {
                    *entry = children.iter().zip(at).map(|(table, &v)| table[v]).sum();
                }
            };
            enter(&at);
            for (_, child) in steps {
                if upwards {
                    at[child] += 1
                } else {
                    at[child] -= 1
                }
                enter(&at);
            }
        }
        merged
    }

    /// The paper's dynamic program: a cost table per region and size; the sizes are the children of
    /// a region without a cost of its own.
    fn cost_by_tables(noisy: &NoisyCounts, total: Option<u64>, limit: u64) -> f64 {
        let tree = noisy.tree;
        let mut roots = vec![];
        for size in 0..noisy.sizes {
            let mut tables = vec![vec![]; tree.regions().len()];
            for region in (0..tables.len()).rev() {
                let mut table = if tree.leaves().contains(&region) {
                    vec![0.0; limit as usize + 1]
                } else {
                    let children = tree.regions()[region].children.clone();
                    merged_tables(&tables[children], limit as usize)
                };
                for (x, cost) in table.iter_mut().enumerate() {
                    *cost += noisy.target(region, size).cost(x as u64);
                }
                tables[region] = table;
            }
            roots.push(tables.swap_remove(0));
        }
        let all = merged_tables(&roots, limit as usize * noisy.sizes);
        match total {
            Some(total) => all[total as usize],
            None => all.into_iter().fold(f64::INFINITY, f64::min),
        }
    }

    #[derive(Debug, Clone)]
    pub(in crate::hierarchy) struct Case {
        pub(in crate::hierarchy) depth: usize,
        pub(in crate::hierarchy) leaves: BTreeSet<Vec<u16>>,
        pub(in crate::hierarchy) sizes: usize,
        pub(in crate::hierarchy) values: Vec<f64>,
        pub(in crate::hierarchy) weights: Vec<f64>,
        pub(in crate::hierarchy) total: u64,
    }

    /// More values and weights than any of the small trees has cells.
    const CELLS: usize = 4 * 16;

    /// Trees of 1 to 4 levels with 1 to 5 leaves, 1 to 4 sizes.
    pub(in crate::hierarchy) fn cases(
        value: impl Strategy<Value = f64> + 'static,
    ) -> impl Strategy<Value = Case> {
        let weight = prop_oneof![
            Just(1.0),
            (1u8..5).prop_map(f64::from),
            0.01f64..10.0,
            (-6i32..=6).prop_map(|exponent| 10f64.powi(exponent)),
        ];
        let values = prop::collection::vec(value, CELLS);
        let weights = prop::collection::vec(weight, CELLS);
        let leaves = (0usize..4).prop_flat_map(|depth| {
            let path = prop::collection::vec(0u16..3, depth);
            let leaves = prop::collection::btree_set(path, if depth == 0 { 1..2 } else { 1..6 });
            (Just(depth), leaves)
        });
        (leaves, 1usize..5, values, weights, 0u64..10).prop_map(
            |((depth, leaves), sizes, values, weights, total)| Case {
                depth,
                leaves,
                sizes,
                values,
                weights,
                total,
            },
        )
    }

    /// Integers, halves (every tie there is) and arbitrary fractions, also below zero.
    pub(in crate::hierarchy) fn small_values() -> impl Strategy<Value = f64> {
        prop_oneof![
            (-3i8..5).prop_map(f64::from),
            (-6i8..9).prop_map(|twice| f64::from(twice) / 2.0),
            -3.0f64..4.5,
        ]
    }

    pub(in crate::hierarchy) fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
    }

    impl Case {
        /// With and without weights, with and without a total.
        pub(in crate::hierarchy) fn for_each_variant(
            &self,
            mut f: impl FnMut(&NoisyCounts, Option<u64>) -> Result<(), TestCaseError>,
        ) -> Result<(), TestCaseError> {
            let tree = tree(self.depth, self.leaves.clone());
            let cells = tree.regions().len() * self.sizes;
            for weights in [None, Some(&self.weights[..cells])] {
                let noisy = NoisyCounts::new(&tree, self.sizes, &self.values[..cells], weights);
                for total in [None, Some(self.total)] {
                    f(&noisy, total)?;
                }
            }
            Ok(())
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2500))]

        #[test]
        fn the_cost_is_the_least_by_brute_force_and_by_the_papers_tables(
            case in cases(small_values()),
        ) {
            case.for_each_variant(|noisy, total| {
                let counts = pgsr(noisy, total, &mut silent);
                check_constraints(noisy, &counts, total);
                let cost = noisy.cost(&counts);
                // no leaf of an optimum is above every noisy value on its path, rounded up
                let largest = noisy.values.iter().copied().fold(0.0, f64::max).ceil() as u64;
                let limit = total.unwrap_or(largest * noisy.tree.leaves().len() as u64);
                let costs: Vec<Vec<f64>> =
                    (0..noisy.sizes).map(|size| costs_by_brute_force(noisy, size, limit)).collect();
                let least = split_by_brute_force(&costs, total);
                prop_assert!(close(cost, least), "{counts:?} costs {cost}, not {least}");
                let by_tables = cost_by_tables(noisy, total, limit);
                prop_assert!(close(cost, by_tables), "{cost}, by tables {by_tables}");
                prop_assert!(best_exchange(noisy, &counts, total) >= -1e-12);
                Ok(())
            })?;
        }

        /// Everything is decided in exact arithmetic; here the cost is an integer.
        #[test]
        fn integers_without_weights_give_the_very_optimum(
            case in cases((-40i8..60).prop_map(f64::from)),
            total in 0u64..60,
        ) {
            Case { total, ..case }.for_each_variant(|noisy, total| {
                if noisy.weights.is_none() {
                    let counts = pgsr(noisy, total, &mut silent);
                    check_constraints(noisy, &counts, total);
                    prop_assert!(best_exchange(noisy, &counts, total) >= 0.0);
                    let limit = total.unwrap_or(60 * noisy.tree.leaves().len() as u64);
                    prop_assert_eq!(noisy.cost(&counts), cost_by_tables(noisy, total, limit));
                }
                Ok(())
            })?;
        }

        /// The problem is convex, so prices prove an optimum: the marginal costs on the path to a
        /// leaf sum to the root's price where the leaf has groups, and to no less where it has none.
        #[test]
        fn the_relaxed_optimum_has_one_price(case in cases(small_values())) {
            case.for_each_variant(|noisy, total| {
                let counts = pgsr_relaxed(noisy, total, &mut silent);
                let (tree, sizes) = (noisy.tree, noisy.sizes);
                let sum: f64 = counts[..sizes].iter().sum();
                prop_assert!(total.is_none_or(|total| (sum - total as f64).abs() < 1e-6));
                let integers = pgsr(noisy, total, &mut silent);
                let cells = 0..counts.len();
                let cost: f64 = cells.clone().map(|cell| {
                    noisy.target(cell / sizes, cell % sizes).weight
                        * (counts[cell] - noisy.values[cell]).powi(2)
                }).sum();
                prop_assert!(cost <= noisy.cost(&integers) * (1.0 + 1e-9) + 1e-9);

                // the marginal cost along the path to each cell, and what rounding may do to it
                let mut paths = vec![(0.0, 0.0); counts.len()];
                for cell in cells {
                    let (region, size) = (cell / sizes, cell % sizes);
                    let target = noisy.target(region, size);
                    paths[cell].0 += target.slope(counts[cell]);
                    paths[cell].1 += 1e-12 * target.weight; // counts are small
                    let children = tree.regions()[region].children.clone();
                    children.clone().for_each(|child| paths[child * sizes + size] = paths[cell]);
                    let below: f64 = children.map(|child| counts[child * sizes + size]).sum();
                    let leaf = tree.leaves().contains(&region);
                    prop_assert!(counts[cell] >= 0.0 && (leaf || counts[cell] == below));
                }
                let leaves = tree.leaves().start * sizes..counts.len();
                let price = match total {
                    None => 0.0,
                    Some(_) => paths[leaves.clone()]
                        .iter()
                        .map(|(marginal, slack)| marginal + slack)
                        .fold(f64::INFINITY, f64::min),
                };
                for cell in leaves {
                    let (marginal, slack) = paths[cell];
                    prop_assert!(marginal + slack >= price);
                    prop_assert!(counts[cell] < 1e-9 || marginal - slack <= price);
                }
                Ok(())
            })?;
        }

        #[test]
        fn an_integer_response_is_near_the_real_one(
            case in cases(prop_oneof![small_values(), -1e4..1e6]),
            price in prop_oneof![-20.0..20.0, -1e6..1e6],
        ) {
            case.for_each_variant(|noisy, _| {
                let targets = noisy.targets(0);
                let mut relaxation = Relaxation::new(noisy.tree);
                relaxation.fit(&targets, &mut silent);
                let prices = relaxation.prices(&targets, price);
                let tournament = Tournament::new(noisy.tree);
                let integers =
                    Allocation::responding(&tournament, targets.clone(), &prices, &mut silent);
                let bound = noisy.tree.leaves().len() as f64 / 2.0;
                let (real, _) = respond(&relaxation.levels[0], targets[0], price);
                let apart = (integers.counts[0] as f64 - real).abs();
                prop_assert!(apart <= bound + 1e-9 * (1.0 + real), "{apart} > {bound}");
                Ok(())
            })?;
        }

        #[test]
        fn huge_counts_of_any_sign(
            case in cases((0i32..16, -1.0f64..1.0).prop_map(|(e, x)| (x * 10f64.powi(e)).round())),
            total in prop_oneof![0..10u64, 0..1u64 << 50],
        ) {
            Case { total, ..case }.for_each_variant(|noisy, total| {
                let counts = pgsr(noisy, total, &mut silent);
                check_constraints(noisy, &counts, total);
                prop_assert!(best_exchange(noisy, &counts, total) >= -1e-14);
                Ok(())
            })?;
        }

        /// Also where the count is so large that rounding the real response would miss it.
        #[test]
        fn a_leaf_responds_exactly(count in 0u64..1 << 53, price in -10.0..10.0) {
            let (tree, target) = (regular_tree(&[]), Target { value: count as f64, weight: 1.0 });
            let tournament = Tournament::new(&tree);
            let leaf = Allocation::responding(&tournament, vec![target], &[price], &mut silent);
            prop_assert!(leaf.moves[0].up > price && -leaf.moves[0].down <= price);
        }
    }

    fn solve(tree: &Tree, sizes: usize, values: &[f64], total: Option<u64>) -> (Vec<u64>, f64) {
        let noisy = NoisyCounts::new(tree, sizes, values, None);
        let counts = pgsr(&noisy, total, &mut silent);
        check_constraints(&noisy, &counts, total);
        let cost = noisy.cost(&counts);
        (counts, cost)
    }

    /// The paper's tables 5 and figure 4: noisy counts of size 1. (US 2, GA 2 costs 1 as well.)
    #[test]
    fn the_papers_example() {
        let tree = regular_tree(&[2]);
        let noisy = [2.0, 3.0, 0.0]; // US, GA, NY
        assert_eq!(solve(&tree, 1, &noisy, None), (vec![3, 3, 0], 1.0));
        for (total, cost) in [(2, 1.0), (3, 1.0), (4, 5.0), (5, 11.0)] {
            assert_eq!(solve(&tree, 1, &noisy, Some(total)).1, cost);
        }
    }

    #[test]
    fn a_root_alone_shares_its_total_among_the_sizes() {
        let tree = regular_tree(&[]);
        assert_eq!(solve(&tree, 3, &[1.4, -3.0, 2.6], None).0, [1, 0, 3]);
        assert_eq!(solve(&tree, 3, &[1.0, -3.0, 2.0], Some(5)).0, [2, 0, 3]);
        assert_eq!(solve(&tree, 3, &[1.0, -3.0, 2.0], Some(13)).1, 57.0);
        assert_eq!(solve(&tree, 3, &[1.0, -3.0, 2.0], Some(0)).0, [0, 0, 0]);
        assert_eq!(solve(&tree, 2, &[-7.0, -8.0], Some(1)).0, [1, 0]);
    }

    #[test]
    fn a_root_without_leaves_holds_nothing() {
        let tree = tree(2, []);
        assert_eq!(solve(&tree, 2, &[3.0, 4.0], None).0, [0, 0]);
        assert_eq!(solve(&tree, 2, &[3.0, 4.0], Some(0)).0, [0, 0]);
        assert_eq!(solve(&regular_tree(&[2]), 0, &[], Some(0)).0, [0u64; 0]);
    }

    /// The optimum is no rounding of the real one up or down: there the light leaf has 99.6.
    #[test]
    fn the_integer_optimum_can_be_far_from_the_real_one() {
        let tree = regular_tree(&[101]);
        let mut values = vec![0.4; 102];
        (values[0], values[1]) = (140.0, 99.6);
        let mut weights = vec![1.0; 102];
        (weights[0], weights[1]) = (1e6, 1e-6);
        let noisy = NoisyCounts::new(&tree, 1, &values, Some(&weights));
        let counts = pgsr(&noisy, None, &mut silent);
        let mut expected = vec![0; 102];
        (expected[0], expected[1]) = (140, 140);
        assert_eq!(counts, expected);
    }

    #[test]
    fn the_largest_values_and_the_most_different_weights() {
        let tree = regular_tree(&[2, 3]);
        let largest = NoisyCounts::largest(&tree);
        for sign in [1.0, -1.0] {
            let values: Vec<f64> =
                (0..9).map(|i| if i % 2 == 0 { largest } else { sign }).collect();
            for shift in 0..9 {
                let weights: Vec<f64> =
                    (0..9).map(|i| if (i + shift) % 3 == 0 { 1e-100 } else { 1e100 }).collect();
                for weights in [None, Some(&weights[..])] {
                    let noisy = NoisyCounts::new(&tree, 1, &values, weights);
                    for total in [None, Some(0), Some(LARGEST_SUM)] {
                        check_constraints(&noisy, &pgsr(&noisy, total, &mut silent), total);
                    }
                }
            }
        }
    }

    /// Noisy counts like a census's: most groups are small, leaves differ by orders of magnitude.
    pub(in crate::hierarchy) fn census(
        tree: &Tree,
        sizes: usize,
        scale: f64,
        seed: u64,
    ) -> (Vec<f64>, u64) {
        let mut words = ChaCha20Rng::seed_from_u64(seed);
        let mut uniform = || (words.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut truth = vec![0u64; tree.regions().len() * sizes];
        for leaf in tree.leaves() {
            let groups = 10f64.powf(2.0 + 4.0 * uniform());
            for size in 0..sizes {
                let share = 0.6 * 0.55f64.powi(size as i32) + 1e-4 / (1.0 + size as f64);
                truth[leaf * sizes + size] = (groups * share * 2.0 * uniform()) as u64;
            }
        }
        for region in (0..tree.leaves().start).rev() {
            for size in 0..sizes {
                let children = tree.regions()[region].children.clone();
                truth[region * sizes + size] =
                    children.map(|child| truth[child * sizes + size]).sum();
            }
        }
        let mut noise = || {
            let u = uniform() - 0.5;
            -scale * u.signum() * (1.0 - 2.0 * u.abs()).ln()
        };
        let noisy = truth.iter().map(|&x| (x as f64 + noise()).round()).collect();
        (noisy, truth[..sizes].iter().sum())
    }

    #[test]
    fn no_exchange_improves_a_larger_tree() {
        let tree = regular_tree(&[7, 6, 6]);
        let sizes = 200;
        let (values, total) = census(&tree, sizes, 60.0, 1);
        let fractions: Vec<f64> =
            values.iter().enumerate().map(|(i, y)| y + (i as f64).sin()).collect();
        let weights: Vec<f64> = (0..values.len()).map(|i| 1.0 + (i % 7) as f64).collect();
        for values in [&values, &fractions] {
            for weights in [None, Some(&weights[..])] {
                let noisy = NoisyCounts::new(&tree, sizes, values, weights);
                for total in [None, Some(total), Some(total / 2), Some(1_000_000_000_000)] {
                    let mut checks = 0;
                    let counts = pgsr(&noisy, total, &mut || checks += 1);
                    check_constraints(&noisy, &counts, total);
                    assert!(best_exchange(&noisy, &counts, total) >= -1e-15);
                    assert!(checks > sizes);
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "too large")]
    fn values_must_be_numbers() {
        NoisyCounts::new(&regular_tree(&[]), 1, &[f64::NAN], None);
    }

    #[test]
    #[should_panic(expected = "not positive and finite")]
    fn weights_must_be_positive() {
        NoisyCounts::new(&regular_tree(&[]), 1, &[1.0], Some(&[0.0]));
    }

    #[test]
    #[should_panic(expected = "without a place")]
    fn a_total_needs_leaves() {
        solve(&tree(1, []), 1, &[0.0], Some(1));
    }

    /// `cargo test --release --no-default-features census_of_counties -- --ignored --nocapture`
    #[test]
    #[ignore = "measures time"]
    fn census_of_counties_timed() {
        // 52 states, 3,144 counties
        let counties = |state: u16| if state < 24 { 61 } else { 60 };
        let paths = (0..52).flat_map(|s| (0..counties(s)).map(move |c| vec![s, c]));
        let county_tree = tree(2, paths);
        let sizes = 1000;
        for (name, tree) in [("counties", county_tree), ("flat", regular_tree(&[3196]))] {
            assert_eq!(tree.regions().len(), 3197);
            for scale in [6.0, 60.0] {
                let (values, total) = census(&tree, sizes, scale, 2);
                let weights: Vec<f64> = (0..values.len()).map(|i| 1.0 + (i % 7) as f64).collect();
                for (weights, total) in [
                    (None, None),
                    (None, Some(total)),
                    (Some(&weights[..]), Some(total)),
                    (None, Some(total / 1000)),
                    (None, Some(total * 1000)),
                ] {
                    let noisy = NoisyCounts::new(&tree, sizes, &values, weights);
                    let mut latest = std::time::Instant::now();
                    let mut pause = std::time::Duration::ZERO;
                    let begin = latest;
                    let counts = pgsr(&noisy, total, &mut || {
                        pause = pause.max(latest.elapsed());
                        latest = std::time::Instant::now();
                    });
                    println!(
                        "{name}, noise {scale}, weights {}, total {total:?}: {:.2} s, \
                         checkpoints at most {} ms apart",
                        weights.is_some(),
                        begin.elapsed().as_secs_f64(),
                        pause.as_millis()
                    );
                    check_constraints(&noisy, &counts, total);
                    assert!(best_exchange(&noisy, &counts, total) >= -1e-15);
                }
            }
        }
        if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
            println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or(""));
        }
    }
}
