//! The order of a release as types: what is private is opened, and noise is drawn, only with a
//! receipt, and a receipt is what a ledger gives for the cost that the mechanism itself states.
//!
//! ```
//! # use pg_dp::charge::{Cost, Costs, Ledger, Receipt, Sealed};
//! # use pg_dp::privacy::{Epsilon, PrivacyLoss};
//! struct Total; // a mechanism
//! impl Costs for Total {
//!     fn cost(&self) -> Cost {
//!         let epsilon = Epsilon::new(1.0).unwrap();
//!         let loss = PrivacyLoss::of_pure([1.0]);
//!         Cost { epsilon, delta: 0.0, loss, mechanism: "a total".into() }
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
//! let rows: Sealed<_, Book> = Sealed::new(vec![3, 1, 2]);
//! let receipt = Receipt::charged(Total, &Book)?;
//! assert_eq!(*receipt.entry(), 7);
//! assert_eq!(rows.open(&receipt).iter().sum::<i32>(), 6);
//! # Ok::<(), String>(())
//! ```
//!
//! What is not charged stays closed: there is nothing to read without a receipt,
//!
//! ```compile_fail,E0061
//! # use pg_dp::charge::{Cost, Costs, Ledger, Receipt, Sealed};
//! # use pg_dp::privacy::{Epsilon, PrivacyLoss};
//! # struct Total;
//! # impl Costs for Total {
//! #     fn cost(&self) -> Cost {
//! #         let epsilon = Epsilon::new(1.0).unwrap();
//! #         let loss = PrivacyLoss::of_pure([1.0]);
//! #         Cost { epsilon, delta: 0.0, loss, mechanism: "a total".into() }
//! #     }
//! # }
//! # struct Book;
//! # impl Ledger for Book {
//! #     type Entry = ();
//! #     type Refusal = ();
//! #     fn charge(&self, _: &Cost) -> Result<(), ()> { Ok(()) }
//! # }
//! let rows: Sealed<_, Book> = Sealed::new(vec![3, 1, 2]);
//! rows.open();
//! ```
//!
//! one that nobody has paid for does not do,
//!
//! ```compile_fail,E0308
//! # use pg_dp::charge::{Cost, Costs, Ledger, Receipt, Sealed};
//! # use pg_dp::privacy::{Epsilon, PrivacyLoss};
//! # struct Total;
//! # impl Costs for Total {
//! #     fn cost(&self) -> Cost {
//! #         let epsilon = Epsilon::new(1.0).unwrap();
//! #         let loss = PrivacyLoss::of_pure([1.0]);
//! #         Cost { epsilon, delta: 0.0, loss, mechanism: "a total".into() }
//! #     }
//! # }
//! # struct Book;
//! # impl Ledger for Book {
//! #     type Entry = ();
//! #     type Refusal = ();
//! #     fn charge(&self, _: &Cost) -> Result<(), ()> { Ok(()) }
//! # }
//! let rows: Sealed<_, Book> = Sealed::new(vec![3, 1, 2]);
//! rows.open(&Receipt::uncharged(Total));
//! ```
//!
//! and neither does one of another kind of ledger:
//!
//! ```compile_fail,E0308
//! # use pg_dp::charge::{Cost, Costs, Ledger, Receipt, Sealed};
//! # use pg_dp::privacy::{Epsilon, PrivacyLoss};
//! # struct Total;
//! # impl Costs for Total {
//! #     fn cost(&self) -> Cost {
//! #         let epsilon = Epsilon::new(1.0).unwrap();
//! #         let loss = PrivacyLoss::of_pure([1.0]);
//! #         Cost { epsilon, delta: 0.0, loss, mechanism: "a total".into() }
//! #     }
//! # }
//! # struct Book;
//! # impl Ledger for Book {
//! #     type Entry = ();
//! #     type Refusal = ();
//! #     fn charge(&self, _: &Cost) -> Result<(), ()> { Ok(()) }
//! # }
//! # struct Other;
//! # impl Ledger for Other {
//! #     type Entry = ();
//! #     type Refusal = ();
//! #     fn charge(&self, _: &Cost) -> Result<(), ()> { Ok(()) }
//! # }
//! let rows: Sealed<_, Book> = Sealed::new(vec![3, 1, 2]);
//! let receipt = Receipt::charged(Total, &Other).unwrap();
//! rows.open(&receipt);
//! ```
//!
//! Noise is drawn by receipts alone, which hold the very mechanism that was charged. A plan by
//! itself draws nothing,
//!
//! ```compile_fail,E0599
//! # use pg_dp::charge::{Cost, Ledger, Receipt};
//! # use pg_dp::noise::words_from_system;
//! # use pg_dp::ranges::{MethodChoice, RangePlan, RangeRequest};
//! # struct Book;
//! # impl Ledger for Book {
//! #     type Entry = ();
//! #     type Refusal = ();
//! #     fn charge(&self, _: &Cost) -> Result<(), ()> { Ok(()) }
//! # }
//! # let mut words = words_from_system().unwrap();
//! # let plan = |epsilon| {
//! #     let method = MethodChoice::parse("flat").unwrap();
//! #     let request = RangeRequest { bins: 4, epsilon, delta: 0.0, rows_per_unit: 1, method };
//! #     RangePlan::new(request).unwrap()
//! # };
//! let plan: RangePlan = plan(1.0);
//! plan.release(&[3, 1, 2, 5], &mut words);
//! ```
//!
//! a receipt takes no other plan than its own,
//!
//! ```compile_fail,E0061
//! # use pg_dp::charge::{Cost, Ledger, Receipt};
//! # use pg_dp::noise::words_from_system;
//! # use pg_dp::ranges::{MethodChoice, RangePlan, RangeRequest};
//! # struct Book;
//! # impl Ledger for Book {
//! #     type Entry = ();
//! #     type Refusal = ();
//! #     fn charge(&self, _: &Cost) -> Result<(), ()> { Ok(()) }
//! # }
//! # let mut words = words_from_system().unwrap();
//! # let plan = |epsilon| {
//! #     let method = MethodChoice::parse("flat").unwrap();
//! #     let request = RangeRequest { bins: 4, epsilon, delta: 0.0, rows_per_unit: 1, method };
//! #     RangePlan::new(request).unwrap()
//! # };
//! let (plan, cheap): (RangePlan, RangePlan) = (plan(1.0), plan(0.1));
//! let receipt = Receipt::charged(cheap, &Book).unwrap();
//! receipt.release(plan, &[3, 1, 2, 5], &mut words);
//! ```
//!
//! cannot be made by hand,
//!
//! ```compile_fail,E0451
//! # use pg_dp::charge::{Cost, Ledger, Receipt};
//! # use pg_dp::noise::words_from_system;
//! # use pg_dp::ranges::{MethodChoice, RangePlan, RangeRequest};
//! # struct Book;
//! # impl Ledger for Book {
//! #     type Entry = ();
//! #     type Refusal = ();
//! #     fn charge(&self, _: &Cost) -> Result<(), ()> { Ok(()) }
//! # }
//! # let mut words = words_from_system().unwrap();
//! # let plan = |epsilon| {
//! #     let method = MethodChoice::parse("flat").unwrap();
//! #     let request = RangeRequest { bins: 4, epsilon, delta: 0.0, rows_per_unit: 1, method };
//! #     RangePlan::new(request).unwrap()
//! # };
//! let plan: RangePlan = plan(1.0);
//! let receipt = Receipt { mechanism: plan, paid: () };
//! ```
//!
//! or be used twice:
//!
//! ```compile_fail,E0382
//! # use pg_dp::charge::{Cost, Ledger, Receipt};
//! # use pg_dp::noise::words_from_system;
//! # use pg_dp::ranges::{MethodChoice, RangePlan, RangeRequest};
//! # struct Book;
//! # impl Ledger for Book {
//! #     type Entry = ();
//! #     type Refusal = ();
//! #     fn charge(&self, _: &Cost) -> Result<(), ()> { Ok(()) }
//! # }
//! # let mut words = words_from_system().unwrap();
//! # let plan = |epsilon| {
//! #     let method = MethodChoice::parse("flat").unwrap();
//! #     let request = RangeRequest { bins: 4, epsilon, delta: 0.0, rows_per_unit: 1, method };
//! #     RangePlan::new(request).unwrap()
//! # };
//! let plan: RangePlan = plan(1.0);
//! let receipt = Receipt::charged(plan, &Book).unwrap();
//! receipt.release(&[3, 1, 2, 5], &mut words);
//! receipt.release(&[3, 1, 2, 5], &mut words);
//! ```
//!
//! Once it is right:
//!
//! ```
//! # use pg_dp::charge::{Cost, Ledger, Receipt};
//! # use pg_dp::noise::words_from_system;
//! # use pg_dp::ranges::{MethodChoice, RangePlan, RangeRequest};
//! # struct Book;
//! # impl Ledger for Book {
//! #     type Entry = ();
//! #     type Refusal = ();
//! #     fn charge(&self, _: &Cost) -> Result<(), ()> { Ok(()) }
//! # }
//! # let mut words = words_from_system().unwrap();
//! # let plan = |epsilon| {
//! #     let method = MethodChoice::parse("flat").unwrap();
//! #     let request = RangeRequest { bins: 4, epsilon, delta: 0.0, rows_per_unit: 1, method };
//! #     RangePlan::new(request).unwrap()
//! # };
//! let plan: RangePlan = plan(1.0);
//! let receipt = Receipt::charged(plan, &Book).unwrap();
//! receipt.release(&[3, 1, 2, 5], &mut words);
//! ```

use crate::privacy::{Epsilon, PrivacyLoss};
use serde_json::Value;
use std::fmt;
use std::marker::PhantomData;

/// What a release spends, and the description of it that a ledger keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    pub epsilon: Epsilon,
    /// 0 where the noise is discrete Laplace.
    pub delta: f64,
    pub loss: PrivacyLoss,
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
    ///
    /// A charge may stand already, of just this cost, for a release of which nothing was ever shown:
    /// the ledger may answer with that one, and see to it that one release alone is shown for it. So
    /// it may where parts of it were shown, each measured once, for those that are still to come.
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

/// Private data, or the means to read them, which only a receipt of that kind of ledger opens.
pub struct Sealed<T, L> {
    private: T,
    ledger: PhantomData<fn() -> L>,
}

impl<T, L: Ledger> Sealed<T, L> {
    pub fn new(private: T) -> Sealed<T, L> {
        Sealed { private, ledger: PhantomData }
    }

    /// What was sealed, for whoever has paid.
    pub fn open<M>(self, _receipt: &Charged<M, L>) -> T {
        self.private
    }
}

/// Tells nothing of what is inside.
impl<T, L> fmt::Debug for Sealed<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealed")
    }
}
