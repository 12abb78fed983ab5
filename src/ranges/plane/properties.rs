//! What every mechanism over a grid promises, against dense linear algebra on small ones.

use super::corner_sums::CornerSums;
use super::grid::{CellGrid, Rectangle};
use super::mechanism::PlaneMechanism;
use crate::charge::Receipt;
use crate::noise::words_from_system;
use crate::privacy::rho_of_pure;
use crate::ranges::asked::{self, equal, laplace, uneven};
use crate::ranges::methods::cascade::contrasts::Contrasts;
use crate::ranges::{
    Calibration, Cascade, ConsistentTree, CountMechanism, Loss, MAX_GRID_FAN_OUT, MeasurementGroup,
    MeasurementNoise, PlaneCascade, PlaneOptimal, PlanePlan, PlaneTree, RangeMechanism,
    TreeOverBins, TreeShape, Workload,
};
use nalgebra::{DMatrix, DVector};
use num_bigint::BigInt;
use num_rational::Ratio;
use num_traits::{One, Zero};
use proptest::prelude::*;

fn grid(rows: usize, columns: usize) -> CellGrid {
    CellGrid::new(rows, columns).unwrap()
}

struct PlaneCase {
    name: String,
    mechanism: Box<dyn PlaneMechanism>,
}

/// Every mechanism over a grid, with equal and with uneven noise.
fn cases(rows: usize, columns: usize) -> Vec<PlaneCase> {
    let grid = grid(rows, columns);
    let mut cases = Vec::new();
    let mut add = |name: String, mechanism: Box<dyn PlaneMechanism>| {
        cases.push(PlaneCase { name: format!("{name} over {rows} x {columns}"), mechanism });
    };
    for branching in (2..=5).chain([rows.max(columns).max(2)]) {
        let levels = PlaneTree::levels(grid, branching);
        for (kind, noise) in [("equal", equal(laplace(0.4), levels)), ("uneven", uneven(levels))] {
            let name = format!("tree, b = {branching}, {kind} noise");
            add(name, Box::new(PlaneTree::new(grid, branching, &noise).unwrap()));
        }
    }
    // with the second budget the noise's variances are no product
    for rho in [0.02435, 17.0] {
        for fan_out in [2, 3, 5] {
            let cascade = PlaneCascade::new(grid, fan_out, &Calibration::together(rho)).unwrap();
            add(format!("cascade, fan-out {fan_out}, rho {rho}"), Box::new(cascade));
        }
        let optimal = PlaneOptimal::new(grid, &Calibration::together(rho)).unwrap();
        add(format!("optimal, rho {rho}"), Box::new(optimal));
    }
    cases
}

const SIZES: [(usize, usize); 12] = [
    (1, 1),
    (1, 2),
    (1, 11),
    (9, 1),
    (2, 2),
    (5, 3),
    (3, 10),
    (4, 4),
    (7, 7),
    (17, 2),
    (9, 10),
    (16, 16),
];

fn rectangles(grid: CellGrid) -> impl Iterator<Item = Rectangle> {
    Workload::All.ranges(grid.rows()).flat_map(move |rows| {
        let columns = Workload::All.ranges(grid.columns());
        columns.map(move |columns| Rectangle { rows: rows.clone(), columns })
    })
}

/// 1 for the cells of a rectangle, 0 for the others.
fn indicator(grid: CellGrid, rectangle: &Rectangle) -> DVector<f64> {
    DVector::from_fn(grid.cells(), |cell, _| {
        let (row, column) = (cell / grid.columns(), cell % grid.columns());
        f64::from(rectangle.rows.contains(&row) && rectangle.columns.contains(&column))
    })
}

/// The measurements as a matrix, one row each.
fn strategy(mechanism: &dyn PlaneMechanism) -> DMatrix<f64> {
    let cells = mechanism.grid().cells();
    let columns = (0..cells).map(|cell| {
        let mut counts = vec![0; cells];
        counts[cell] = 1;
        let measured = mechanism.measure(&counts);
        DVector::from_iterator(measured.len(), measured.into_iter().map(|value| value as f64))
    });
    DMatrix::from_columns(&columns.collect::<Vec<_>>())
}

fn noise_variances(mechanism: &dyn PlaneMechanism) -> DVector<f64> {
    let of = |group: &MeasurementGroup| vec![group.noise.variance(); group.measurements];
    DVector::from_vec(mechanism.measurements().groups().iter().flat_map(of).collect())
}

