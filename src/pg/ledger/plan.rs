//! Releases of a publication that are charged as one: all of them are settled before the first is
//! looked at, so together they cost [what composes exactly](crate::privacy::composed_epsilon).
//!
//! Those of one part of one dataset are a plan. What they come to is an (epsilon, delta) and a rho,
//! and is charged as those of a single release are: what the ledger's [rule](crate::privacy) asks of
//! a charge is that the release which it pays for keeps both, also where its answers are interleaved
//! with those of others. The losses of a plan's releases are fixed with it; what each of them reads,
//! and what is made in between, may follow from answers (Kairouz, Oh, Viswanath 2015: the optimal
//! composition holds for adaptively chosen mechanisms of fixed losses).
//!
//! A release that may fail is charged by itself: the rule counts its failures, and those at which a
//! plan's delta lets it fail are others.

use super::message::{ChargeRequest, PlanRequest, Refusal};
use super::quotes::Quote;
use crate::charge::Cost;
use crate::privacy::{Epsilon, PrivacyLoss, composed_epsilon, shown_bound};
use serde_json::{Map, Value, json};

/// Several of the statement's quotes, and what they cost as one.
pub(super) struct Plan {
    pub(super) members: Vec<usize>,
    pub(super) cost: Cost,
    /// What its smallest release costs.
    pub(super) least: Cost,
}

/// The plans that at that delta cost less than their releases one by one, by what is worth the delta.
pub(super) fn plans(quotes: &[Quote], delta: f64) -> Vec<Plan> {
    let mut alike: Vec<Vec<usize>> = Vec::new();
    for (n, quote) in quotes.iter().enumerate().filter(|(_, quote)| !quote.request.may_fail) {
        let place = |quote: &Quote| (quote.request.dataset, quote.request.part.clone());
        match alike.iter_mut().find(|others| place(&quotes[others[0]]) == place(quote)) {
            Some(others) => others.push(n),
            None => alike.push(vec![n]),
        }
    }
    alike.into_iter().filter_map(|members| Plan::of(quotes, members, delta)).collect()
}

impl Plan {
    fn of(quotes: &[Quote], members: Vec<usize>, delta: f64) -> Option<Plan> {
        let costs = || members.iter().map(|member| &quotes[*member].cost);
        let loss = PrivacyLoss::of_all(costs().map(|cost| cost.loss.clone()));
        let exact = shown_bound(composed_epsilon(&loss, delta)?);
        let sum: f64 = costs().map(|cost| cost.epsilon.value()).sum();
        let epsilon = Epsilon::new(exact).ok().filter(|_| exact < WORTHWHILE * sum)?;
        let least = costs().min_by(|one, other| one.loss.rho().total_cmp(&other.loss.rho()))?;
        let least = least.clone();
        let names = members.iter().filter_map(|member| Some(quotes[*member].release()?.1));
        let mechanism = json!({"releases": names.collect::<Vec<_>>()});
        Some(Plan { cost: Cost { epsilon, delta, loss, mechanism }, least, members })
    }

    /// As the worker is asked. None if it has no members.
    pub(super) fn request(&self, quotes: &[Quote], publication: &str) -> Option<PlanRequest> {
        let first = &quotes.get(*self.members.first()?)?.request;
        let mut parameters = Map::from_iter([("name".to_string(), Value::from(publication))]);
        parameters.extend(self.cost.mechanism.as_object().cloned().unwrap_or_default());
        // the part is that of each of them
        for key in ["within", "period", "cells"] {
            parameters.extend(first.parameters.get(key).map(|of| (key.to_string(), of.clone())));
        }
        let charge = ChargeRequest {
            function: PUBLISH.to_string(),
            epsilon: self.cost.epsilon.decimal(),
            delta: self.cost.delta.to_string(),
            rho: self.cost.loss.rho(),
            // where the sums are no bound it would cost as much as its releases, and its delta
            may_fail: true,
            parameters: parameters.into(),
            promise: None,
            ..first.clone()
        };
        Some(PlanRequest { members: self.members.clone(), charge })
    }
}

/// The way out where what a plan costs does not fit; None where it is that of any release.
pub(super) fn hint(cost: &Cost, refusal: &Refusal) -> Option<&'static str> {
    match refusal {
        Refusal::BudgetExceeded { delta_left, .. }
            if delta_left.parse().is_ok_and(|left: f64| cost.delta > left) =>
        {
            Some(
                "Nothing was spent. A plan's delta has to fit into what is left of half of the \
                 delta_budget: give a smaller delta, or leave it out, and each release is charged \
                 by itself.",
            )
        }
        Refusal::BudgetExceeded { period: Some(_), .. } => Some(
            "Nothing was spent. That is what the releases cost as one: publish fewer of them. \
             dp_budget_periods shows what is left of each opened period.",
        ),
        Refusal::BudgetExceeded { .. } => Some(
            "Nothing was spent. That is what the releases cost as one: publish fewer of them, or \
             leave delta out where the zCDP bound has room for each: dp_budget shows it.",
        ),
        Refusal::DeltaLimitExceeded { .. } => Some(
            "Nothing was spent. Give a smaller delta, or leave it out, and each release is charged \
             by itself. dp.grants shows each role's limits.",
        ),
        _ => None,
    }
}

/// The function that a plan's entry names.
const PUBLISH: &str = "dp_publish";

/// Of the sum of epsilons, what a plan costs at most.
const WORTHWHILE: f64 = 0.99;
