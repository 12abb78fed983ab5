//! What a dataset keeps of all cells, so that a charge need not go through them again: the sums that
//! no other cell has as much of everything of.
//!
//! Whatever is asked of all cells, one of these is the fullest: no bound on a row is less for more of
//! epsilon, rho or delta. A charge to a part adds to its cells alone. So after it these sums are among
//! those of before and those of the part's cells, and only these have to be looked at. A cell of the
//! part that was kept with what it had before has as much of everything now, and the old sums go.
//!
//! That holds as long as one [rule](super::Rule) tells all cells apart. Where several do, or too many
//! sums would have to be kept, nothing is, and all that was charged is read.

use super::cells::Scopes;
use super::fullest::{Fullest, Limits, Search};
use super::scope::{Rule, Scope};
use super::spent::Spent;
use super::tree::Look;

/// How many sums are kept.
const MOST: usize = 40;
/// Sums beyond are not kept apart: they may be more than can be added up.
const LARGEST: i128 = 10i128.pow(32);

/// By what rows are told apart, and the sums, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summits {
    /// None where nothing was charged to parts.
    rule: Option<Rule>,
    sums: Vec<Spent>,
}

impl Summits {
    /// None if they are not kept.
    pub fn of(scopes: &Scopes) -> Option<Summits> {
        let mut rules = scopes.rules().iter();
        let Some(first) = rules.next() else { return Some(Summits::default()) };
        let rule = rules.try_fold(first.clone(), |rule, other| joined(&rule, other))?;
        Summits::with(rule, of_cells(scopes, &Scope::ALL, None))
    }

    /// After a charge to that part. `scopes`: all that count there, with the charge.
    pub fn after(self, scope: &Scope, rule: &Rule, scopes: &Scopes) -> Option<Summits> {
        let all = match &self.rule {
            Some(all) => joined(all, rule)?,
            None => rule.clone(),
        };
        let mut kept = Kept(self.sums);
        of_cells(scopes, scope, Some(rule)).into_iter().for_each(|sum| kept.look(sum));
        Summits::with(all, kept.0)
    }

    fn with(rule: Rule, mut sums: Vec<Spent>) -> Option<Summits> {
        let is_small = |sum: &Spent| [sum.epsilon, sum.rho, sum.delta].iter().all(|n| *n < LARGEST);
        if sums.len() > MOST || !sums.iter().all(is_small) {
            return None;
        }
        sums.sort_unstable();
        Some(Summits { rule: Some(rule), sums })
    }

    /// Whether nothing was charged to parts.
    pub fn is_empty(&self) -> bool {
        self.rule.is_none()
    }

    /// Whether that rule tells the same cells apart.
    pub fn are_told_by(&self, rule: &Rule) -> bool {
        self.rule.as_ref().is_none_or(|own| joined(own, rule).is_some())
    }

    /// See [`Scopes::fullest`], of all the data.
    pub fn fullest(&self, limits: &Limits) -> Fullest {
        let mut search = Search::new(limits);
        for sum in &self.sums {
            if search.is_wanted(*sum) {
                search.take(*sum);
            }
        }
        search.found().unwrap_or_else(|| limits.of_cell(Spent::default()))
    }

    /// As the catalog keeps them; nothing where nothing was charged.
    pub fn bytes(&self) -> Vec<u8> {
        let Some(rule) = &self.rule else { return Vec::new() };
        let mut bytes = super::kept::rule(rule);
        for sum in &self.sums {
            for part in [sum.epsilon, sum.rho, sum.delta] {
                bytes.extend(part.to_be_bytes());
            }
        }
        bytes
    }

    /// None if that is not what the bytes are.
    pub fn read(bytes: &[u8]) -> Option<Summits> {
        if bytes.is_empty() {
            return Some(Summits::default());
        }
        let (rule, numbers) = super::kept::read_rule(bytes)?;
        let (numbers, []) = numbers.as_chunks() else { return None };
        let numbers: Vec<i128> = numbers.iter().map(|bytes| i128::from_be_bytes(*bytes)).collect();
        let (sums, []) = numbers.as_chunks() else { return None };
        let sums = sums.iter().map(|[epsilon, rho, delta]| Spent {
            epsilon: *epsilon,
            rho: *rho,
            delta: *delta,
        });
        Some(Summits { rule: Some(rule), sums: sums.collect() })
    }
}

/// The rule of both, if they tell the same cells apart: what is of all regions goes by any table of
/// groups.
fn joined(one: &Rule, other: &Rule) -> Option<Rule> {
    let regions = match (&one.regions, &other.regions) {
        (Some(a), Some(b)) if a != b => return None,
        (a, b) => a.as_ref().or(b.as_ref()).cloned(),
    };
    (one.tables == other.tables).then(|| Rule { tables: one.tables.clone(), regions })
}

fn of_cells(scopes: &Scopes, scope: &Scope, rule: Option<&Rule>) -> Vec<Spent> {
    let mut kept = Kept(Vec::new());
    scopes.cells(rule).each(scope, &mut kept);
    kept.0
}

/// Sums of which none has as much of everything as another one.
struct Kept(Vec<Spent>);

impl Kept {
    fn look(&mut self, spent: Spent) {
        if self.is_wanted(spent) {
            self.take(spent);
        }
    }
}

impl Look for Kept {
    fn is_wanted(&mut self, most: Spent) -> bool {
        !self.0.iter().any(|kept| most.is_within(*kept))
    }

    fn take(&mut self, spent: Spent) {
        self.0.retain(|kept| !kept.is_within(spent));
        self.0.push(spent);
    }
}
