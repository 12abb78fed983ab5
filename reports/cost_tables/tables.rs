//! The dynamic program of M_H^dp with cost tables (Fioretto, Van Hentenryck, Zhu 2020, sections 6
//! and 7, algorithm 1), to be compared with what the extension does instead.
//!
//! It is the paper's algorithm, with three things that cost nothing and help it: a table entry is
//! the last one plus a slope, not a sum over all children anew; a merge ends where it leaves the
//! parent's domain; and the order of the slopes is kept from the way up, so that the way down has
//! nothing to solve. The sort is a merge sort that finds the children's slopes sorted already. It
//! is nonetheless most of the time: the paper sorts all slopes, and few of them lead to counts
//! within the parent's domain.

use pg_dp::hierarchy::Tree;
use std::ops::RangeInclusive;

/// The half width of every domain but the root's, three times the variance of the noise as the
/// paper approximates it (footnote 2).
pub fn half_width(scale: f64) -> u64 {
    3 * (2.0 * scale * scale).ceil() as u64
}

/// A least cost for each of consecutive counts; convex.
struct Table {
    first: u64,
    costs: Vec<f64>,
}

/// How the optimum for a sum is shared among the children: each begins at its cheapest count; then
/// the children named move by one, up or down, one after the other.
struct Merge {
    cheapest: Vec<u64>,
    up: Vec<u32>,
    down: Vec<u32>,
}

/// Consistent integers >= 0 that are nearest to the counts among those that differ from each by at
/// most `half_width`; None if there are none. Layout of the counts as in `NoisyCounts`.
pub fn consistent(
    tree: &Tree,
    sizes: usize,
    counts: &[i64],
    total: u64,
    half_width: u64,
) -> Option<Vec<u64>> {
    let regions = tree.regions().len();
    // bottom-up: one subtree per size, and a root above them all whose domain is the total
    let mut subtrees = Vec::with_capacity(sizes);
    let mut tables = Vec::with_capacity(sizes);
    for size in 0..sizes {
        let count = |region: usize| counts[size * regions + region];
        let (table, merges) = subtree_table(tree, count, half_width)?;
        tables.push(table);
        subtrees.push(merges);
    }
    let (_, root) = table_merge(&tables, total..=total)?;

    // top-down
    let mut result = vec![0; counts.len()];
    let mut values = vec![0; regions];
    for (size, (value, merges)) in root.share(total).into_iter().zip(subtrees).enumerate() {
        values[0] = value;
        for (region, merge) in merges.iter().enumerate() {
            let children = tree.regions()[region].children.clone();
            let shares = merge.share(values[region]);
            values[children].copy_from_slice(&shares);
        }
        result[size * regions..][..regions].copy_from_slice(&values);
    }
    Some(result)
}

/// The table of one size's root, and the merges of all regions that have children.
fn subtree_table(
    tree: &Tree,
    count: impl Fn(usize) -> i64,
    half_width: u64,
) -> Option<(Table, Vec<Merge>)> {
    let domain = |region: usize| {
        let end = |count: i64| count.max(0) as u64;
        let half_width = half_width as i64;
        end(count(region) - half_width)..=end(count(region) + half_width)
    };
    let with_own_cost = |mut table: Table, region: usize| {
        for (value, cost) in (table.first..).zip(&mut table.costs) {
            let distance = value as f64 - count(region) as f64;
            *cost += distance * distance;
        }
        table
    };

    let inner = tree.leaves().start;
    let mut merges: Vec<Merge> = Vec::with_capacity(inner);
    // the tables of one level, from the leaves up
    let mut tables: Vec<Table> = Vec::new();
    for level in (0..tree.depth()).rev() {
        let below = tree.level(level).end;
        let mut level_tables = Vec::with_capacity(tree.level(level).len());
        for region in tree.level(level) {
            let table = if region >= inner {
                let domain = domain(region);
                Table { first: *domain.start(), costs: vec![0.0; domain.count()] }
            } else {
                let children = tree.regions()[region].children.clone();
                let children = &tables[children.start - below..children.end - below];
                let (table, merge) = table_merge(children, domain(region))?;
                merges.push(merge);
                table
            };
            level_tables.push(with_own_cost(table, region));
        }
        tables = level_tables;
    }
    // level by level they came from the bottom up
    let mut in_order = Vec::with_capacity(inner);
    for level in 0..tree.depth() - 1 {
        let above = merges.len() - tree.level(level).len();
        in_order.extend(merges.split_off(above));
    }
    Some((tables.pop()?, in_order))
}

/// Algorithm 1 without the region's own cost: the least cost of the children together for each
/// count of the domain that they can reach; None if there is none.
fn table_merge(children: &[Table], domain: RangeInclusive<u64>) -> Option<(Table, Merge)> {
    let minima: Vec<usize> = children.iter().map(Table::cheapest).collect();
    let (mut ups, mut downs) = (Vec::new(), Vec::new());
    for ((child, table), &minimum) in (0u32..).zip(children).zip(&minima) {
        let (left, right) = (&table.costs[..=minimum], &table.costs[minimum..]);
        ups.extend(right.windows(2).map(|pair| (pair[1] - pair[0], child)));
        downs.extend(left.windows(2).rev().map(|pair| (pair[0] - pair[1], child)));
    }
    for slopes in [&mut ups, &mut downs] {
        slopes.sort_by(|a, b| a.0.total_cmp(&b.0));
    }

    let cheapest: Vec<u64> =
        children.iter().zip(&minima).map(|(table, &at)| table.first + at as u64).collect();
    let start: u64 = cheapest.iter().sum();
    let least: f64 = children.iter().zip(&minima).map(|(table, &at)| table.costs[at]).sum();
    // counts below the start in falling order, then the start and those above it
    let costs_along = |slopes: &[(f64, u32)]| -> Vec<f64> {
        let mut cost = least;
        slopes
            .iter()
            .map(|(slope, _)| {
                cost += slope;
                cost
            })
            .collect()
    };
    ups.truncate(domain.end().saturating_sub(start) as usize);
    downs.truncate(start.saturating_sub(*domain.start()) as usize);
    let mut costs = costs_along(&downs);
    costs.reverse();
    costs.push(least);
    costs.extend(costs_along(&ups));

    let first = start - downs.len() as u64;
    let skipped = domain.start().saturating_sub(first) as usize;
    let beyond = (first + costs.len() as u64 - 1).saturating_sub(*domain.end()) as usize;
    if skipped >= costs.len() || beyond >= costs.len() {
        return None;
    }
    costs.truncate(costs.len() - beyond);
    costs.drain(..skipped);
    let children_of =
        |slopes: Vec<(f64, u32)>| slopes.into_iter().map(|(_, child)| child).collect();
    let merge = Merge { cheapest, up: children_of(ups), down: children_of(downs) };
    Some((Table { first: first + skipped as u64, costs }, merge))
}

impl Table {
    fn cheapest(&self) -> usize {
        let rising = |pair: &[f64]| pair[0] < pair[1];
        self.costs.windows(2).position(rising).unwrap_or(self.costs.len() - 1)
    }
}

impl Merge {
    /// The children's counts for a sum that the table has.
    fn share(&self, sum: u64) -> Vec<u64> {
        let mut shares = self.cheapest.clone();
        let start: u64 = shares.iter().sum();
        for &child in self.up.iter().take(sum.saturating_sub(start) as usize) {
            shares[child as usize] += 1;
        }
        for &child in self.down.iter().take(start.saturating_sub(sum) as usize) {
            shares[child as usize] -= 1;
        }
        shares
    }
}
