//! Charges that touch a part of the data alone: what they come to for a row, wherever it lies.
//!
//! A *scope* is a subtree of the regions and a range of periods. A row lies in one region and in one
//! period, its *cell*, and a release reads no row outside of the scope that it is charged with. What
//! counts against the budget is then the largest sum over any cell: two states cost what one costs.
//!
//! # Why that keeps the budget
//!
//! Take two neighbours, one of which has a row more, in cell c. A release whose scope does not hold c
//! reads the same rows of both, and tells of them with the same probabilities. So do the ledger's
//! refusals, which follow from the charges alone. In the likelihood ratio of a transcript the factors
//! of all those steps are 1, and what remains is that of the charges whose scopes hold c. If after
//! each of these one of the [two views](super::accounting) holds of their sums, so does the proof
//! there, with those charges in place of all: every sum in it is one over the steps that have another
//! ratio than 1. Each cell may be bounded by another view. Which cells there are is not taken from the
//! rows: one counts whether a row lies there or not.
//!
//! A row that is changed is one row less and another more, as ever: if its new cell is another one,
//! what was charged to both counts.
//!
//! # Where regions change
//!
//! Where a public table says to which region a row's group belongs, the row's cell changes with that
//! table, and no row was changed. So each charge says [by what](Rule) its cells are told. For one row,
//! the charges by another rule come to at most the largest sum of that rule over its cells, each of
//! epsilon, delta and rho by itself; this is added to every cell. Two rules that differ in the table
//! of groups alone agree on a row's period: the largest sum is then taken among the regions of the
//! same period.
//!
//! All this bounds, for every row and wherever it was under each rule, the sums of the charges that
//! could tell of it, and these are what the views are asked about.

use super::accounting::{Totals, Views};
use std::collections::BTreeSet;
use std::ops::AddAssign;

/// A part of the data.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    /// Of the region whose subtree it is, from the top level down.
    pub within: Vec<String>,
    pub period: Period,
}

/// From `lower` up to, not including, `upper`; None is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Period {
    pub lower: Option<i64>,
    pub upper: Option<i64>,
}

/// By what it is told in which cell a row lies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// The tables and columns.
    pub tables: String,
    /// Which regions the groups lie in; None for scopes of all regions.
    pub regions: Option<String>,
}

/// What charges come to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// In units of 10^-24, rounded up.
    pub epsilon: i128,
    pub delta: f64,
    pub rho: f64,
}

/// The charges to one scope.
#[derive(Debug, Clone, PartialEq)]
pub struct ScopeSum {
    pub scope: Scope,
    pub rule: Rule,
    pub spent: Spent,
}

/// What is asked of cells.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// What was charged to the data as a whole, and is asked for, if that is.
    pub everywhere: Totals,
    /// What this leaves of the budget for scopes, in the units of [`Spent::epsilon`].
    pub room: i128,
    pub epsilon_budget: f64,
    pub delta_budget: f64,
}

/// The fullest cell of a scope.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fullest {
    /// By charges to scopes.
    pub spent: Spent,
    /// By these and what was charged everywhere.
    pub views: Views,
    /// Whether neither view is within the budget there.
    pub exceeds: bool,
}

/// All scopes of a dataset that were charged, in the order of their first charges.
#[derive(Debug, Clone, Default)]
pub struct Scopes {
    pub sums: Vec<ScopeSum>,
}

impl Period {
    pub const ALL: Period = Period { lower: None, upper: None };

    /// Both ends, beyond all numbers where there is none.
    fn ends(self) -> (i128, i128) {
        (self.lower.map_or(i128::MIN, i128::from), self.upper.map_or(i128::MAX, i128::from))
    }
}

impl Scope {
    pub const ALL: Scope = Scope { within: Vec::new(), period: Period::ALL };
}

impl Spent {
    const UNITS: f64 = 1e24;

