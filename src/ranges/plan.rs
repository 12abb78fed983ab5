//! What a release will do, settled from public arguments before any data are read.

use super::bins::sums::SignedSums;
use super::calibration::Calibration;
use super::measurements::CountMechanism;
use super::parameters::{Parameters, PlaneParameters, RangeParameters};
use super::plane::cell_counts::CellCounts;
use super::plane::release::PlaneRelease;
use super::release::RangeRelease;
use super::released_grid::DpGrid;
use super::spending::{MARGIN, Price, Priced};
use crate::charge::{Cost, Costs, Receipt};
use crate::noise::{RandomWords, ScaleError};
use crate::privacy::{Epsilon, PrivacyLoss};

/// A release: the method with all its parameters, and what it spends.
///
/// The groups of measurements compose sequentially. With discrete Laplace noise the release
/// satisfies [`Plan::epsilon`]-differential privacy, with discrete Gaussian noise [`Plan::rho`]-zCDP,
/// and ([`Plan::epsilon`], [`Plan::delta`]) by that or by the exact curve of such noise.
///
/// ```
/// # use pg_dp::charge::Receipt;
/// # use pg_dp::noise::words_from_system;
/// # use pg_dp::ranges::{MethodChoice, RangePlan, RangeRequest};
/// let method = MethodChoice::parse("flat")?;
/// let (bins, epsilon, delta, rows_per_unit) = (3, 1.0, 0.0, 1);
/// let plan = RangePlan::new(RangeRequest { bins, epsilon, delta, rows_per_unit, method })?;
/// let release = Receipt::uncharged(plan).release(&[3, 1, 2], &mut words_from_system()?);
/// println!("{}", release.sum(0..2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Without a receipt nothing is drawn, and noise has no other price than its own:
///
/// ```compile_fail,E0599
/// # use pg_dp::noise::words_from_system;
/// # use pg_dp::ranges::RangePlan;
/// fn drawn_without_a_receipt(plan: RangePlan) {
///     plan.release(&[3, 1, 2], &mut words_from_system().unwrap());
/// }
/// ```
///
/// ```compile_fail,E0616
/// # use pg_dp::ranges::RangePlan;
/// fn at_the_price_of_another(plan: RangePlan, cheaper: RangePlan) -> RangePlan {
///     RangePlan { price: cheaper.price, ..plan }
/// }
/// ```
pub struct Plan<P: Parameters> {
    price: Price,
    parameters: P,
    mechanism: Box<P::Mechanism>,
}

/// A release of range sums.
pub type RangePlan = Plan<RangeParameters>;

/// A release of sums over rectangles.
pub type PlanePlan = Plan<PlaneParameters>;

impl<P: Parameters> Plan<P> {
    /// What is drawn is the noise that is charged.
    ///
    /// Errors: a noise that cannot be sampled.
    pub(super) fn of(
        noise: Priced,
        parameters: impl FnOnce(Calibration) -> P,
    ) -> Result<Plan<P>, ScaleError> {
        let rows = noise.rows_per_unit();
        let (mut price, calibration) = noise.into_parts();
        let parameters = parameters(calibration);
        let mechanism = parameters.mechanism()?;
        price.loss = mechanism.measurements().told_of(price.loss, rows);
        Ok(Plan { price, parameters, mechanism })
    }

    /// What is charged.
    pub fn epsilon(&self) -> Epsilon {
        self.price.epsilon
    }

    /// What is charged: 0 where the noise is discrete Laplace.
    pub fn delta(&self) -> f64 {
        self.price.delta
    }

    /// The zero-concentrated loss of the whole release.
    pub fn rho(&self) -> f64 {
        self.price.loss.rho()
    }

    /// The variance of a measurement with sensitivity 1 that has the budget for itself.
    pub(super) fn unit_variance(&self) -> f64 {
        if self.delta() > 0.0 {
            1.0 / (2.0 * self.rho())
        } else {
            2.0 / self.epsilon().value().powi(2)
        }
    }

    pub fn parameters(&self) -> &P {
        &self.parameters
    }

    /// Tells what is measured and the variances to expect.
    pub fn mechanism(&self) -> &P::Mechanism {
        self.mechanism.as_ref()
    }
}

