//! All scopes of a dataset that were charged, and what their charges come to in each cell.
//!
//! Times are gone through in order, and at each where a charge begins or ends to hold the [tree] of
//! regions has what holds then. So n scopes take some n log n steps, however they overlap, unless in
//! many places the cells that have most of epsilon have not most of rho.
//!
//! [tree]: super::tree

use super::fullest::{Fullest, Limits, Search};
use super::kept::{self, Kept};
use super::scope::{Period, Rule, Scope};
use super::spent::Spent;
use super::tree::{Kind, Look, Tree};
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

#[derive(Debug, Clone, Default)]
pub struct Scopes {
    /// In order of their last scopes.
    rules: Vec<Rule>,
    /// Those that occur, in the order of their paths in bytes.
    regions: Vec<Region>,
    /// In order of rule and region.
    sums: Vec<Sum>,
    /// What is more is taken for more than any budget: so the sums of all of them can be added, and
    /// taken away again.
    most: i128,
}

#[derive(Debug, Clone)]
struct Region {
    path: Vec<u8>,
    /// Those below it come right after it, up to this one.
    end: usize,
}

#[derive(Debug, Clone)]
struct Sum {
    rule: usize,
    region: usize,
    period: Period,
    /// At most by one more than [`Scopes::most`].
    spent: Spent,
}

/// The scopes as they count in cells by one rule.
pub struct Cells<'a> {
    scopes: &'a Scopes,
    /// For each rule, whether it is of the same tables.
    of_tables: Vec<bool>,
    /// That rule, if there are scopes by it.
    rule: Option<usize>,
    /// What counts in every cell, as it was told apart by other tables.
    elsewhere: Spent,
}

impl Scopes {
    /// Of the bytes that the catalog has for them, one after the other. None if they are none.
    pub fn read(bytes: &[u8]) -> Option<Scopes> {
        Scopes::new(&kept::read(bytes, None)?)
    }

    /// The same of those alone that can count in a scope that is told by that rule.
    pub fn read_those_of(bytes: &[u8], scope: &Scope, rule: &Rule) -> Option<Scopes> {
        let part = (rule.tables.as_bytes(), scope.period);
        Scopes::new(&kept::read(bytes, Some(part))?)
    }

    /// Of the bytes of before, and of those that were changed since, or are new.
    pub fn read_changed(before: &[u8], changed: &[u8]) -> Option<Scopes> {
        let changed = kept::read(changed, None)?;
        let mut rows = kept::read(before, None)?;
        rows.retain(|row| changed.iter().all(|changed| changed.id != row.id));
        rows.extend(changed);
        Scopes::new(&rows)
    }

    /// By what cells are told apart.
    pub(super) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    fn new(kept: &[Kept]) -> Option<Scopes> {
        let (rules, mut rule_of) = numbered(kept.iter().map(|row| (row.tables, row.regions)));
        let mut last = vec![i64::MIN; rules.len()];
        for (row, rule) in kept.iter().zip(&rule_of) {
            last[*rule] = row.id.max(last[*rule]);
        }
        let rules = in_order(rules, &mut rule_of, |rule, _| last[rule]);
        let (paths, mut region_of) = numbered(kept.iter().map(|row| row.path));
        let paths = in_order(paths, &mut region_of, |_, path| path);

        let most = i128::MAX / (kept.len() as i128 + 1) - 1;
        let places = rule_of.into_iter().zip(region_of);
        let mut sums: Vec<Sum> = (kept.iter().zip(places))
            .map(|(row, (rule, region))| Sum {
                rule,
                region,
                period: row.period,
                spent: row.spent.capped(most + 1),
            })
            .collect();
        sums.sort_unstable_by_key(|sum| (sum.rule, sum.region));
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let rules = rules.into_iter().map(|(tables, regions)| {
            let regions = match regions {
                Some(regions) => Some(text(regions)?),
                None => None,
            };
            Some(Rule { tables: text(tables)?, regions })
        });
        Some(Scopes {
            rules: rules.collect::<Option<_>>()?,
            regions: (0..paths.len()).map(|place| region(&paths, place)).collect(),
            sums,
            most,
        })
    }

    /// The cell of the scope in which the smaller view is largest, or one whose budget is exceeded,
    /// if there is one. `rule`: the one that the scope is told by, if one is.
    pub fn fullest(&self, scope: &Scope, rule: Option<&Rule>, limits: &Limits) -> Fullest {
        self.cells(rule).fullest(scope, limits)
    }

    pub fn cells(&self, rule: Option<&Rule>) -> Cells<'_> {
        let tables = rule.or(self.rules.last()).map(|rule| &rule.tables);
        let of_tables: Vec<bool> =
            self.rules.iter().map(|rule| Some(&rule.tables) == tables).collect();
        let mut places = (0..self.rules.len()).filter(|place| of_tables[*place]);
        let regions = |place: usize| self.rules[place].regions.as_ref();
        // a scope of all regions goes by any table of groups: by the last one
        let rule = match rule.and_then(|rule| rule.regions.as_ref()) {
            Some(named) => places.find(|place| regions(*place) == Some(named)),
            None => {
                let last = places.clone().rfind(|place| regions(*place).is_some());
                last.or_else(|| places.next())
            }
        };

