//! From which size on a hierarchy pays in two dimensions, by the mean variance over all rectangles
//! of an n x n grid.

use super::grid::CellGrid;
use crate::ranges::methods::tree_consistent::grid::mean_over_all;
use crate::ranges::plane::mechanism::PlaneMechanism;
use crate::ranges::{Calibration, PlaneOptimal, PlanePlan, PlaneTree, Workload, asked, svd_bound};

/// The mean variance of the best consistent tree of more than one level over that of the noisy
/// cells, and its branching factor. `own`: the variance of a level from the number of levels.
fn best_tree(n: usize, own: impl Fn(f64) -> f64) -> (f64, usize) {
    let grid = CellGrid::new(n, n).unwrap();
    let mean = |branching| {
        let levels = PlaneTree::levels(grid, branching);
        mean_over_all(grid, branching, &vec![own(levels as f64); levels])
    };
    let trees = (2..n).map(|branching| (mean(branching) / mean(n), branching));
    trees.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
}

/// Of continuous Laplace noise with equal shares of an epsilon of 1.
fn laplace(levels: f64) -> f64 {
    2.0 * levels * levels
}

/// Of Gaussian noise with equal shares of a rho of 1/2.
fn gaussian(levels: f64) -> f64 {
    levels
}

/// Qardaji et al., section 5.2, estimate N >= 4096 cells, 64 x 64, for epsilon-differential
/// privacy: exactly it is 49 x 49, a full tree of two levels, and all from 54 x 54 on. With
/// Gaussian noise, of which a second level costs the square root only, nearly all sizes.
#[test]
fn trees_pay_from_about_fifty_rows_and_columns_on() {
    let wins = |own: fn(f64) -> f64| (3..300).filter(move |n| best_tree(*n, own).0 < 1.0);
    assert!(wins(laplace).eq([49].into_iter().chain(54..300)));
    assert!(wins(gaussian).eq([3, 4].into_iter().chain(7..300)));
}

/// Mean variances over those of noisy cells of the same kind of noise: of the best consistent tree,
/// with its branching factor, for an epsilon of 1 and for Gaussian noise, and of the binary
/// cascade.
#[test]
fn gains_by_size() {
    for (n, (pure, b), (tree, b_gaussian), cascade) in [
        (16, ("1.492", 4), ("0.746", 4), "0.5132"),
        (64, ("0.894", 8), ("0.376", 4), "0.1394"),
        (256, ("0.478", 16), ("0.140", 4), "0.0248"),
        (1024, ("0.203", 11), ("0.045", 2), "0.0035"),
    ] {
        let shown = |(ratio, branching)| (format!("{ratio:.3}"), branching);
        assert_eq!(shown(best_tree(n, laplace)), (pure.into(), b));
        assert_eq!(shown(best_tree(n, gaussian)), (tree.into(), b_gaussian));
        let mean = |method| {
            let n = n as i64;
            let plan =
                PlanePlan::new(asked::rectangles([n, n], 1.0, 1e-6, method).unwrap()).unwrap();
            plan.mechanism().mean_over_all()
        };
        assert_eq!(format!("{:.4}", mean("cascade") / mean("gaussian")), cascade);
    }
}

/// `optimal` is close to the limit of all strategies, and closer with more cells.
#[test]
fn ratios_to_the_singular_value_bound_are_small() {
    for (n, limit) in [(64, 1.05), (256, 1.04), (1024, 1.03)] {
        let (bound, rho) = (svd_bound(Workload::All, n).unwrap(), 0.02435);
        let grid = CellGrid::new(n, n).unwrap();
        let optimal = PlaneOptimal::new(grid, &Calibration::together(rho)).unwrap();
        let ratio = optimal.mean_over_all() * 2.0 * rho / (bound * bound);
        assert!(ratio > 1.0 && ratio < limit, "{n} {ratio}");
    }
}
