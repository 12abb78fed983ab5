//! What the cells' charges come to, against the definition and against every row that there could be.

use super::kept::tests::row;
use super::*;
use crate::privacy::accounting::Totals;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use reference::ScopeSum;

mod reference;

/// Of epsilon, and of rho.
const QUARTER: i128 = 250_000_000_000_000_000_000_000;
/// A delta of 10^-7.
const DELTA: i128 = 10i128.pow(29);
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

fn spent(quarters: i128) -> Spent {
    Spent { epsilon: quarters * QUARTER, rho: quarters * QUARTER / 2, delta: 0 }
}

fn limits(delta_budget: f64) -> Limits {
    Limits {
        everywhere: Totals { epsilon_sum: 0.0, rho: 0.0, delta_sum: 0.0 },
        room: 8 * QUARTER,
        delta_room: if delta_budget > 0.0 { 5 * DELTA } else { 0 },
        epsilon_budget: 2.0,
        delta_budget,
        needs_delta: false,
    }
}

fn charged(charges: &[(Scope, Rule, i128)]) -> Scopes {
    let sum = |(scope, rule, quarters): &(Scope, Rule, i128)| ScopeSum {
        scope: scope.clone(),
        rule: rule.clone(),
        spent: spent(*quarters),
    };
    scopes(&charges.iter().map(sum).collect::<Vec<_>>())
}

/// As they are read from the catalog, in any order.
fn scopes(sums: &[ScopeSum]) -> Scopes {
    Scopes::read(&bytes(sums)).unwrap()
}

fn bytes(sums: &[ScopeSum]) -> Vec<u8> {
    let sums = sums.iter().enumerate().rev();
    sums.flat_map(|(id, sum)| row(id as i64, &sum.scope, &sum.rule, &sum.spent)).collect()
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
fn periods_have_in_common_what_lies_in_both() {
    let of = |lower, upper| Period { lower, upper };
    assert_eq!(of(Some(0), Some(3)).and(of(Some(2), None)), Some(of(Some(2), Some(3))));
    assert_eq!(of(None, Some(3)).and(of(None, Some(2))), Some(of(None, Some(2))));
    assert_eq!(of(Some(1), None).and(Period::ALL), Some(of(Some(1), None)));
    assert_eq!(of(Some(0), Some(3)).and(of(Some(3), Some(5))), None);
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
        spent: Spent { epsilon, rho, delta: 0 },
    };
    let scopes = scopes(&[sum("a", 7 * QUARTER, 6 * QUARTER), sum("b", 12 * QUARTER, QUARTER / 8)]);
    let fullest = scopes.fullest(&Scope::ALL, None, &limits(1e-6));
    assert!(!fullest.exceeds);
    assert!(fullest.views.smaller().is_some_and(|spent| (spent - 1.75).abs() < 1e-12));
    assert!(scopes.fullest(&Scope::ALL, None, &limits(0.0)).exceeds);
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
    let (lower, upper) = if one == other { (0, TIMES) } else { (one.min(other), one.max(other)) };
    let mut end = |end| (random.random_range(0..3) > 0).then_some(end);
    let period = Period { lower: end(lower), upper: end(upper) };
    let depth = random.random_range(0..=2);
    Scope { period, ..scope(&region[..depth], None, None) }
}

/// Disjoint periods with the budgets, in quarters, that their rows have.
fn random_periods(random: &mut SmallRng) -> Vec<(Period, i128)> {
    let mut ends: Vec<i64> = (0..=TIMES).filter(|_| random.random_range(0..2) == 0).collect();
    ends.dedup();
    let mut opened: Vec<(Period, i128)> = (ends.windows(2))
        .map(|ends| Period { lower: Some(ends[0]), upper: Some(ends[1]) })
        .map(|period| (period, random.random_range(2..8)))
        .collect();
    // there are rows in it
    if let Some(last) = ends.last().filter(|last| **last < TIMES && random.random_range(0..2) == 0)
    {
        opened.push((Period { lower: Some(*last), upper: None }, 3));
    }
    opened
}

/// Of a period with that budget, in quarters.
fn limits_there(limits: &Limits, quarters: i128) -> Limits {
    let room = limits.room - (8 - quarters) * QUARTER;
    Limits { room, epsilon_budget: quarters as f64 / 4.0, ..*limits }
}