impl RangePlan {
    /// The plan divided into parts that compose sequentially, one for each share that is not 0: the
    /// same measurements, of which a part may be made once for each of several regions, with the noise
    /// of its share of the budget. With it the price of all of them: that of the plan, but for a loss
    /// of more and smaller parts. `rows`: how many a unit of privacy has, each in any region.
    //
    // The epsilon or rho of a part errs by less than 16 units of roundoff, 2^-53, the sum of n shares
    // by less than n: together within n margins, each of which is 32.
    pub(super) fn divided(
        &self,
        shares: &[f64],
        rows: u32,
    ) -> (Price, Vec<Option<RangeParameters>>) {
        let sum: f64 = shares.iter().sum();
        let margin = MARGIN * shares.len() as f64;
        let part = |share: &f64| {
            let calibration = self.parameters.calibration.part(share / sum * (1.0 - margin));
            (*share > 0.0).then(|| RangeParameters { calibration, ..self.parameters.clone() })
        };
        let parts: Vec<Option<RangeParameters>> = shares.iter().map(part).collect();
        let epsilons = parts.iter().flatten().map(|part| part.calibration.epsilons());
        let loss = match epsilons.collect::<Option<Vec<_>>>() {
            Some(epsilons) => {
                PrivacyLoss::of_pure(epsilons.concat().into_iter().map(|e| e * (1.0 + margin)))
            }
            None => self.price.loss.clone().in_parts(parts.len() as u64 * u64::from(rows)),
        };
        (Price { loss, ..self.price.clone() }, parts)
    }
}

impl<P: Parameters> Costs for Plan<P> {
    fn cost(&self) -> Cost {
        let Price { epsilon, delta, loss } = self.price.clone();
        Cost { epsilon, delta, loss, mechanism: self.parameters.describe_with(self.mechanism()) }
    }
}

impl RangePlan {
    /// For who has paid. `above` and `below`: sums, one per bin, of amounts of either sign.
    ///
    /// # Panics
    /// If the sums are those of another number of bins.
    pub(super) fn draw<R: RandomWords + ?Sized>(
        self,
        above: &[u64],
        below: Option<&[u64]>,
        words: &mut R,
    ) -> RangeRelease {
        let Plan { parameters, mechanism, .. } = self;
        assert_eq!(above.len(), parameters.bins(), "sums of another number of bins");
        RangeRelease::draw(parameters, mechanism, above, below, words)
    }
}

impl<P> Receipt<RangePlan, P> {
    /// Measures and adds exact noise. `counts`: of rows, one per bin.
    ///
    /// # Panics
    /// If the counts are those of another number of bins.
    pub fn release<R: RandomWords + ?Sized>(self, counts: &[u64], words: &mut R) -> RangeRelease {
        self.into_mechanism().draw(counts, None, words)
    }
}

impl<P> Receipt<PlanePlan, P> {
    /// Measures and adds exact noise. `counts`: of rows, one per cell, row by row of the grid.
    ///
    /// # Panics
    /// If the counts are those of another number of cells.
    pub fn release<R: RandomWords + ?Sized>(self, counts: &[u64], words: &mut R) -> PlaneRelease {
        let Plan { parameters, mechanism, .. } = self.into_mechanism();
        assert_eq!(counts.len(), parameters.grid().cells(), "counts of another number of cells");
        PlaneRelease::draw(mechanism, counts, None, words)
    }

    /// Measures and adds exact noise, for a value that answers later.
    ///
    /// # Panics
    /// If the counts are those of another grid.
    pub fn release_cells<R: RandomWords + ?Sized>(
        self,
        truth: &CellCounts,
        words: &mut R,
    ) -> DpGrid {
        let Plan { parameters, mechanism, .. } = self.into_mechanism();
        let bounds = truth.bounds();
        let (rows, columns) = (bounds.rows().bins(), bounds.columns().bins());
        let grid = parameters.grid();
        assert_eq!((grid.rows(), grid.columns()), (rows, columns), "counts of another grid");
        let release = PlaneRelease::draw(mechanism, truth.counts(), None, words);
        DpGrid::of(bounds, parameters, release)
    }

    /// Measures sums of amounts and adds exact noise. `sums`: one per cell, row by row of the grid,
    /// of amounts within the bounds whose weight the plan is made for.
    ///
    /// # Panics
    /// If the sums are those of another number of cells.
    pub fn release_sums<R: RandomWords + ?Sized>(
        self,
        sums: &SignedSums,
        words: &mut R,
    ) -> PlaneRelease {
        let Plan { parameters, mechanism, .. } = self.into_mechanism();
        let SignedSums { above, below } = sums;
        assert_eq!(above.len(), parameters.grid().cells(), "sums of another number of cells");
        PlaneRelease::draw(mechanism, above, below.as_deref(), words)
    }
}