    fn largest(self, other: Spent) -> Spent {
        Spent {
            epsilon: self.epsilon.max(other.epsilon),
            delta: self.delta.max(other.delta),
            rho: self.rho.max(other.rho),
        }
    }

    /// Epsilon as a decimal.
    pub fn decimal(&self) -> String {
        let digits = format!("{:025}", self.epsilon.max(0));
        let (whole, fraction) = digits.split_at(digits.len() - 24);
        format!("{whole}.{fraction}")
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        let sum = |a: f64, b: f64| if a == 0.0 || b == 0.0 { a + b } else { (a + b).next_up() };
        self.epsilon = self.epsilon.saturating_add(other.epsilon);
        self.delta = sum(self.delta, other.delta);
        self.rho = sum(self.rho, other.rho);
    }
}

impl Limits {
    fn totals(&self, spent: Spent) -> Totals {
        Totals {
            epsilon_sum: self.everywhere.epsilon_sum + spent.epsilon as f64 / Spent::UNITS,
            rho: self.everywhere.rho + spent.rho,
            delta_sum: self.everywhere.delta_sum + spent.delta,
        }
    }
}

impl Scopes {
    /// The cell of the scope in which the smaller view is largest; the first one whose budget is
    /// exceeded, if there is one. `rule`: the one that the scope is told by, if one is.
    pub fn fullest(&self, scope: &Scope, rule: Option<&Rule>, limits: &Limits) -> Fullest {
        let mut fullest: Option<(f64, Fullest)> = None;
        // no rho up to here has a view above that of the fullest cell, or of the budget
        let (mut lower, mut allowed) = (-1.0f64, -1.0f64);
        self.visit(scope, rule, |spent| {
            if fullest.is_some_and(|(_, cell)| cell.exceeds) {
                return;
            }
            let totals = limits.totals(spent);
            let basic = totals.basic(limits.delta_budget);
            let is_basic = basic.is_some() && spent.epsilon <= limits.room;
            let exceeds = !is_basic && totals.rho > allowed && {
                let bound = totals.zcdp(limits.delta_budget);
                let exceeds = bound.is_none_or(|bound| bound > limits.epsilon_budget);
                if !exceeds {
                    allowed = totals.rho;
                }
                exceeds
            };
            let least = fullest.map_or(-1.0, |(least, _)| least);
            if !exceeds && (basic.is_some_and(|basic| basic <= least) || totals.rho <= lower) {
                return;
            }
            let views = totals.views(limits.delta_budget);
            let smaller = views.smaller().unwrap_or(f64::INFINITY);
            if exceeds || smaller > least {
                fullest = Some((smaller, Fullest { spent, views, exceeds }));
            } else if views.zcdp.is_some_and(|zcdp| zcdp <= least) {
                lower = totals.rho;
            }
        });
        fullest.map_or(
            Fullest {
                spent: Spent::default(),
                views: limits.totals(Spent::default()).views(limits.delta_budget),
                exceeds: true,
            },
            |(_, fullest)| fullest,
        )
    }