/// The cells' estimates as a matrix times the noisy measurements.
fn estimator(mechanism: &dyn PlaneMechanism, measurements: usize) -> DMatrix<f64> {
    let columns = (0..measurements).map(|measurement| {
        let mut noisy = vec![0; measurements];
        noisy[measurement] = 1;
        DVector::from_vec(mechanism.cell_estimates(&noisy))
    });
    DMatrix::from_columns(&columns.collect::<Vec<_>>())
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-10 * (1.0 + a.abs().max(b.abs()))
}

#[test]
fn estimates_are_unbiased_with_exactly_the_stated_variances_and_no_linear_ones_have_less() {
    for case in SIZES.into_iter().flat_map(|(rows, columns)| cases(rows, columns)) {
        let mechanism = case.mechanism.as_ref();
        let grid = mechanism.grid();
        let (strategy, noise) = (strategy(mechanism), noise_variances(mechanism));
        assert_eq!(strategy.nrows(), noise.len(), "{}", case.name);
        let estimator = estimator(mechanism, noise.len());
        let unbiased =
            (&estimator * &strategy - DMatrix::identity(grid.cells(), grid.cells())).amax();
        assert!(unbiased < 1e-10, "{}: {unbiased}", case.name);

        let covariance = &estimator * DMatrix::from_diagonal(&noise) * estimator.transpose();
        let precisions = noise.map(f64::recip);
        let information = strategy.transpose() * DMatrix::from_diagonal(&precisions) * &strategy;
        let best = information.cholesky().unwrap().inverse();
        let excess = (&covariance - &best).amax();
        assert!(excess < 1e-10 * best.amax(), "{}: {excess}", case.name);

        let step = 1 + grid.rectangles() as usize / 400;
        for rectangle in rectangles(grid).step_by(step) {
            let weights = indicator(grid, &rectangle);
            let dense = (&covariance * &weights).dot(&weights);
            let stated = mechanism.variance(&rectangle);
            assert!(close(dense, stated), "{}, {rectangle:?}: {dense} {stated}", case.name);
        }
        for empty in [(0..0, 0..grid.columns()), (0..grid.rows(), 0..0)] {
            let empty = Rectangle { rows: empty.0, columns: empty.1 };
            assert_eq!(mechanism.variance(&empty), 0.0);
        }
    }
}

#[test]
fn means_and_maxima_are_those_of_all_variances() {
    let larger = [(1, 40), (27, 6), (13, 18), (32, 32)];
    for case in SIZES.into_iter().chain(larger).flat_map(|(rows, columns)| cases(rows, columns)) {
        let mechanism = case.mechanism.as_ref();
        let (mut sum, mut max) = (0.0, 0.0f64);
        for rectangle in rectangles(mechanism.grid()) {
            let variance = mechanism.variance(&rectangle);
            sum += variance;
            max = max.max(variance);
        }
        let mean = sum / mechanism.grid().rectangles() as f64;
        let stated = mechanism.mean_over_all();
        assert!(close(mean, stated), "{}: {mean} {stated}", case.name);
        let stated = mechanism.max_over_all().unwrap();
        assert!(close(max, stated), "{}: {max} {stated}", case.name);
    }
}

/// The cells alone, and a cascade whose noise's variances are a product, know it at any size.
#[test]
fn a_maximum_that_no_search_would_reach_is_not_stated() {
    let grid = grid(300, 200);
    let tree = |branching| {
        let noise = equal(laplace(1.0), PlaneTree::levels(grid, branching));
        PlaneTree::new(grid, branching, &noise).unwrap()
    };
    let cascade = |rho| PlaneCascade::new(grid, 2, &Calibration::together(rho)).unwrap();
    let max = |mechanism: &dyn PlaneMechanism| mechanism.max_over_all();
    assert_eq!(max(&tree(2)), None);
    let cell = MeasurementNoise::new(laplace(1.0)).unwrap().variance();
    assert_eq!(max(&tree(300)), Some(60_000.0 * cell));
    assert!(max(&cascade(0.02435)).is_some());
    assert_eq!(max(&cascade(1e3)), None);
}

