//! The integer problem: counts from which single units are moved.

use super::relaxation::rank;
use crate::hierarchy::consistency::noisy_counts::{NoisyCounts, NoisyTarget};
use crate::hierarchy::tree::Tree;
use crate::work::{done, poll};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

/// To move a unit along a path of the tree takes about as long as so many draws.
const DRAWS_PER_UNIT: u64 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

/// The least costs of a unit more and of a unit less in a subtree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moves {
    pub(super) up: f64,
    pub(super) down: f64,
}

impl Moves {
    pub(super) fn of(self, direction: Direction) -> f64 {
        match direction {
            Direction::Up => self.up,
            Direction::Down => self.down,
        }
    }

    pub(super) fn plus(self, other: Moves) -> Moves {
        Moves { up: self.up + other.up, down: self.down + other.down }
    }

    pub(super) fn or(self, other: Moves) -> Moves {
        Moves { up: self.up.min(other.up), down: self.down.min(other.down) }
    }
}

impl NoisyTarget {
    /// What one unit more or less costs.
    pub(super) fn moves(self, count: u64) -> Moves {
        let twice = 2.0 * (count as f64 - self.value);
        Moves { up: self.weight * (twice + 1.0), down: self.weight * (1.0 - twice) }
    }
}

/// The tree with the children of every region joined in pairs: its nodes are the regions and, after
/// them, the joins. Numbers of 32 bits, as every size's allocation reads all of it.
pub(super) struct Tournament<'a> {
    tree: &'a Tree,
    parents: Vec<u32>,
    /// Two different ones below a join, the same one twice below a region, and a leaf below itself.
    children: Vec<[u32; 2]>,
    /// The joins below each region that is no leaf, every one after those that it joins.
    joins: Vec<Range<usize>>,
}

impl<'a> Tournament<'a> {
    pub(super) fn new(tree: &'a Tree) -> Tournament<'a> {
        let regions = tree.regions().len() as u32; // 2^31 would fill hundreds of gigabytes
        let mut this = Tournament {
            tree,
            parents: vec![0; regions as usize],
            children: (0..regions).map(|region| [region; 2]).collect(),
            joins: vec![],
        };
        for (number, region) in (0..).zip(&tree.regions()[..tree.leaves().start]) {
            let mut round: Vec<u32> = region.children.clone().map(|child| child as u32).collect();
            let begin = this.children.len();
            while round.len() > 1 {
                round = round.chunks(2).map(|pair| this.join(pair)).collect();
            }
            this.joins.push(begin..this.children.len());
            this.parents[round[0] as usize] = number;
            this.children[number as usize] = [round[0]; 2];
        }
        this
    }

    fn join(&mut self, pair: &[u32]) -> u32 {
        let &[a, b] = pair else { return pair[0] };
        let join = self.children.len() as u32;
        self.children.push([a, b]);
        self.parents.push(0);
        (self.parents[a as usize], self.parents[b as usize]) = (join, join);
        join
    }

    /// None below a leaf.
    fn children(&self, node: usize) -> Option<[usize; 2]> {
        let children = self.children[node].map(|child| child as usize);
        (children[0] != node).then_some(children)
    }
}

/// Consistent counts of one size.
pub(super) struct Allocation<'a> {
    tournament: &'a Tournament<'a>,
    targets: Cow<'a, [NoisyTarget]>,
    pub(super) counts: Vec<u64>,
    /// For every node of the tournament; that of a region contains its own cost.
    pub(super) moves: Vec<Moves>,
}

