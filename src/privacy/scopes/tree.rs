//! Sums in a tree of sums and of maxima: what each region has at most is kept up while charges come
//! and go.
//!
//! What a region has is the sum of its own charges and of the most that one of the regions right
//! below it has. Each node has two below it, so that a change is one of as many nodes as the tree is
//! deep.

use super::spent::Spent;

pub(super) struct Tree {
    nodes: Vec<Node>,
    root: usize,
}

#[derive(Clone, Copy)]
struct Node {
    kind: Kind,
    /// Of a maximum, what none of its cells has more of.
    spent: Spent,
    above: usize,
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// What is charged to all its cells.
    Own,
    /// What the first one comes to, on top of each cell of the second one.
    Sum(usize, usize),
    /// The cells of both.
    Most(usize, usize),
}

/// What looks at cells.
pub(super) trait Look {
    /// Whether a cell with these sums is to be taken. If not, none is that has no more of anything.
    fn is_wanted(&mut self, most: Spent) -> bool;

    /// Takes what a cell has, which is wanted.
    fn take(&mut self, spent: Spent);
}

/// The node above the root.
const NONE: usize = usize::MAX;

impl Tree {
    pub(super) fn new() -> Tree {
        Tree { nodes: Vec::new(), root: 0 }
    }

    /// The last node that is added is the root.
    pub(super) fn add(&mut self, kind: Kind) -> usize {
        let node = self.nodes.len();
        if let Kind::Sum(first, second) | Kind::Most(first, second) = kind {
            self.nodes[first].above = node;
            self.nodes[second].above = node;
        }
        self.nodes.push(Node { kind, spent: Spent::default(), above: NONE });
        self.root = node;
        node
    }

    /// The same of any number of nodes.
    pub(super) fn add_all(
        &mut self,
        kind: fn(usize, usize) -> Kind,
        mut nodes: Vec<usize>,
    ) -> usize {
        while nodes.len() > 1 {
            let pairs = nodes.chunks(2);
            nodes = pairs
                .map(|pair| match pair {
                    [first, second] => self.add(kind(*first, *second)),
                    _ => pair[0],
                })
                .collect();
        }
        nodes.pop().unwrap_or_else(|| self.add(Kind::Own))
    }

    /// Says what a node has of its own.
    pub(super) fn set(&mut self, node: usize, own: Spent) {
        let (mut node, mut spent) = (node, own);
        while self.nodes[node].spent != spent {
            self.nodes[node].spent = spent;
            node = self.nodes[node].above;
            let Some(above) = self.nodes.get(node) else { break };
            spent = match above.kind {
                Kind::Own => above.spent,
                Kind::Sum(first, second) => {
                    let mut sum = self.nodes[first].spent;
                    sum += self.nodes[second].spent;
                    sum
                }
                Kind::Most(first, second) => {
                    self.nodes[first].spent.largest(self.nodes[second].spent)
                }
            };
        }
    }

    /// What no cell has more of.
    pub(super) fn most(&self) -> Spent {
        self.nodes[self.root].spent
    }

    /// Looks at all cells, with `more` on top of each, but those of which it is clear that they are
    /// not wanted.
    pub(super) fn search(&self, more: Spent, look: &mut impl Look) {
        self.search_below(self.root, more, look);
    }

    fn search_below(&self, node: usize, more: Spent, look: &mut impl Look) {
        let Node { kind, spent, .. } = self.nodes[node];
        let mut most = more;
        most += spent;
        if !look.is_wanted(most) {
            return;
        }
        match kind {
            Kind::Own => look.take(most),
            Kind::Sum(first, second) => {
                let mut more = more;
                more += self.nodes[first].spent;
                self.search_below(second, more, look);
            }
            Kind::Most(first, second) => {
                self.search_below(first, more, look);
                self.search_below(second, more, look);
            }
        }
    }
}
