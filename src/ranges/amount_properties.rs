//! What sums of amounts promise.

use super::measurements::difference;
use super::properties::{cases, cost};
use super::*;
use crate::charge::Receipt;
use crate::noise::words_from_system;
use std::ops::Range;

fn of_rows(bounds: BinBounds, amounts: AmountBounds, rows: &[(i64, i64)]) -> BinSums {
    let mut sums = BinSums::empty(bounds, amounts);
    rows.iter().for_each(|&(bin, amount)| sums.add(bin, amount));
    sums
}

/// Every table of up to one row, and every row that it has more: bins and amounts within their
/// bounds, at them and beyond. What is measured of cells is no farther apart than the weight allows,
/// and for some neighbour just as far.
#[test]
fn no_row_moves_measurements_farther_than_its_weight() {
    const BINS: i64 = 4;
    let bounds = BinBounds::new(0, BINS).unwrap();
    let question = 1..3;
    let cells = RangeCells::of(&[question], BINS as usize);
    for (least, most) in [(0, 1), (0, 4), (-3, 2), (2, 3), (-2, -1)] {
        let amounts = AmountBounds::new(least, most).unwrap();
        let weight = f64::from(amounts.weight(1).unwrap());
        let of_row = [i64::MIN, -9, -3, -2, -1, 0, 1, 2, 3, 4, 9, i64::MAX];
        let rows: Vec<(i64, i64)> =
            (-1..=BINS).flat_map(|bin| of_row.map(|amount| (bin, amount))).collect();
        let mut tables: Vec<Vec<(i64, i64)>> = rows.iter().map(|row| vec![*row]).collect();
        tables.push(Vec::new());
        for case in cases(cells.count()) {
            let mechanism = case.mechanism.as_ref();
            let groups = mechanism.measurements().groups();
            let measured = |rows: &[(i64, i64)]| {
                let SignedSums { above, below } = of_rows(bounds, amounts, rows).of_cells(&cells);
                difference(mechanism, &above, below.as_deref())
            };
            let mut largest = 0.0f64;
            for table in &tables {
                let before = measured(table);
                for row in &rows {
                    let after = measured(&[table.as_slice(), &[*row]].concat());
                    largest = largest.max(cost(groups, &before, &after));
                }
            }
            let (allowed, pure) = match mechanism.measurements().loss() {
                Loss::Epsilon(epsilon) => (epsilon * weight, true),
                Loss::Rho(rho) => (rho * weight * weight, false),
            };
            let ratio = largest / allowed;
            assert!(ratio <= 1.0 + 1e-14, "{}: {amounts:?} {ratio}", case.name);
            // the rho of discrete Laplace noise among Gaussian grows less than with the square
            let laplace =
                |group: &MeasurementGroup| matches!(group.noise, MeasurementNoise::Laplace(_));
            let mixed = !pure && groups.iter().any(laplace);
            assert!(mixed || ratio >= 1.0 - 1e-12, "{}: {amounts:?} {ratio}", case.name);
        }
    }
}

/// Sums at the most that a mechanism takes, and at that of `u64`: limits bring neighbours nearer to
/// each other, and nothing overflows. An amount of 1 fills what is left of a limit, one of 3 is cut.
#[test]
fn limits_move_no_neighbours_apart() {
    for case in (1..=5).flat_map(cases) {
        let mechanism = case.mechanism.as_ref();
        let groups = mechanism.measurements().groups();
        let bins = mechanism.bins();
        let largest = mechanism.largest_count();
        for (above, below) in
            [(largest - 1, 0), (largest, largest), (0, u64::MAX - 1), (7, largest)]
        {
            let (above, below) = (vec![above; bins], vec![below; bins]);
            let before = difference(mechanism, &above, Some(&below));
            for (bin, amount) in (0..bins).flat_map(|bin| [(bin, 1u32), (bin, 3)]) {
                let more = |sums: &Vec<u64>| {
                    let mut sums = sums.clone();
                    sums[bin] = sums[bin].saturating_add(amount.into());
                    sums
                };
                for after in [
                    difference(mechanism, &more(&above), Some(&below)),
                    difference(mechanism, &above, Some(&more(&below))),
                ] {
                    let amount = f64::from(amount);
                    let allowed = match mechanism.measurements().loss() {
                        Loss::Epsilon(epsilon) => epsilon * amount,
                        Loss::Rho(rho) => rho * amount * amount,
                    };
                    let cost = cost(groups, &before, &after);
                    assert!(cost <= allowed * (1.0 + 1e-14), "{}: {cost} {allowed}", case.name);
                }
            }
        }
    }
}