/// The ledger beside a list of all charges, and every row that there could be. `moves`: whether
/// tables change. A release whose scope does not hold a row reads the same with it and without: the
/// product of the other releases' ratios has to be within what the ledger allows. What the ledger
/// says of a part is what the [definition](reference) says, refusals included.
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
    let (mut sums, mut limits) = (Vec::<ScopeSum>::new(), limits(delta_budget));
    let before = limits;
    let (mut tables, mut groups) = (0, 0);
    let opened = random_periods(random);
    // what is kept of all cells, as long as it is
    let mut summits = Some(Summits::default());
    for _ in 0..operations {
        if moves && random.random_range(0..6) == 0 {
            (tables, groups) = (random.random_range(0..2), random.random_range(0..3));
        }
        let scope = random_scope(random);
        let by = Rule {
            tables: tables.to_string(),
            regions: (!scope.within.is_empty()).then(|| groups.to_string()),
        };
        let mut charge = spent(random.random_range(1..4));
        if random.random_range(0..4) == 0 {
            // much less of rho, as of Gaussian noise
            charge.rho /= 64;
            charge.delta = 11 * DELTA / 10;
        }
        let (is_all, holds) = (scope == Scope::ALL, |row: &Row| row.is_in(&scope, tables, groups));
        // a charge that counts everywhere is among what was
        let asked = Limits {
            everywhere: Totals {
                epsilon_sum: charge.epsilon() + limits.everywhere.epsilon_sum,
                rho: charge.rho() + limits.everywhere.rho,
                delta_sum: 0.0,
            },
            room: limits.room - charge.epsilon,
            delta_room: limits.delta_room - charge.delta,
            // as of one that may fail
            needs_delta: charge.delta > 0 && random.random_range(0..3) == 0,
            ..limits
        };
        let before = Limits { needs_delta: asked.needs_delta, ..before };
        let rule = (!is_all).then_some(&by);
        let kept = bytes(&sums);
        let of_part = match rule {
            Some(rule) => Scopes::read_those_of(&kept, &scope, rule).unwrap(),
            None => Scopes::read(&kept).unwrap(),
        };
        let told = of_part.fullest(&scope, rule, &asked);
        let overlapping: Vec<ScopeSum> = (sums.iter())
            .filter(|sum| {
                rule.is_none_or(|rule| {
                    sum.rule.tables != rule.tables || sum.scope.period.overlaps(scope.period)
                })
            })
            .cloned()
            .collect();
        let defined = reference::fullest(&overlapping, &scope, rule, &asked);
        assert_eq!(told, defined, "{scope:?} {rule:?}");
        // as it is shown
        let shown = scopes(&sums).fullest(&scope, None, &limits);
        assert_eq!(shown, reference::fullest(&sums, &scope, None, &limits), "{scope:?}");

        if let Some(summits) = &summits {
            for limits in [&limits, &asked] {
                let defined = reference::fullest(&sums, &Scope::ALL, None, limits);
                assert_eq!(summits.fullest(limits), defined);
            }
            assert_eq!(Summits::read(&summits.bytes()).as_ref(), Some(summits));
        }

        let fits = |row: &Spent| {
            let mut after = *row;
            after += charge;
            !before.of_cell(after).exceeds
        };
        let of_rows = rows.iter().zip(&spent_of).filter(|(row, _)| holds(row));
        let fit = of_rows.clone().all(|(_, spent)| fits(spent));
        assert!(told.exceeds || fit, "a row's charges exceed the budget: {scope:?} {by:?}");
        if !moves {
            // neither more nor less than the largest sum
            assert_eq!(told.exceeds, !fit, "{scope:?}");
            let most = of_rows.map(|(_, spent)| spent.epsilon).max().unwrap_or(0);
            let everywhere = 8 * QUARTER - limits.room;
            if delta_budget == 0.0 && !told.exceeds && charge.delta == 0 {
                assert_eq!(told.spent.epsilon + everywhere, most, "{scope:?}");
            }
        }
        // an opened period's rows keep its budget, those that lie there by the tables of now
        let by_now = Rule { regions: rule.and_then(|rule| rule.regions.clone()), ..by.clone() };
        let too_full = opened.iter().any(|(period, quarters)| {
            let Some(period) = period.and(scope.period) else { return false };
            let part = Scope { within: scope.within.clone(), period };
            let asked = limits_there(&asked, *quarters);
            let full = of_part.fullest(&part, Some(&by_now), &asked).exceeds;
            let known = summits.as_ref().filter(|summits| summits.are_told_by(&by_now));
            assert!(!full || known.is_none_or(|known| known.fullest(&asked).exceeds));
            full
        });
        let fit = opened.iter().all(|(period, quarters)| {
            let within = Scope { period: *period, ..Scope::ALL };
            let before = limits_there(&before, *quarters);
            let mut there = rows
                .iter()
                .zip(&spent_of)
                .filter(|(row, _)| holds(row) && row.is_in(&within, tables, groups));
            there.all(|(_, spent)| {
                let mut after = *spent;
                after += charge;
                !before.of_cell(after).exceeds
            })
        });
        assert!(too_full || fit, "a row's charges exceed its period's budget: {scope:?} {by:?}");
        assert!(moves || too_full != fit, "{scope:?}");
        if told.exceeds || too_full {
            continue;
        }
        for (_, spent) in rows.iter().zip(&mut spent_of).filter(|(row, _)| holds(row)) {
            *spent += charge;
        }
        if is_all {
            limits = Limits { needs_delta: false, ..asked };
            continue;
        }
        let place = sums.iter().position(|sum| (&sum.scope, &sum.rule) == (&scope, &by));
        let place = place.unwrap_or_else(|| {
            let (scope, rule) = (scope.clone(), by.clone());
            sums.push(ScopeSum { scope, rule, spent: Spent::default() });
            sums.len() - 1
        });
        sums[place].spent += charge;
        // from what lies in the part, as long as one rule tells all cells apart
        let told = summits.filter(|summits| summits.are_told_by(&by));
        summits = told.and_then(|summits| {
            let row = |(place, sum): (usize, &ScopeSum)| {
                row(place as i64, &sum.scope, &sum.rule, &sum.spent)
            };
            let nests = |sum: &ScopeSum| {
                let (one, other) = (&sum.scope.within, &scope.within);
                one.iter().zip(other).all(|(a, b)| a == b)
            };
            let in_part = sums.iter().enumerate().filter(|(other, sum)| {
                *other != place && sum.scope.period.overlaps(scope.period) && nests(sum)
            });
            let in_part: Vec<u8> = in_part.flat_map(row).collect();
            // also where it was there before
            let mut was = sums[place].clone();
            was.spent = was.spent.without(charge);
            let before = [in_part, row((place, &was))].concat();
            let changed = Scopes::read_changed(&before, &row((place, &sums[place]))).unwrap();
            summits.after(&scope, &by, &changed)
        });
        assert!(moves || summits.is_some());
        if let Some(summits) = &summits {
            assert_eq!(Some(summits), Summits::of(&scopes(&sums)).as_ref());
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