        let others: BTreeSet<&str> = (self.rules.iter().zip(&of_tables))
            .filter(|(_, is_of_tables)| !**is_of_tables)
            .map(|(rule, _)| &*rule.tables)
            .collect();
        let mut elsewhere = Spent::default();
        for tables in others {
            let sums = self.sums.iter().filter(|sum| self.rules[sum.rule].tables == tables);
            let mut most = Spent::default();
            self.each_time(&sums.collect::<Vec<_>>(), None, Period::ALL, |tree| {
                most = most.largest(tree.most());
            });
            elsewhere += most;
        }
        Cells { scopes: self, of_tables, rule, elsewhere }
    }

    /// The tree of those sums, in their order, at the start of the period and at each time in it at
    /// which one begins to hold. Cells are those of `rule`; of each other rule the most counts.
    fn each_time(
        &self,
        sums: &[&Sum],
        rule: Option<usize>,
        period: Period,
        mut visit: impl FnMut(&Tree),
    ) {
        let mut tree = Tree::new();
        let mut own = Vec::new();
        let mut cells = None;
        let mut others = Vec::new();
        for sums in sums.chunk_by(|a, b| a.rule == b.rule) {
            let regions = self.add_regions(&mut tree, sums, &mut own);
            if rule == Some(sums[0].rule) { cells = Some(regions) } else { others.push(regions) }
        }
        let others = tree.add_all(Kind::Sum, others);
        let cells = cells.unwrap_or_else(|| tree.add(Kind::Own));
        tree.add(Kind::Sum(others, cells));

        let (start, end) = period.ends();
        let mut changes: Vec<(i64, usize, bool, usize)> = Vec::with_capacity(2 * sums.len());
        for (place, sum) in sums.iter().enumerate() {
            let (begins, ends) = sum.period.ends();
            changes.push((begins.max(start), own[place], true, place));
            changes.extend(ends.map(|ends| (ends, own[place], false, place)));
        }
        changes.retain(|(time, ..)| end.is_none_or(|end| *time < end));
        changes.sort_unstable();
        let mut holds = vec![Spent::default(); own.last().map_or(0, |node| node + 1)];
        if changes.first().is_none_or(|(time, ..)| *time > start) {
            visit(&tree);
        }
        for changes in changes.chunk_by(|a, b| a.0 == b.0) {
            for of_region in changes.chunk_by(|a, b| a.1 == b.1) {
                let region = of_region[0].1;
                for (_, _, begins, place) in of_region {
                    let spent = sums[*place].spent;
                    if *begins {
                        holds[region] += spent;
                    } else {
                        holds[region] = holds[region].without(spent);
                    }
                }
                tree.set(region, holds[region].uncapped(self.most));
            }
            // where some only end, no cell has more than it had before
            if changes.iter().any(|(_, _, begins, _)| *begins) {
                visit(&tree);
            }
        }
    }

    /// Sums of one rule by their regions. `own` gets the nodes that have them, in their order.
    fn add_regions(&self, tree: &mut Tree, sums: &[&Sum], own: &mut Vec<usize>) -> usize {
        let mut beside = Vec::new();
        let mut rest = sums;
        while let Some(first) = rest.first() {
            let region = first.region;
            let (here, after) = rest.split_at(rest.partition_point(|sum| sum.region == region));
            let node = tree.add(Kind::Own);
            own.extend(here.iter().map(|_| node));
            let end = self.regions[region].end;
            let (below, after) = after.split_at(after.partition_point(|sum| sum.region < end));
            beside.push(match below {
                [] => node,
                _ => {
                    let below = self.add_regions(tree, below, own);
                    tree.add(Kind::Sum(node, below))
                }
            });
            rest = after;
        }
        tree.add_all(Kind::Most, beside)
    }
}

impl Cells<'_> {
    /// See [`Scopes::fullest`].
    pub fn fullest(&self, scope: &Scope, limits: &Limits) -> Fullest {
        let mut search = Search::new(limits);
        self.each(scope, &mut search);
        search.found().unwrap_or_else(|| limits.of_cell(self.elsewhere))
    }

    /// Shows all cells of the scope.
    pub(super) fn each(&self, scope: &Scope, look: &mut impl Look) {
        let regions = &self.scopes.regions;
        let path = kept::path(&scope.within);
        let first = regions.partition_point(|region| region.path < path);
        let below = regions[first..].partition_point(|region| region.path.starts_with(&path));
        let below = first..first + below;
        let is_nested =
            |place: usize| below.contains(&place) || path.starts_with(&regions[place].path);
        let sums: Vec<&Sum> = (self.scopes.sums.iter())
            .filter(|sum| self.of_tables[sum.rule] && sum.period.overlaps(scope.period))
            .filter(|sum| Some(sum.rule) != self.rule || is_nested(sum.region))
            .collect();
        self.scopes.each_time(&sums, self.rule, scope.period, |tree| {
            tree.search(self.elsewhere, look);
        });
    }
}

fn region(paths: &[&[u8]], place: usize) -> Region {
    let path = paths[place];
    let below = paths[place..].iter().take_while(|other| other.starts_with(path));
    Region { path: path.to_vec(), end: place + below.count() }
}

/// The values that occur, and for each one its number among them.
fn numbered<T: Copy + Eq + Hash>(values: impl Iterator<Item = T>) -> (Vec<T>, Vec<usize>) {
    let (mut distinct, mut number_of) = (Vec::<T>::new(), HashMap::new());
    let mut last = 0;
    let numbers = values.map(|value| {
        // mostly the same as before
        if distinct.get(last) != Some(&value) {
            last = *number_of.entry(value).or_insert_with(|| {
                distinct.push(value);
                distinct.len() - 1
            });
        }
        last
    });
    let numbers = numbers.collect();
    (distinct, numbers)
}

/// The values in order of their keys; `numbers` follow them.
fn in_order<T: Copy, K: Ord>(
    values: Vec<T>,
    numbers: &mut [usize],
    key: impl Fn(usize, T) -> K,
) -> Vec<T> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|number| key(*number, values[*number]));
    let mut place_of = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, number)| place_of[*number] = place);
    numbers.iter_mut().for_each(|number| *number = place_of[*number]);
    order.into_iter().map(|number| values[number]).collect()
}