/// However many rows there are, and in whatever order they come, each moves one sum by its amount.
#[test]
fn full_sums_hide_no_order() {
    let bounds = BinBounds::new(0, 2).unwrap();
    let amounts = AmountBounds::new(i64::MIN, i64::MAX).unwrap();
    let rows = [(0, i64::MAX), (0, i64::MIN), (0, i64::MAX), (1, -5), (0, i64::MAX), (0, i64::MIN)];
    let sums = of_rows(bounds, amounts, &rows);
    let backwards: Vec<_> = rows.iter().rev().copied().collect();
    assert_eq!(sums, of_rows(bounds, amounts, &backwards));
    let SignedSums { above, below } =
        sums.of_cells(&RangeCells::of(std::slice::from_ref(&(0..1)), 2));
    assert_eq!((above, below), (vec![u64::MAX, 0], Some(vec![u64::MAX, 5])));
}

/// 3,000 releases of amounts between -20 and 50, with and without a delta: no mean of the errors is
/// 7 of its standard deviations off (probability below 1e-11), nor one of their squares (below 1e-7,
/// see `errors_are_as_stated`).
#[test]
fn errors_of_sums_are_as_stated() {
    let (bins, releases) = (40, 3_000);
    let bounds = BinBounds::new(0, bins).unwrap();
    let amounts = AmountBounds::new(-20, 50).unwrap();
    let rows: Vec<(i64, i64)> = (0..2_000).map(|i| (i * i % 43, i * 7 % 131 - 60)).collect();
    let truth_of = |bins: &Range<usize>| -> i64 {
        let clamped = rows.iter().map(|&(bin, amount)| (bin.min(39), amount.clamp(-20, 50)));
        clamped.filter(|(bin, _)| bins.contains(&(*bin as usize))).map(|(_, amount)| amount).sum()
    };
    let questions: Vec<Range<usize>> = vec![0..40, 0..7, 3..20, 20..40, 39..40, 5..6];
    let cells = RangeCells::of(&questions, bins as usize);
    let sums = of_rows(bounds, amounts, &rows).of_cells(&cells);
    let mut words = words_from_system().unwrap();
    for (delta, spread) in [(0.0, 5.5f64), (1e-6, 2.0)] {
        let request = ReleaseRequest {
            bins: cells.count() as i64,
            widths: None,
            epsilon: 1.0,
            delta,
            rows_per_unit: amounts.weight(2).unwrap(),
            negative: true,
            choice: ReleaseChoice::parse("auto").unwrap(),
        };
        let plan = || ReleasePlan::new(request.clone()).unwrap();
        let mut moments = vec![(0.0, 0.0); questions.len()];
        for _ in 0..releases {
            let release = Receipt::uncharged(plan()).release_sums(&sums, &mut words);
            for (question, (sum, squares)) in questions.iter().zip(&mut moments) {
                let of_cells = cells.within(question);
                let stddev = release.variance(of_cells.clone()).unwrap().sqrt();
                let error = (release.sum(of_cells) - truth_of(question) as f64) / stddev;
                *sum += error;
                *squares += error * error;
            }
        }
        let releases = f64::from(releases);
        for (question, (sum, squares)) in questions.iter().zip(moments) {
            assert!(sum.abs() < 7.0 * releases.sqrt(), "{delta} {question:?}: sum {sum}");
            let off = squares / releases - 1.0;
            let limit = 7.0 * (spread / releases).sqrt();
            assert!(off.abs() < limit, "{delta} {question:?}: {off}");
        }
    }
}