/// Also with a million bins, where the tree's variances here are differences of large numbers.
#[test]
fn one_row_or_one_column_is_one_dimension() {
    for bins in [37, 1_000_003] {
        let shape = TreeShape::new(bins, 7);
        let noise = &equal(laplace(0.4), shape.height());
        let together = &Calibration::together(0.1);
        let ranges = [0..1, 0..bins, bins - 1..bins, bins / 5..bins - 6, 20..29, bins / 2..bins];
        for (rows, columns) in [(1, bins), (bins, 1)] {
            let same = |plane: &dyn PlaneMechanism, line: &dyn RangeMechanism, roundoff: f64| {
                let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < roundoff, "{a} {b}");
                for range in ranges.clone() {
                    let (rows, columns) =
                        if rows == 1 { (0..1, range.clone()) } else { (range.clone(), 0..1) };
                    close(plane.variance(&Rectangle { rows, columns }), line.variance(range));
                }
                close(plane.mean_over_all(), line.mean_over_all());
                if let Some(max) = plane.max_over_all() {
                    close(max, line.max_over_all());
                }
            };
            let tree = PlaneTree::new(grid(rows, columns), 7, noise).unwrap();
            same(&tree, &ConsistentTree::new(shape, noise).unwrap(), 1e-9);
            let cascade = PlaneCascade::new(grid(rows, columns), 7, together).unwrap();
            let line = Cascade::new(TreeOverBins::balanced(bins, 7).unwrap(), together).unwrap();
            same(&cascade, &line, 1e-12);
        }
    }
}

/// Every step of one record, up and down, among records everywhere.
#[test]
fn no_neighbour_costs_more_than_the_loss_and_some_neighbour_costs_it() {
    for case in SIZES.into_iter().flat_map(|(rows, columns)| cases(rows, columns)) {
        let mechanism = case.mechanism.as_ref();
        let groups = mechanism.measurements().groups();
        let counts: Vec<u64> =
            (0..mechanism.grid().cells() as u64).map(|c| 3 + c * c % 91).collect();
        let before = mechanism.measure(&counts);
        let measurements: usize = groups.iter().map(|group| group.measurements).sum();
        assert_eq!(before.len(), measurements, "{}", case.name);
        let pure = groups.iter().all(|group| matches!(group.noise, MeasurementNoise::Laplace(_)));
        let cost = |cell: usize, change: i64| -> f64 {
            let mut neighbour = counts.clone();
            neighbour[cell] = neighbour[cell].checked_add_signed(change).unwrap();
            let after = mechanism.measure(&neighbour);
            let mut moved = before.iter().zip(&after).map(|(a, b)| (a - b).abs() as f64);
            let of_group = |group: &MeasurementGroup| -> f64 {
                let moved = moved.by_ref().take(group.measurements);
                match (&group.noise, pure) {
                    (MeasurementNoise::Laplace(law), true) => {
                        moved.sum::<f64>() / law.scale().as_f64()
                    }
                    (MeasurementNoise::Laplace(law), false) => {
                        moved.map(|d| rho_of_pure(d / law.scale().as_f64())).sum()
                    }
                    (MeasurementNoise::Gaussian(law), _) => {
                        moved.map(|d| (d / law.sigma()).powi(2) / 2.0).sum()
                    }
                }
            };
            groups.iter().map(of_group).sum()
        };
        let costs = (0..counts.len()).flat_map(|cell| [cost(cell, 1), cost(cell, -1)]);
        let largest = costs.fold(0.0, f64::max);
        let declared = match mechanism.measurements().loss() {
            Loss::Epsilon(epsilon) if pure => epsilon,
            Loss::Rho(rho) if !pure => rho,
            loss => panic!("{}: {loss:?}", case.name),
        };
        let ratio = largest / declared;
        assert!((1.0 - 1e-12..=1.0 + 1e-13).contains(&ratio), "{}: {ratio}", case.name);
    }
}

/// The columns of the measurements' matrix, added up without their signs, show the largest that any
/// counts lead to.
#[test]
fn the_largest_counts_are_measured_without_an_overflow() {
    for case in SIZES.into_iter().flat_map(|(rows, columns)| cases(rows, columns)) {
        let mechanism = case.mechanism.as_ref();
        let largest = mechanism.largest_count();
        assert!(largest >= 1 << 24, "{}: {largest}", case.name);
        for row in strategy(mechanism).row_iter() {
            let magnitude = row.iter().map(|factor| factor.abs() as i128).sum::<i128>();
            assert!(magnitude * i128::from(largest) <= 1 << 62, "{}", case.name);
        }
        // overflows panic in tests
        let cells = mechanism.grid().cells();
        mechanism.measure(&vec![largest; cells]);
        for parity in [0, 1] {
            let counts: Vec<u64> =
                (0..cells).map(|cell| if cell % 2 == parity { largest } else { 0 }).collect();
            mechanism.measure(&counts);
        }
    }
}

