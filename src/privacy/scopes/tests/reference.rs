//! The definition of what the cells' charges come to, gone through cell by cell.

use crate::privacy::scopes::{Fullest, Limits, Period, Rule, Scope, Spent};
use std::collections::BTreeSet;

/// The charges to one scope.
#[derive(Debug, Clone)]
pub(super) struct ScopeSum {
    pub(super) scope: Scope,
    pub(super) rule: Rule,
    pub(super) spent: Spent,
}

/// Of sums in the order of their first charges: the fullest cell of the scope.
pub(super) fn fullest(
    charged: &[ScopeSum],
    scope: &Scope,
    rule: Option<&Rule>,
    limits: &Limits,
) -> Fullest {
    let mut cells = Vec::new();
    visit(charged, scope, rule, |spent| cells.push(limits.of_cell(spent)));
    cells.into_iter().max_by(|a, b| a.order(b)).unwrap()
}

/// Gives what each cell of the scope has at most: those that charges tell apart.
fn visit(charged: &[ScopeSum], scope: &Scope, rule: Option<&Rule>, mut visit: impl FnMut(Spent)) {
    let Some(rule) = rule.or_else(|| charged.last().map(|last| &last.rule)) else {
        return visit(Spent::default());
    };
    // a scope of all regions goes by any table of groups: by the last one
    let regions = rule.regions.as_ref().or_else(|| {
        let of_tables = charged.iter().filter(|sum| sum.rule.tables == rule.tables);
        of_tables.filter_map(|sum| sum.rule.regions.as_ref()).next_back()
    });
    let mut by_tables: Vec<&ScopeSum> = charged.iter().collect();
    by_tables.sort_by(|a, b| (&a.rule, &a.scope.within).cmp(&(&b.rule, &b.scope.within)));

    let mut elsewhere = Spent::default();
    for sums in by_tables.chunk_by(|a, b| a.rule.tables == b.rule.tables) {
        if sums[0].rule.tables == rule.tables {
            continue;
        }
        let mut most = Spent::default();
        each_period(sums, Period::ALL, |active| {
            most = most.largest(largest_of_rules(active));
        });
        elsewhere += most;
    }

    let sums: Vec<&ScopeSum> = by_tables
        .into_iter()
        .filter(|sum| sum.rule.tables == rule.tables)
        .filter(|sum| {
            sum.rule.regions.as_ref() != regions || nested(&sum.scope.within, &scope.within)
        })
        .collect();
    each_period(&sums, scope.period, |active| {
        let (current, others): (Vec<&ScopeSum>, Vec<&ScopeSum>) =
            active.iter().partition(|sum| sum.rule.regions.as_ref() == regions);
        let mut outside = elsewhere;
        outside += largest_of_rules(&others);
        // what lies in the scope, and in none of those below it
        let mut above = outside;
        let mut below = Vec::new();
        each_region(&current, |within, spent| {
            let mut all = outside;
            all += spent;
            if within.len() <= scope.within.len() {
                above = all;
            } else {
                below.push(all);
            }
        });
        visit(above);
        below.into_iter().for_each(&mut visit);
    });
}

/// Whether one of the subtrees holds the other.
fn nested(one: &[String], other: &[String]) -> bool {
    one.iter().zip(other).all(|(a, b)| a == b)
}

/// The sums that hold a time, for each stretch of times of the period that has its own, one after
/// the other, in the order that they have.
fn each_period<'a>(sums: &[&'a ScopeSum], period: Period, mut visit: impl FnMut(&[&'a ScopeSum])) {
    let (first, end) = ends_of(period);
    // where each begins and ends to hold, within the period
    let mut begins = Vec::new();
    let mut ends = Vec::new();
    for (place, sum) in sums.iter().enumerate() {
        let (lower, upper) = ends_of(sum.scope.period);
        if lower < end && upper > first {
            begins.push((lower.max(first), place));
            ends.push((upper, place));
        }
    }
    begins.sort_unstable();
    ends.sort_unstable();
    let mut times: Vec<i128> = begins.iter().chain(&ends).map(|(time, _)| *time).collect();
    times.push(first);
    times.sort_unstable();
    times.dedup();
    let (mut begins, mut ends) = (begins.into_iter().peekable(), ends.into_iter().peekable());
    let mut active = BTreeSet::new();
    for time in times.into_iter().take_while(|time| *time < end) {
        while let Some((_, place)) = ends.next_if(|(upper, _)| *upper <= time) {
            active.remove(&place);
        }
        while let Some((_, place)) = begins.next_if(|(lower, _)| *lower <= time) {
            active.insert(place);
        }
        let holding: Vec<&ScopeSum> = active.iter().map(|place| sums[*place]).collect();
        visit(&holding);
    }
}

/// Of sums of one rule, in the order of their regions: what all those come to that hold a region, for
/// each that occurs.
fn each_region<'a>(sums: &[&'a ScopeSum], mut visit: impl FnMut(&'a [String], Spent)) {
    let mut above: Vec<(&[String], Spent)> = Vec::new();
    for of_region in sums.chunk_by(|a, b| a.scope.within == b.scope.within) {
        let within = &of_region[0].scope.within;
        while above.last().is_some_and(|(path, _)| !within.starts_with(path)) {
            above.pop();
        }
        let mut spent = above.last().map(|(_, spent)| *spent).unwrap_or_default();
        of_region.iter().for_each(|sum| spent += sum.spent);
        above.push((within, spent));
        visit(within, spent);
    }
}

/// Of sums in the order of their rules: for each the largest over its regions, all added up.
fn largest_of_rules(sums: &[&ScopeSum]) -> Spent {
    let mut all = Spent::default();
    for of_rule in sums.chunk_by(|a, b| a.rule == b.rule) {
        let mut most = Spent::default();
        each_region(of_rule, |_, spent| most = most.largest(spent));
        all += most;
    }
    all
}

/// Both ends, beyond all numbers where there is none.
fn ends_of(period: Period) -> (i128, i128) {
    (period.lower.map_or(i128::MIN, i128::from), period.upper.map_or(i128::MAX, i128::from))
}
