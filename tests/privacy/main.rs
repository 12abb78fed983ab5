//! A tester of whole releases: how private a build really is, from nothing but its outputs on
//! neighbouring tables.
//!
//! *False alarms.* A correct build fails for one pair of neighbours and one promise with
//! probability [`tester::ALPHA`] = 8e-10 at most. There are at most 693 of them in `histograms`, 400
//! in `ranges`, 83 in `audit`: less than 1e-6 in all.
//!
//! *Power.* The same tester has to reject planted bugs.
//!
//! The figures are printed with `cargo test --test privacy -- --nocapture`.

mod audit;
mod histograms;
mod ranges;
mod tester;