proptest! {
    /// What is left of the noisy measurements is orthogonal to all that cells could explain, in the
    /// metric of the noise; and a node's sum is that of its children.
    #[test]
    fn trees_solve_the_normal_equations(
        rows in 1usize..12, columns in 1usize..12, branching in 2usize..6, seed in any::<u32>(),
    ) {
        let grid = grid(rows, columns);
        let noise = uneven(PlaneTree::levels(grid, branching));
        let tree = PlaneTree::new(grid, branching, &noise).unwrap();
        let (strategy, variances) = (strategy(&tree), noise_variances(&tree));
        let noisy: Vec<i64> =
            (0..variances.len() as i64).map(|i| i * i64::from(seed) % 1009 - 500).collect();
        let cells = tree.cell_estimates(&noisy);
        let sums = &strategy * DVector::from_column_slice(&cells);
        let residuals = DVector::from_fn(noisy.len(), |i, _| {
            (noisy[i] as f64 - sums[i]) / variances[i]
        });
        prop_assert!((strategy.transpose() * residuals).amax() < 1e-8);

        let estimates = CornerSums::new(grid, &cells);
        for rectangle in rectangles(grid).step_by(7) {
            let Rectangle { rows, columns } = rectangle.clone();
            let middle = rows.start.midpoint(rows.end);
            let parts = [rows.start..middle, middle..rows.end]
                .map(|rows| estimates.sum(&Rectangle { rows, columns: columns.clone() }));
            let whole = indicator(grid, &rectangle).dot(&DVector::from_column_slice(&cells));
            prop_assert!((parts[0] + parts[1] - whole).abs() < 1e-6);
        }
    }
}

type ExactEntry = Ratio<BigInt>;

fn exact(value: Ratio<u64>) -> ExactEntry {
    Ratio::new(BigInt::from(*value.numer()), BigInt::from(*value.denom()))
}

fn ratio(numerator: i64, denominator: i64) -> ExactEntry {
    Ratio::new(BigInt::from(numerator), BigInt::from(denominator))
}

/// Definition 3.1 of the cascade paper, in units of s^2: two copies of the next smaller covariance,
/// and -1/2 over the square of the half's size between them.
fn cascade_covariance(bins: usize) -> Vec<Vec<ExactEntry>> {
    if bins == 1 {
        return vec![vec![ExactEntry::one()]];
    }
    let half = bins / 2;
    let (below, apart) = (cascade_covariance(half), ratio(-1, (2 * half * half) as i64));
    let entry = |i: usize, j: usize| {
        if i / half == j / half { below[i % half][j % half].clone() } else { apart.clone() }
    };
    (0..bins).map(|i| (0..bins).map(|j| entry(i, j)).collect()).collect()
}

/// B C B^T is the measurements' noise, in exact numbers, for the Kronecker product C of the paper's
/// covariances; B can be inverted, or the estimates would not be unbiased, so C is the estimates'.
#[test]
fn the_covariance_is_the_product_of_the_papers() {
    for (rows, columns) in [(1, 1), (1, 4), (2, 2), (2, 8), (4, 4), (8, 4)] {
        let cascade =
            PlaneCascade::new(grid(rows, columns), 2, &Calibration::together(0.5)).unwrap();
        let weights = |bins| -> Vec<(ExactEntry, usize)> {
            let contrasts = Contrasts::new(TreeOverBins::balanced(bins, 2).unwrap());
            contrasts.laws().iter().map(|law| (exact(law.weight), law.measurements)).collect()
        };
        let (row_laws, column_laws) = (weights(rows), weights(columns));
        let noise = row_laws.iter().flat_map(|(row, height)| {
            column_laws.iter().flat_map(move |(column, width)| vec![row * column; height * width])
        });
        let noise: Vec<ExactEntry> = noise.collect();
        let (of_rows, of_columns) = (cascade_covariance(rows), cascade_covariance(columns));
        let strategy = strategy(&cascade).map(|factor| ratio(factor as i64, 1));
        let cells = rows * columns;
        let covariance = DMatrix::from_fn(cells, cells, |p, q| {
            &of_rows[p / columns][q / columns] * &of_columns[p % columns][q % columns]
        });
        let product = |a: &DMatrix<ExactEntry>, b: &DMatrix<ExactEntry>| {
            DMatrix::from_fn(cells, cells, |i, j| {
                (0..cells).map(|k| &a[(i, k)] * &b[(k, j)]).sum::<ExactEntry>()
            })
        };
        let of_measured = product(&product(&strategy, &covariance), &strategy.transpose());
        for i in 0..cells {
            for j in 0..cells {
                let wanted = if i == j { noise[i].clone() } else { ExactEntry::zero() };
                assert_eq!(of_measured[(i, j)], wanted, "{rows} x {columns}: {i} {j}");
            }
        }
        // the square of each record's distance is (1 + k/3) (1 + k'/3)
        let height = |bins: usize| i64::from(bins.ilog2());
        let wanted = ratio((3 + height(rows)) * (3 + height(columns)), 9);
        for cell in 0..cells {
            let factors = (0..cells).map(|i| &strategy[(i, cell)]);
            let distance = factors.zip(&noise).map(|(f, w)| f * f / w).sum::<ExactEntry>();
            assert_eq!(distance, wanted);
        }
    }
}

