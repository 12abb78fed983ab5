//! Divisions of a budget into whole parts.

/// Differences of costs, which are logarithms or about 1, count from here on.
const LEAST_GAIN: f64 = 1e-9;

/// As equal as whole parts can be.
pub fn equal_parts(levels: usize, parts: usize) -> Vec<usize> {
    (0..levels).map(|level| (level + 1) * parts / levels - level * parts / levels).collect()
}

/// The parts for the levels, of so many in all, with the least cost that is found from equal parts
/// and from the last level alone; and that cost. The last level gets one at least. A cost that is
/// no number is never taken.
pub fn best_parts(
    levels: usize,
    parts: usize,
    cost: impl Fn(&[usize]) -> f64,
) -> (f64, Vec<usize>) {
    let cost = |parts: &[usize]| Some(cost(parts)).filter(|cost| !cost.is_nan());
    let cost = |parts: &[usize]| cost(parts).unwrap_or(f64::INFINITY);
    let mut last_alone = vec![0; levels];
    last_alone[levels - 1] = parts;
    let equal = improved(equal_parts(levels, parts), &cost);
    let other = improved(last_alone, &cost);
    if other.0 < equal.0 { other } else { equal }
}

/// Moves parts from level to level as long as that makes the cost less.
fn improved(mut parts: Vec<usize>, cost: &impl Fn(&[usize]) -> f64) -> (f64, Vec<usize>) {
    let last = parts.len() - 1;
    let mut least = cost(&parts);
    let mut step = parts.iter().sum::<usize>() / 2;
    while step > 0 {
        let mut moved = false;
        for (from, to) in (0..=last).flat_map(|from| (0..=last).map(move |to| (from, to))) {
            for step in [step, parts[from]] {
                let left = parts[from].checked_sub(step);
                let enough = left.is_some_and(|left| from != last || left > 0);
                if from == to || step == 0 || !enough {
                    continue;
                }
                let mut other = parts.clone();
                other[from] -= step;
                other[to] += step;
                let of_other = cost(&other);
                if of_other < least - LEAST_GAIN {
                    (least, parts, moved) = (of_other, other, true);
                }
            }
        }
        if !moved {
            step /= 2;
        }
    }
    (least, parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_parts_are_equal_but_for_one(levels in 1usize..=10, parts in 1usize..200) {
            let equal = equal_parts(levels, parts);
            prop_assert_eq!(equal.iter().sum::<usize>(), parts);
            prop_assert!(equal.iter().max().unwrap() - equal.iter().min().unwrap() <= 1);
        }

        /// Of a convex cost no other division with parts moved from one level to another is better.
        #[test]
        fn the_best_of_a_convex_cost_is_found(
            weights in prop::collection::vec(0.01f64..100.0, 1..6),
        ) {
            let cost = |parts: &[usize]| -> f64 {
                let each = parts.iter().zip(&weights);
                each.map(|(parts, weight)| weight / (*parts as f64 + 0.5)).sum::<f64>().ln()
            };
            let (least, best) = best_parts(weights.len(), 48, cost);
            prop_assert_eq!(best.iter().sum::<usize>(), 48);
            prop_assert!(best[weights.len() - 1] > 0);
            prop_assert_eq!(cost(&best), least);
            for from in (0..weights.len()).filter(|from| best[*from] > 1) {
                for to in 0..weights.len() {
                    let mut other = best.clone();
                    other[from] -= 1;
                    other[to] += 1;
                    prop_assert!(cost(&other) >= least - LEAST_GAIN);
                }
            }
        }
    }
}
