//! In which of many cells most of the budget is spent.

use super::spent::Spent;
use super::tree::Look;
use crate::privacy::accounting::{Totals, Views};
use std::cmp::Ordering;
use std::collections::HashMap;

/// What is asked of cells.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// What was charged to the data as a whole, and is asked for, if that is.
    pub everywhere: Totals,
    /// What this leaves of the budget for scopes, in the units of [`Spent::epsilon`].
    pub room: i128,
    /// And of the deltas that the basic view may have, in those of [`Spent::delta`].
    pub delta_room: i128,
    pub epsilon_budget: f64,
    pub delta_budget: f64,
    /// Whether the deltas have to be within that in every cell, whichever view bounds epsilon: those of
    /// a charge that [may fail](crate::privacy).
    pub needs_delta: bool,
}

/// The fullest cell of a scope.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fullest {
    /// By charges to scopes.
    pub spent: Spent,
    /// By these and what was charged everywhere.
    pub views: Views,
    /// Whether neither view is within the budget there, or not the deltas, where they have to be.
    pub exceeds: bool,
}

impl Fullest {
    fn smaller(&self) -> f64 {
        self.views.smaller().unwrap_or(f64::INFINITY)
    }

    /// Beyond the budget or not; then the smaller view; then the sums, so that the same cells have
    /// the same fullest one in any order. Where none of three sums is less, neither is this: so sums
    /// that no cell of many exceeds tell of all of them that none is fuller.
    pub(super) fn order(&self, other: &Fullest) -> Ordering {
        (self.exceeds.cmp(&other.exceeds))
            .then_with(|| self.smaller().total_cmp(&other.smaller()))
            .then_with(|| self.spent.cmp(&other.spent))
    }
}

impl Limits {
    fn basic(&self, spent: &Spent) -> Option<f64> {
        let epsilon = self.everywhere.epsilon_sum + spent.epsilon();
        (spent.delta <= self.delta_room).then_some(epsilon)
    }

    /// The argument is off by less than the view's own margin.
    fn zcdp(&self, spent: &Spent) -> Option<f64> {
        let rho = self.everywhere.rho + spent.rho();
        Totals { rho, ..self.everywhere }.zcdp(self.delta_budget)
    }

    fn fullest(&self, spent: Spent, zcdp: Option<f64>) -> Fullest {
        let views = Views { basic: self.basic(&spent), zcdp };
        let fits = (views.basic.is_some() && spent.epsilon <= self.room
            || zcdp.is_some_and(|bound| bound <= self.epsilon_budget))
            && !self.lacks_delta(&spent);
        Fullest { spent, views, exceeds: !fits }
    }

    fn lacks_delta(&self, spent: &Spent) -> bool {
        self.needs_delta && spent.delta > self.delta_room
    }

    pub(super) fn of_cell(&self, spent: Spent) -> Fullest {
        self.fullest(spent, self.zcdp(&spent))
    }
}

/// The fullest of the cells that were looked at.
pub(super) struct Search<'a> {
    limits: &'a Limits,
    /// What it has, and what that comes to, if that had to be known.
    fullest: Option<(Spent, Option<Fullest>)>,
    /// The zCDP view takes the longest: what it was for each rho, and a rho that leaves every cell
    /// that has no more of it behind the fullest one.
    zcdp: HashMap<i128, Option<f64>>,
    behind: i128,
}

impl Search<'_> {
    pub(super) fn new(limits: &Limits) -> Search<'_> {
        Search { limits, fullest: None, zcdp: HashMap::new(), behind: -1 }
    }

    /// None if no cell was looked at.
    pub(super) fn found(mut self) -> Option<Fullest> {
        self.fullest.map(|(spent, _)| self.of_fullest(spent))
    }

    fn of_fullest(&mut self, spent: Spent) -> Fullest {
        if let Some((_, Some(fullest))) = self.fullest {
            return fullest;
        }
        let fullest = self.limits.fullest(spent, self.zcdp(&spent));
        self.fullest = Some((spent, Some(fullest)));
        fullest
    }

    fn zcdp(&mut self, spent: &Spent) -> Option<f64> {
        *self.zcdp.entry(spent.rho).or_insert_with(|| self.limits.zcdp(spent))
    }
}

impl Look for Search<'_> {
    /// Whether a cell with these sums is fuller than all so far; if not, none is that has less: a view
    /// is a bound for whatever has no more of it.
    fn is_wanted(&mut self, spent: Spent) -> bool {
        let limits = self.limits;
        let Some((most, _)) = self.fullest else { return true };
        if spent.is_within(most) || spent.rho <= self.behind && !limits.lacks_delta(&spent) {
            return false;
        }
        if most.is_within(spent) {
            return true;
        }
        let fullest = self.of_fullest(most);
        let basic = limits.basic(&spent).filter(|_| spent.epsilon <= limits.room);
        if basic.is_some_and(|basic| fullest.exceeds || basic < fullest.smaller()) {
            return false;
        }
        let zcdp = self.zcdp(&spent);
        if limits.fullest(spent, zcdp).order(&fullest).is_gt() {
            return true;
        }
        if zcdp.is_some_and(|zcdp| zcdp < fullest.smaller() && zcdp <= limits.epsilon_budget) {
            self.behind = spent.rho;
        }
        false
    }

    /// Of a cell that is fuller than all so far.
    fn take(&mut self, spent: Spent) {
        self.fullest = Some((spent, None));
    }
}
