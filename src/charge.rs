//! The order of a release as types: what is private is opened, and noise is drawn, only with a
//! receipt, and a receipt is what a ledger gives for the cost that the mechanism itself states.
//!
//! ```
//! # use pg_dp::charge::{Cost, Costs, Ledger, Receipt, Sealed};
//! # use pg_dp::privacy::Epsilon;
//! struct Total; // a mechanism
//! impl Costs for Total {
//!     fn cost(&self) -> Cost {
//!         let epsilon = Epsilon::new(1.0).unwrap();
//!         Cost { epsilon, delta: 0.0, rho: 0.5, mechanism: "a total".into() }
//!     }
//! }
//!
//! struct Book; // a ledger
//! impl Ledger for Book {
//!     type Entry = u32;
//!     type Refusal = String;
//!     fn charge(&self, cost: &Cost) -> Result<u32, String> {
//!         if cost.epsilon.value() <= 1.0 { Ok(7) } else { Err("the budget is spent".into()) }
//!     }
//! }
//!
//! let rows = Sealed::new(vec![3, 1, 2]);
//! let receipt = Receipt::charged(Total, &Book)?;
//! assert_eq!(*receipt.entry(), 7);
//! assert_eq!(rows.open(&receipt).iter().sum::<i32>(), 6);
//! # Ok::<(), String>(())
//! ```
//!
//! What is not charged stays closed:
//!
//! ```compile_fail
//! # use pg_dp::charge::{Cost, Costs, Receipt, Sealed};
//! # use pg_dp::privacy::Epsilon;
//! # struct Total;
//! # impl Costs for Total {
//! #     fn cost(&self) -> Cost {
//! #         let epsilon = Epsilon::new(1.0).unwrap();
//! #         Cost { epsilon, delta: 0.0, rho: 0.5, mechanism: "a total".into() }
//! #     }
//! # }
//! let rows = Sealed::new(vec![3, 1, 2]);
//! rows.open(&Receipt::uncharged(Total));
//! ```

use crate::privacy::Epsilon;
use serde_json::Value;

/// What a release spends, and the description of it that a ledger keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    pub epsilon: Epsilon,
    /// 0 where the noise is discrete Laplace.
    pub delta: f64,
    /// The zero-concentrated loss.
    pub rho: f64,
    /// What is measured, with which sensitivity and noise.
    pub mechanism: Value,
}

/// A mechanism that knows what carrying it out once costs: it reads that from the very measurements
/// that draw its noise.
pub trait Costs {
    fn cost(&self) -> Cost;
}

/// Who keeps account of what is spent on some data.
pub trait Ledger {
    /// What the ledger knows a charge by.
    type Entry;
    type Refusal;

    /// Charges so much, durably: whatever becomes of the release.
    fn charge(&self, cost: &Cost) -> Result<Self::Entry, Self::Refusal>;
}

/// The right to carry out a mechanism once; `P` says who paid.
#[derive(Debug)]
pub struct Receipt<M, P> {
    mechanism: M,
    paid: P,
}

/// Paid for at a ledger of this kind.
#[derive(Debug)]
pub struct Paid<L: Ledger> {
    entry: L::Entry,
}

/// Nobody's budget: the caller answers for the data, or they are public or made up.
#[derive(Debug)]
pub struct Unpaid(());

/// A receipt of a ledger of this kind.
pub type Charged<M, L> = Receipt<M, Paid<L>>;

/// A receipt without a charge.
pub type Uncharged<M> = Receipt<M, Unpaid>;

impl<M: Costs, L: Ledger> Receipt<M, Paid<L>> {
    /// Charges what the mechanism costs.
    ///
    /// Errors: the ledger's refusal.
    pub fn charged(mechanism: M, ledger: &L) -> Result<Charged<M, L>, L::Refusal> {
        let entry = ledger.charge(&mechanism.cost())?;
        Ok(Receipt { mechanism, paid: Paid { entry } })
    }
}

impl<M, L: Ledger> Receipt<M, Paid<L>> {
    /// What the ledger knows the charge by.
    pub fn entry(&self) -> &L::Entry {
        &self.paid.entry
    }
}

impl<M> Receipt<M, Unpaid> {
    /// Charges nothing.
    pub fn uncharged(mechanism: M) -> Uncharged<M> {
        Receipt { mechanism, paid: Unpaid(()) }
    }
}

impl<M, P> Receipt<M, P> {
    /// What may be carried out.
    pub fn mechanism(&self) -> &M {
        &self.mechanism
    }

    /// Uses the receipt up.
    pub(crate) fn into_mechanism(self) -> M {
        self.mechanism
    }
}

/// Private data, or the means to read them, which only a [`Charged`] receipt opens.
#[derive(Debug)]
pub struct Sealed<T>(T);

impl<T> Sealed<T> {
    pub fn new(private: T) -> Sealed<T> {
        Sealed(private)
    }

    /// What was sealed, for whoever has paid.
    pub fn open<M, L: Ledger>(self, _receipt: &Charged<M, L>) -> T {
        self.0
    }
}
