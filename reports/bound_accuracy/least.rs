//! What no search can do better than: from two tables that it can hardly tell apart.
//!
//! Take a shape, and the same without its d largest units. What a search of some ε tells of the two
//! has probabilities within e^(d ε) of each other, so it is made of randomized response on which of
//! them it is, which is right with q = e^(d ε) / (1 + e^(d ε)) (Kairouz, Oh, Viswanath 2015, theorem
//! 2.5). So for any weight w the larger of both mean ratios is at least the sum, over both answers, of
//! the least that any bound makes of w q r + (1 - w)(1 - q) s, with r and s its ratios on either.

use crate::Errors;
use crate::shapes::Shape;

/// Beyond so many units times ε two tables are told apart.
const TOLD_APART: f64 = 12.0;

/// The least that the larger of the mean ratios can be, on the shape and on it without so many of its
/// largest values that this is most. `bounds`: those that could be fixed; `epsilon`: of search and
/// release; `share`: the search's. Of rows and amounts, whose errors are known without releases.
pub fn least(shape: &Shape, rows: u32, bounds: &[u64], epsilon: f64, share: f64) -> f64 {
    let ratios = |values: Vec<u64>| -> Vec<f64> {
        let shape = Shape { name: shape.name, values };
        let error = |bound: u64, epsilon: f64| Errors::of_sum(&shape, rows, bound, epsilon);
        let best = bounds.iter().map(|bound| error(*bound, epsilon)).fold(f64::INFINITY, f64::min);
        bounds.iter().map(|bound| error(*bound, epsilon - share) / best).collect()
    };
    let with_all = ratios(shape.values.clone());
    let of_bound = |most: u64| {
        let rest: Vec<u64> = shape.values.iter().copied().filter(|value| *value <= most).collect();
        let units = (shape.values.len() - rest.len()).div_ceil(rows as usize);
        if rest.is_empty() || units == 0 || units as f64 * share > TOLD_APART {
            return 0.0;
        }
        let with_rest = ratios(rest);
        let right = 1.0 / (1.0 + (-(units as f64) * share).exp());
        let weighted = |weight: f64| -> f64 {
            let answer = |right: f64| {
                let of_bound =
                    |(r, s): (&f64, &f64)| weight * right * r + (1.0 - weight) * (1.0 - right) * s;
                with_all.iter().zip(&with_rest).map(of_bound).fold(f64::INFINITY, f64::min)
            };
            answer(right) + answer(1.0 - right)
        };
        (1..20).map(|n| weighted(f64::from(n) / 20.0)).fold(0.0, f64::max)
    };
    bounds.iter().map(|most| of_bound(*most)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_apart_leaves_the_share_alone() {
        let spike =
            |number: usize| Shape { name: "", values: [vec![1; 1000], vec![100; number]].concat() };
        let bounds = [1, 10, 100];
        let of = |number: usize| least(&spike(number), 1, &bounds, 1.0, 0.2);
        // nothing is 12 / 0.2 = 60 units away
        assert_eq!(of(100), 0.0);
        // 50 units: e^10 to 1 that it is known; ten, hidden: 100 / 0.8 or ten times 99 of them are lost
        assert!(of(50) < 1.27 && of(50) > 1.2, "{}", of(50));
        assert!(of(10) > 2.0, "{}", of(10));
    }
}
