//! The integer problem: counts from which single units are moved.

use super::super::noisy_counts::Target;
use super::super::tree::Tree;
use super::relaxation::rank;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

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

impl Target {
    /// What one unit more or less costs.
    pub(super) fn moves(self, count: u64) -> Moves {
        let twice = 2.0 * (count as f64 - self.value);
        Moves { up: self.weight * (twice + 1.0), down: self.weight * (1.0 - twice) }
    }
}

/// The tree with the children of every region joined in pairs: its nodes are the regions and, after
/// them, the joins.
pub(super) struct Tournament<'a> {
    tree: &'a Tree,
    parents: Vec<usize>,
    /// None below a leaf, the same node twice below a region, two different ones below a join.
    children: Vec<Option<[usize; 2]>>,
    /// The joins below each region, every one after those that it joins.
    joins: Vec<Range<usize>>,
}

impl<'a> Tournament<'a> {
    pub(super) fn new(tree: &'a Tree) -> Tournament<'a> {
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
pub(super) struct Allocation<'a> {
    tournament: &'a Tournament<'a>,
    targets: Vec<Target>,
    pub(super) counts: Vec<u64>,
    /// For every node of the tournament; that of a region contains its own cost.
    pub(super) moves: Vec<Moves>,
}

impl<'a> Allocation<'a> {
    /// Every region's response to its price; of several the largest.
    pub(super) fn responding(
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
pub(super) fn reach(allocations: &mut [Allocation], total: u64, checkpoint: &mut dyn FnMut()) {
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