impl<'a> Allocation<'a> {
    /// Every region's response to its price; of several the largest.
    pub(super) fn responding(
        tournament: &'a Tournament<'a>,
        targets: &'a [NoisyTarget],
        prices: &[f64],
    ) -> Allocation<'a> {
        let tree = tournament.tree;
        let mut this = Allocation::new(tournament, targets.into(), vec![0; targets.len()]);
        for region in (0..tree.regions().len()).rev() {
            let (target, price) = (targets[region], prices[region]);
            if tree.leaves().contains(&region) {
                // negative becomes 0
                this.counts[region] = (target.response(price) + 0.5).floor() as u64;
            } else {
                poll();
                let children = tree.regions()[region].children.clone();
                this.counts[region] = this.counts[children].iter().sum();
            }
            this.refresh_region(region);
            this.shift(region, Direction::Up, |moves| moves.up <= price);
            this.shift(region, Direction::Down, |moves| -moves.down > price);
        }
        this
    }

    /// One that was made before and has these counts.
    fn again(
        tournament: &'a Tournament<'a>,
        targets: Vec<NoisyTarget>,
        counts: Vec<u64>,
    ) -> Allocation<'a> {
        let mut this = Allocation::new(tournament, targets.into(), counts);
        for region in (0..tournament.tree.regions().len()).rev() {
            if !tournament.tree.leaves().contains(&region) {
                poll();
            }
            this.refresh_region(region);
        }
        this
    }

    fn new(
        tournament: &'a Tournament<'a>,
        targets: Cow<'a, [NoisyTarget]>,
        counts: Vec<u64>,
    ) -> Allocation<'a> {
        let moves = vec![Moves { up: 0.0, down: 0.0 }; tournament.children.len()];
        Allocation { tournament, targets, counts, moves }
    }

    fn shift(&mut self, top: usize, direction: Direction, worthwhile: impl Fn(Moves) -> bool) {
        while worthwhile(self.moves[top]) {
            self.shift_unit(top, direction);
            done(DRAWS_PER_UNIT);
        }
    }

    /// Adds or removes the cheapest unit below a region.
    fn shift_unit(&mut self, top: usize, direction: Direction) {
        let mut node = top;
        while let Some([a, b]) = self.tournament.children(node) {
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
            node = self.tournament.parents[node] as usize;
        }
    }

    /// A region's moves from those of its children.
    fn refresh_region(&mut self, region: usize) {
        if let Some(joins) = self.tournament.joins.get(region) {
            joins.clone().for_each(|join| self.refresh(join));
        }
        self.refresh(region);
    }

    /// A node's moves from those of its children.
    fn refresh(&mut self, node: usize) {
        let below = match self.tournament.children(node) {
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

/// Adds to the sizes, or takes from them, the cheapest units until their sum is the total. `roots`:
/// what a unit costs at each size's root.
pub(super) fn reach(
    noisy: &NoisyCounts,
    tournament: &Tournament,
    roots: &[Moves],
    counts: &mut [u64],
    total: u64,
) {
    let regions = tournament.tree.regions().len();
    let sum: u64 = counts.iter().step_by(regions).sum();
    let direction = if sum < total { Direction::Up } else { Direction::Down };
    let offer = |size: usize, moves: &Moves| Reverse((rank(moves.of(direction)), size));
    let mut offers: BinaryHeap<_> =
        roots.iter().enumerate().map(|(size, moves)| offer(size, moves)).collect();
    // most sizes have no part in this
    let mut changed: HashMap<usize, Allocation> = HashMap::new();
    for _ in 0..sum.abs_diff(total) {
        done(DRAWS_PER_UNIT);
        let Some(mut best) = offers.peek_mut() else { break };
        let Reverse((_, size)) = *best;
        let allocation = changed.entry(size).or_insert_with(|| {
            let of_size = counts[size * regions..][..regions].to_vec();
            Allocation::again(tournament, noisy.targets(size), of_size)
        });
        allocation.shift_unit(0, direction);
        *best = offer(size, &allocation.moves[0]);
    }
    #[expect(clippy::iter_over_hash_type, reason = "each has a place of its own")]
    for (size, allocation) in changed {
        poll();
        counts[size * regions..][..regions].copy_from_slice(&allocation.counts);
    }
}