    /// Gives what each cell of the scope has at most: those that charges tell apart.
    fn visit(&self, scope: &Scope, rule: Option<&Rule>, mut visit: impl FnMut(Spent)) {
        let Some(rule) = rule.or_else(|| self.sums.last().map(|last| &last.rule)) else {
            return visit(Spent::default());
        };
        // a scope of all regions goes by any table of groups: by the last one
        let regions = rule.regions.as_ref().or_else(|| {
            let of_tables = self.sums.iter().filter(|sum| sum.rule.tables == rule.tables);
            of_tables.filter_map(|sum| sum.rule.regions.as_ref()).next_back()
        });
        let mut by_tables: Vec<&ScopeSum> = self.sums.iter().collect();
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
}

/// Whether one of the subtrees holds the other.
fn nested(one: &[String], other: &[String]) -> bool {
    one.iter().zip(other).all(|(a, b)| a == b)
}

/// The sums that hold a time, for each stretch of times of the period that has its own, one after
/// the other, in the order that they have.
fn each_period<'a>(sums: &[&'a ScopeSum], period: Period, mut visit: impl FnMut(&[&'a ScopeSum])) {
    let (first, end) = period.ends();
    // where each begins and ends to hold, within the period
    let mut begins = Vec::new();
    let mut ends = Vec::new();
    for (place, sum) in sums.iter().enumerate() {
        let (lower, upper) = sum.scope.period.ends();
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

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    /// Of epsilons that are multiples of a quarter, with rhos and deltas that `f64`s hold.
    const QUARTER: i128 = 250_000_000_000_000_000_000_000;
    const REGIONS: [&[&str]; 6] =
        [&["a", "x"], &["a", "y"], &["a", "z"], &["b", "x"], &["b", "y"], &["c", "x"]];
    const TIMES: i64 = 5;

    fn scope(within: &[&str], lower: Option<i64>, upper: Option<i64>) -> Scope {
        let within = within.iter().map(|name| name.to_string()).collect();
        Scope { within, period: Period { lower, upper } }
    }

    fn rule(tables: &str, regions: Option<&str>) -> Rule {
        Rule { tables: tables.into(), regions: regions.map(str::to_string) }
    }

    fn spent(quarters: i128, delta: f64) -> Spent {
        Spent { epsilon: quarters * QUARTER, delta, rho: quarters as f64 / 8.0 }
    }

    fn limits(delta_budget: f64) -> Limits {
        Limits {
            everywhere: Totals { epsilon_sum: 0.0, rho: 0.0, delta_sum: 0.0 },
            room: 8 * QUARTER,
            epsilon_budget: 2.0,
            delta_budget,
        }
    }

    fn charged(charges: &[(Scope, Rule, i128)]) -> Scopes {
        let sum = |(scope, rule, quarters): &(Scope, Rule, i128)| ScopeSum {
            scope: scope.clone(),
            rule: rule.clone(),
            spent: spent(*quarters, 0.0),
        };
        Scopes { sums: charges.iter().map(sum).collect() }
    }

    fn fullest(scopes: &Scopes, scope: &Scope, rule: Option<&Rule>) -> i128 {
        scopes.fullest(scope, rule, &limits(0.0)).spent.epsilon / QUARTER
    }

    #[test]
    fn two_states_cost_what_one_costs() {
        let rule = rule("t", Some("g"));
        let state = |name| (scope(&[name], None, None), rule.clone(), 3);
        let mut charges = vec![state("a"), state("b")];
        assert_eq!(fullest(&charged(&charges), &Scope::ALL, None), 3);
        // what lies above adds up with what lies below
        charges.push((scope(&["a", "x"], None, None), rule.clone(), 2));
        assert_eq!(fullest(&charged(&charges), &Scope::ALL, None), 5);
        assert_eq!(fullest(&charged(&charges), &scope(&["a"], None, None), Some(&rule)), 5);
        assert_eq!(fullest(&charged(&charges), &scope(&["a", "y"], None, None), Some(&rule)), 3);
        assert_eq!(fullest(&charged(&charges), &scope(&["c"], None, None), Some(&rule)), 0);
    }

    #[test]
    fn periods_add_up_where_they_overlap() {
        let rule = rule("t", None);
        let period = |lower, upper| (scope(&[], Some(lower), Some(upper)), rule.clone(), 3);
        assert_eq!(fullest(&charged(&[period(0, 3), period(3, 6)]), &Scope::ALL, None), 3);
        assert_eq!(fullest(&charged(&[period(0, 4), period(3, 6)]), &Scope::ALL, None), 6);
        let one = scope(&[], Some(4), None);
        assert_eq!(fullest(&charged(&[period(0, 4), period(3, 6)]), &one, Some(&rule)), 3);
    }

    #[test]
    fn what_another_table_of_groups_told_apart_counts_everywhere_in_its_periods() {
        let old = |name, lower, upper| (scope(&[name], lower, upper), rule("t", Some("old")), 3);
        let new = rule("t", Some("new"));
        let charges = charged(&[old("a", Some(0), Some(1)), old("b", Some(0), Some(1))]);
        assert_eq!(fullest(&charges, &scope(&["c"], None, None), Some(&new)), 3);
        assert_eq!(fullest(&charges, &scope(&["c"], Some(1), None), Some(&new)), 0);
        // by other tables a row may be of another period, too
        let other = rule("other", Some("new"));
        assert_eq!(fullest(&charges, &scope(&["c"], Some(1), None), Some(&other)), 3);
    }

    #[test]
    fn each_cell_may_be_bounded_by_another_view() {
        // one large release in a, of which the sum is less; many small ones in b
        let rule = rule("t", Some("g"));
        let sum = |name, epsilon, rho| ScopeSum {
            scope: scope(&[name], None, None),
            rule: rule.clone(),
            spent: Spent { epsilon, delta: 0.0, rho },
        };
        let scopes =
            Scopes { sums: vec![sum("a", 7 * QUARTER, 1.4), sum("b", 12 * QUARTER, 0.03)] };
        let fullest = scopes.fullest(&Scope::ALL, None, &limits(1e-6));
        assert!(!fullest.exceeds);
        assert!(fullest.views.smaller().is_some_and(|spent| (spent - 1.75).abs() < 1e-12));
        assert!(scopes.fullest(&Scope::ALL, None, &limits(0.0)).exceeds);
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(spent(9, 0.0).decimal(), "2.250000000000000000000000");
        assert_eq!(Spent::default().decimal(), "0.000000000000000000000000");
        let huge = Spent { epsilon: i128::MAX, ..Spent::default() };
        let mut more = huge;
        more += huge;
        assert_eq!(more, huge);
    }

    /// A row: where it is, by each of some tables of groups, and its period by each of some tables.
    struct Row {
        regions: [usize; 3],
        times: [i64; 2],
    }

    impl Row {
        fn is_in(&self, scope: &Scope, tables: usize, groups: usize) -> bool {
            let region = REGIONS[self.regions[groups]];
            let time = self.times[tables];
            scope.within.iter().zip(region).all(|(a, b)| a == b)
                && scope.period.lower.is_none_or(|lower| lower <= time)
                && scope.period.upper.is_none_or(|upper| time < upper)
        }
    }

    fn random_scope(random: &mut SmallRng) -> Scope {
        let region = REGIONS[random.random_range(0..REGIONS.len())];
        let [one, other] = [(); 2].map(|()| random.random_range(0..=TIMES));
        let (lower, upper) =
            if one == other { (0, TIMES) } else { (one.min(other), one.max(other)) };
        let mut end = |end| (random.random_range(0..3) > 0).then_some(end);
        let period = Period { lower: end(lower), upper: end(upper) };
        let depth = random.random_range(0..=2);
        Scope { period, ..scope(&region[..depth], None, None) }
    }

    /// The ledger beside a list of all charges, and every row that there could be. `moves`: whether
    /// tables change. A release whose scope does not hold a row reads the same with it and without:
    /// the product of the other releases' ratios has to be within what the ledger allows.
    fn against_all_rows(seed: u64, operations: usize, moves: bool) {
        let random = &mut SmallRng::seed_from_u64(seed);
        let delta_budget = [0.0, 1e-6][random.random_range(0..2)];
        let times: Vec<[i64; 2]> = match moves {
            true => (0..TIMES).flat_map(|a| (0..TIMES).map(move |b| [a, b])).collect(),
            false => (0..TIMES).map(|a| [a; 2]).collect(),
        };
        let all = 0..REGIONS.len();
        let regions: Vec<[usize; 3]> = match moves {
            true => (0..24)
                .map(|_| [(); 3].map(|()| random.random_range(0..REGIONS.len())))
                .chain(all.map(|region| [region; 3]))
                .collect(),
            false => all.map(|region| [region; 3]).collect(),
        };
        let rows: Vec<Row> = regions
            .iter()
            .flat_map(|regions| times.iter().map(|times| Row { regions: *regions, times: *times }))
            .collect();
        let mut spent_of: Vec<Spent> = rows.iter().map(|_| Spent::default()).collect();
        let (mut scopes, mut limits) = (Scopes::default(), limits(delta_budget));
        let (mut tables, mut groups) = (0, 0);
        for _ in 0..operations {
            if moves && random.random_range(0..6) == 0 {
                (tables, groups) = (random.random_range(0..2), random.random_range(0..3));
            }
            let scope = random_scope(random);
            let by = Rule {
                tables: tables.to_string(),
                regions: (!scope.within.is_empty()).then(|| groups.to_string()),
            };
            let quarters = random.random_range(1..4);
            let charge = spent(quarters, if random.random_range(0..4) == 0 { 1.1e-7 } else { 0.0 });
            let (is_all, holds) =
                (scope == Scope::ALL, |row: &Row| row.is_in(&scope, tables, groups));
            // a charge that counts everywhere is among what was
            let asked = Limits {
                everywhere: Totals {
                    epsilon_sum: charge.epsilon as f64 / Spent::UNITS
                        + limits.everywhere.epsilon_sum,
                    rho: charge.rho + limits.everywhere.rho,
                    delta_sum: charge.delta + limits.everywhere.delta_sum,
                },
                room: limits.room - charge.epsilon,
                ..limits
            };
            let told = scopes.fullest(&scope, (!is_all).then_some(&by), &asked);

            // in whole numbers and sums that f64s hold: no other rounding than by the type
            let fits = |row: &Spent| {
                let mut after = *row;
                after += charge;
                let totals = Totals {
                    epsilon_sum: after.epsilon as f64 / Spent::UNITS,
                    rho: after.rho,
                    delta_sum: after.delta,
                };
                let basic = after.epsilon <= 8 * QUARTER && totals.basic(delta_budget).is_some();
                basic || totals.zcdp(delta_budget).is_some_and(|bound| bound <= 2.0)
            };
            let of_rows = rows.iter().zip(&spent_of).filter(|(row, _)| holds(row));
            let fit = of_rows.clone().all(|(_, spent)| fits(spent));
            assert!(told.exceeds || fit, "a row's charges exceed the budget: {scope:?} {by:?}");
            if !moves {
                // neither more nor less than the largest sum
                assert_eq!(told.exceeds, !fit, "{scope:?}");
                let most = of_rows.map(|(_, spent)| spent.epsilon).max().unwrap_or(0);
                let everywhere = 8 * QUARTER - limits.room;
                if delta_budget == 0.0 && !told.exceeds && charge.delta == 0.0 {
                    assert_eq!(told.spent.epsilon + everywhere, most, "{scope:?}");
                }
            }
            if told.exceeds {
                continue;
            }
            for (_, spent) in rows.iter().zip(&mut spent_of).filter(|(row, _)| holds(row)) {
                *spent += charge;
            }
            if is_all {
                limits = asked;
            } else if let Some(sum) =
                scopes.sums.iter_mut().find(|sum| (&sum.scope, &sum.rule) == (&scope, &by))
            {
                sum.spent += charge;
            } else {
                scopes.sums.push(ScopeSum { scope, rule: by, spent: charge });
            }
        }
    }

    /// `SCOPES_OPERATIONS=1000000` is what is shown of it; fewer take no time.
    #[test]
    fn no_row_is_charged_beyond_the_budget() {
        let operations = std::env::var("SCOPES_OPERATIONS").ok().and_then(|n| n.parse().ok());
        let rounds = operations.unwrap_or(20_000) / 80;
        for round in 0..rounds {
            against_all_rows(round, 40, false);
            against_all_rows(round, 40, true);
        }
    }
}
