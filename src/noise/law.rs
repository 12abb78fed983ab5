//! The family of laws that is sampled, and certified bounds of its distribution functions.

use super::exponential::{Bounds, exp_neg};
use super::rational::{Scale, exact_fraction};
use num_bigint::BigUint;

/// How the exponent grows with the distance from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Power {
    /// as in the discrete Laplace distribution
    One = 1,
    /// as in the discrete Gaussian distribution
    Two = 2,
}

/// P(X = k) proportional to e^(-rate |k|^power) on the integers, with an exact rational rate > 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Law {
    pub(super) rate_num: BigUint,
    pub(super) rate_den: BigUint,
    pub(super) power: Power,
}

impl Law {
    /// Discrete Laplace: the rate is 1/t.
    pub(super) fn laplace(scale: Scale) -> Law {
        let (num, den) = scale.rate();
        Law { rate_num: num.into(), rate_den: den.into(), power: Power::One }
    }

    /// Discrete Gaussian: the rate is 1 / (2 sigma^2). Sigma is in the supported range.
    pub(super) fn gaussian(sigma: f64) -> Law {
        let (num, den) = exact_fraction(sigma);
        Law {
            rate_num: BigUint::from(den).pow(2),
            rate_den: BigUint::from(num).pow(2) << 1,
            power: Power::Two,
        }
    }

    /// The magnitudes in the narrowest blocks, of a power of two, of which 32 make the weight fall
    /// by a factor of e or more. They are single magnitudes where the scale is small enough.
    pub(super) fn blocks(&self) -> Blocks {
        let exponent = |width_bits: u32| &self.rate_num << (self.power as u32 * width_bits);
        let mut width_bits = 0;
        while exponent(width_bits + 5) < self.rate_den {
            width_bits += 1;
        }
        Blocks {
            width_bits,
            exponent_num: exponent(width_bits),
            exponent_den: self.rate_den.clone(),
            power: self.power,
        }
    }
}

/// The law of a block of magnitudes: that of block i has the weight e^(-rate (width i)^power), the
/// largest of its magnitudes'. Where the width is 1, the weight of 0 is halved: the others stand
/// for two values each, 0 for one.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    /// log2 of the width
    pub(super) width_bits: u32,
    /// rate width^power
    exponent_num: BigUint,
    exponent_den: BigUint,
    pub(super) power: Power,
}

impl Blocks {
    pub(super) fn halves_the_first(&self) -> bool {
        self.width_bits == 0
    }

    /// The weight of block 1 over that of block 0, before the latter is halved. The weight of block
    /// i + 1 over that of block i is the same with power one, its (2i + 1)-th power with power two.
    pub(super) fn first_ratio(&self, bits: u64) -> Bounds {
        exp_neg(&self.exponent_num, &self.exponent_den, bits)
    }

    /// F(i) = P(block <= i) for i = 0, 1, ... at a precision of `bits`, up to where the weights
    /// fall below 2^-bits.
    pub(super) fn cumulative(&self, bits: u64) -> Vec<Bounds> {
        // the guard bits take in the errors, which grow with the third power of i at most
        let precision = bits + 48;
        let one = BigUint::from(1u32) << precision;
        let mut ratio = self.first_ratio(precision);
        let step = match self.power {
            Power::One => Bounds::exactly(one.clone()),
            Power::Two => ratio.times(&ratio, precision),
        };
        let mut weight = Bounds::exactly(one.clone());
        let mut sum =
            Bounds::exactly(if self.halves_the_first() { &one >> 1 } else { one.clone() });
        let mut sums = Vec::new();
        loop {
            sums.push(sum.clone());
            weight = weight.times(&ratio, precision);
            if weight.high.bits() <= precision - bits {
                break;
            }
            ratio = ratio.times(&step, precision);
            sum = sum.plus(&weight);
        }
        // the ratios do not grow, so the rest is at most a geometric series
        let rest = (weight.high << precision) / (&one - &ratio.high) + 1u32;
        let total = Bounds { low: sum.low, high: sum.high + rest };
        let certain = BigUint::from(1u32) << bits;
        sums.into_iter()
            .map(|sum| Bounds {
                low: (sum.low << bits) / &total.high,
                high: ((sum.high << bits) / &total.low + 1u32).min(certain.clone()),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_single_magnitudes_up_to_the_stated_scales_and_then_grow() {
        let of_scale = |epsilon| Law::laplace(Scale::new(1, epsilon).unwrap()).blocks().width_bits;
        assert_eq!([1e6, 1.0, 1.0 / 32.0, 0.03124, 1e-3, 1e-9].map(of_scale), [0, 0, 0, 1, 5, 25]);
        let of_sigma = |sigma| Law::gaussian(sigma).blocks().width_bits;
        assert_eq!([1e-6, 22.627, 22.628, 45.3, 1e9].map(of_sigma), [0, 0, 1, 2, 26]);
    }

    /// F of blocks against sums of the weights in floating point.
    #[test]
    fn the_distribution_function_is_that_of_the_weights() {
        for (law, rate) in [
            (Law::laplace(Scale::new(1, 0.37).unwrap()), 0.37),
            (Law::laplace(Scale::new(1, 0.01).unwrap()), 0.01),
            (Law::gaussian(3.5), 1.0 / 24.5),
            (Law::gaussian(80.0), 1.0 / 12_800.0),
        ] {
            let blocks = law.blocks();
            let weight = |i: i32| {
                let magnitude = f64::from(i) * f64::from(1 << blocks.width_bits);
                let half = if i == 0 && blocks.width_bits == 0 { 0.5 } else { 1.0 };
                half * (-rate * magnitude.powi(law.power as i32)).exp()
            };
            let total: f64 = (0..10_000).map(weight).sum();
            let mut sum = 0.0;
            for (i, exact) in (0..).zip(blocks.cumulative(60)) {
                sum += weight(i);
                assert!(&exact.high - &exact.low <= BigUint::from(2u32));
                let exact = u64::try_from(&exact.low).unwrap() as f64 / (1u64 << 60) as f64;
                assert!((exact - sum / total).abs() < 1e-13, "{law:?}, {i}");
            }
        }
    }
}