/// The fractions of the largest fan-out stay within their integers.
#[test]
fn every_fan_out_has_its_sensitivity() {
    let noise = &Calibration::together(0.1);
    for fan_out in 2..=MAX_GRID_FAN_OUT {
        for (rows, columns) in [(33, 33), (64, 7), (1100, 40)] {
            let cascade = PlaneCascade::new(grid(rows, columns), fan_out, noise).unwrap();
            let Loss::Rho(rho) = cascade.measurements().loss() else { panic!("no Gaussian noise") };
            assert!((1.0 - 1e-12..=1.0).contains(&(rho / 0.1)), "{fan_out}: {rho}");
        }
    }
}

/// 3,000 releases of each method and 12 rectangles: no mean of the errors is 8 of its standard
/// deviations off. No mean of their squares, over their variance, is 0.18 off for Gaussian noise
/// and 0.35 for Laplace noise: below 1e-9 each by Chernoff's bound, exp(-1500 (d - ln (1 + d))) for
/// the chi-squared distribution. For discrete Laplace noise it was computed for single draws of
/// epsilon 1/3 to 1 without those beyond 30 scales, which come with a probability of 3e-10 in
/// all; sums of draws with any factors have lighter tails.
#[test]
fn errors_are_as_stated() {
    let (rows, columns, releases) = (8, 7, 3_000);
    let rectangles: Vec<Rectangle> = rectangles(grid(8, 7)).step_by(85).collect();
    assert_eq!(rectangles.len(), 12);
    let counts: Vec<u64> =
        (0..56u64).map(|cell| 1 + cell * cell % 7 + 1_000 * u64::from(cell == 20)).collect();
    let counts_vector = DVector::from_iterator(56, counts.iter().map(|count| *count as f64));
    let mut words = words_from_system().unwrap();
    let pure = ["flat", "tree_consistent:2", "tree_consistent:3"].map(|word| (word, 0.0, 0.35));
    let gaussian = ["gaussian", "tree_consistent:3", "cascade", "cascade:3", "optimal"];
    for (word, delta, limit) in pure.into_iter().chain(gaussian.map(|word| (word, 1e-6, 0.18))) {
        let plan = || {
            PlanePlan::new(asked::rectangles([rows, columns], 1.0, delta, word).unwrap()).unwrap()
        };
        let mut moments = vec![(0.0, 0.0); rectangles.len()];
        for _ in 0..releases {
            let release = Receipt::uncharged(plan()).release(&counts, &mut words);
            for (rectangle, (sum, squares)) in rectangles.iter().zip(&mut moments) {
                let truth = indicator(release.grid(), rectangle).dot(&counts_vector);
                let error = (release.sum(rectangle) - truth) / release.variance(rectangle).sqrt();
                *sum += error;
                *squares += error * error;
            }
        }
        let releases = f64::from(releases);
        for (rectangle, (sum, squares)) in rectangles.iter().zip(moments) {
            assert!(sum.abs() < 8.0 * releases.sqrt(), "{word} {rectangle:?}: sum {sum}");
            let off = squares / releases - 1.0;
            assert!(off.abs() < limit, "{word} {delta} {rectangle:?}: {off}");
        }
    }
}
