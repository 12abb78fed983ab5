//! What tests ask for.

use super::{
    Calibration, MethodChoice, NoiseParameter, PlaneRequest, RangePlanError, RangeRequest,
};

/// For units of privacy that own one row.
pub(super) fn ranges(
    bins: i64,
    epsilon: f64,
    delta: f64,
    method: &str,
) -> Result<RangeRequest, RangePlanError> {
    let method = MethodChoice::parse(method)?;
    Ok(RangeRequest { bins, epsilon, delta, rows_per_unit: 1, method })
}

/// For units of privacy that own one record.
pub(super) fn rectangles(
    [rows, columns]: [i64; 2],
    epsilon: f64,
    delta: f64,
    method: &str,
) -> Result<PlaneRequest, RangePlanError> {
    let method = MethodChoice::parse_for_grid(method)?;
    Ok(PlaneRequest { rows, columns, epsilon, delta, rows_per_unit: 1, method, asked: Vec::new() })
}

pub(super) fn laplace(epsilon: f64) -> NoiseParameter {
    NoiseParameter::Laplace { sensitivity: 1, epsilon }
}

pub(super) fn gaussian(sigma: f64) -> NoiseParameter {
    NoiseParameter::Gaussian { sigma }
}

/// One for all groups.
pub(super) fn equal(noise: NoiseParameter, groups: usize) -> Calibration {
    Calibration::per_group(vec![noise; groups])
}

/// Different for every group, and of both distributions.
pub(super) fn uneven(groups: usize) -> Calibration {
    let one = |i: usize| {
        if i.is_multiple_of(2) { laplace(0.3 + 0.17 * i as f64) } else { gaussian(7.0 / i as f64) }
    };
    Calibration::per_group((0..groups).map(one).collect())
}
