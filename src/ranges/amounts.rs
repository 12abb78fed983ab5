//! Amounts of rows, as whole numbers of a unit: what one row adds to the sum of its bin.

use num_rational::Ratio;
use std::iter::repeat;

/// What a row adds to its bin: from `least` to `most` units, whatever its amount is. The bounds that
/// rows are clamped to and the sensitivity that a release is planned for follow from this one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AmountBounds {
    least: i64,
    most: i64,
}

impl AmountBounds {
    /// Of rows that are counted.
    pub const COUNTED: AmountBounds = AmountBounds { least: 1, most: 1 };

    /// None if there is no amount between them, or only 0.
    pub fn new(least: i64, most: i64) -> Option<AmountBounds> {
        (least <= most && (least, most) != (0, 0)).then_some(AmountBounds { least, most })
    }

    /// How far a unit of privacy that owns so many rows moves the sums of all bins together: each of
    /// its rows is there or not, and moves one sum by the magnitude of its amount. It is the number
    /// of rows of amount 1 that would move them as far. None beyond what plans are made for.
    pub fn weight(self, rows: u32) -> Option<u32> {
        let largest = self.least.unsigned_abs().max(self.most.unsigned_abs());
        u32::try_from(largest.checked_mul(rows.into())?).ok()
    }

    pub(super) fn has_negative(self) -> bool {
        self.least < 0
    }

    /// The bound that an amount is beyond, or the amount.
    pub fn clamped(self, amount: i64) -> i64 {
        amount.clamp(self.least, self.most)
    }

    /// How many amounts there are between the bounds. None beyond `u64`.
    pub fn number(self) -> Option<u64> {
        self.most.abs_diff(self.least).checked_add(1)
    }

    /// Which of the amounts between the bounds one that is clamped is, from 0.
    pub fn place(self, amount: i64) -> u64 {
        self.clamped(amount).abs_diff(self.least)
    }

    /// The amount in a place.
    pub fn of_place(self, place: u64) -> i64 {
        self.least.saturating_add_unsigned(place)
    }
}

/// Numbers are computed with in steps of 10^-16: four digits of base 10,000 after the point.
const STEPS: i128 = 10_i128.pow(16);

/// Reads a decimal number that is not negative. None if it is none, or has too many digits.
fn steps(text: &str) -> Option<i128> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let (whole, decimals) = (whole.trim_start_matches('0'), decimals.trim_end_matches('0'));
    let fits = whole.len() <= AmountUnit::WHOLE_DIGITS && decimals.len() <= AmountUnit::DECIMALS;
    let digits = || whole.bytes().chain(decimals.bytes());
    if !fits || !digits().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let number = digits().fold(0, |number, digit| 10 * number + i128::from(digit - b'0'));
    Some(number * (STEPS / 10_i128.pow(decimals.len() as u32)))
}

/// Why a number is no number of units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotWhole {
    /// It has more digits before the point than a unit may have.
    TooLong,
    NoMultiple,
    /// Beyond `i64`.
    TooMany,
}

/// The unit that amounts are rounded to: from 10^-12 to 10^18, with 12 decimals at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AmountUnit {
    /// in steps, of which it is an even number
    steps: i128,
}

impl AmountUnit {
    /// What amounts are asked for in if nothing is said.
    pub const ONE: AmountUnit = AmountUnit { steps: STEPS };

    /// The most decimals.
    pub const DECIMALS: usize = 12;
    /// The most digits of base 10,000 that matter: see [`AmountUnit::of_decimal`].
    pub const DIGITS: usize = 9;
    /// The most digits before the point.
    pub const WHOLE_DIGITS: usize = 18;

    /// Reads a decimal number such as `0.01`. None if it is no such unit.
    pub fn parse(text: &str) -> Option<AmountUnit> {
        let steps = steps(text)?;
        (steps > 0).then_some(AmountUnit { steps })
    }

    /// How many units a decimal number such as `-99.5` is.
    pub fn whole(self, text: &str) -> Result<i64, NotWhole> {
        let (sign, magnitude) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
        let Some(steps) = steps(magnitude) else {
            let whole = magnitude.split('.').next().unwrap_or_default().trim_start_matches('0');
            let is_number = whole.bytes().all(|digit| digit.is_ascii_digit());
            let is_long = is_number && whole.len() > AmountUnit::WHOLE_DIGITS;
            return Err(if is_long { NotWhole::TooLong } else { NotWhole::NoMultiple });
        };
        if steps % self.steps != 0 {
            return Err(NotWhole::NoMultiple);
        }
        i64::try_from(sign * steps / self.steps).map_err(|_| NotWhole::TooMany)
    }

    /// The number of units nearest to an integer; see [`AmountUnit::of_decimal`].
    pub fn of_integer(self, amount: i64) -> i64 {
        self.nearest(i128::from(amount) * STEPS)
    }

    /// The number of units nearest to a decimal number; of two equally near the one that is farther
    /// from 0. Exact, but for numbers of 10^20 and more, which are beyond all bounds: they are taken
    /// for the end of `i64`, and so is what has more units.
    ///
    /// The number's magnitude is the sum of digit i times 10,000^(`weight` - i), the first digit
    /// not being 0.
    pub fn of_decimal(
        self,
        is_negative: bool,
        weight: i16,
        digits: impl Iterator<Item = u16>,
    ) -> i64 {
        if weight > 4 {
            return if is_negative { -i64::MAX } else { i64::MAX };
        }
        // the digits down to a step, and zeros for those that are not written
        let places = (weight + 5).max(0) as usize;
        let digits = digits.chain(repeat(0)).take(places);
        let magnitude = digits.fold(0, |sum, digit| 10_000 * sum + i128::from(digit));
        self.nearest(if is_negative { -magnitude } else { magnitude })
    }

    /// floor(|x| / u + 1/2) units. A part of a step that was cut off from x makes no difference:
    /// 2 |x| + u is even, so it reaches a multiple of 2 u with whole steps, or not at all.
    fn nearest(self, steps: i128) -> i64 {
        let units = (2 * steps.abs() + self.steps) / (2 * self.steps);
        let units = i64::try_from(units).unwrap_or(i64::MAX);
        if steps < 0 { -units } else { units }
    }

    /// An estimate of a sum, or its standard deviation, in the terms of the amounts.
    pub fn amount(self, units: f64) -> f64 {
        let unit = Ratio::new(self.steps, STEPS);
        units * *unit.numer() as f64 / *unit.denom() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigInt;
    use proptest::prelude::*;

    fn unit(text: &str) -> AmountUnit {
        AmountUnit::parse(text).unwrap()
    }

    /// A number as PostgreSQL writes it: its sign, and digits of base 10,000 after and before the
    /// point.
    fn units(unit: AmountUnit, text: &str) -> i64 {
        let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let pad = |digits: usize| "0".repeat(digits.next_multiple_of(4) - digits);
        let whole = pad(whole.len()) + whole;
        let digits = whole.clone() + decimals + &pad(decimals.len());
        let digits: Vec<u16> = digits
            .as_bytes()
            .chunks(4)
            .map(|d| str::from_utf8(d).unwrap().parse().unwrap())
            .collect();
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        let weight = (whole.len() / 4) as i16 - 1 - zeros as i16;
        unit.of_decimal(is_negative, weight, digits[zeros..].iter().copied())
    }

    #[test]
    fn halves_are_rounded_away_from_0() {
        for (of, amount, expected) in [
            ("1", "0", 0),
            ("1", "0.4999999999999999999999999999999999999999", 0),
            ("1", "0.5", 1),
            ("1", "-0.5", -1),
            ("1", "-0.4999999999999999999999", 0),
            ("1", "2.5", 3),
            ("0.01", "12.345", 1235),
            ("0.01", "12.3449999999999999999999999", 1234),
            ("0.000000000001", "0.0000000000005", 1),
            ("0.000000000001", "0.00000000000049999", 0),
            ("100", "-149.99999999999999999", -1),
            ("100", "150", 2),
            ("3", "4.5", 2),
            ("3", "4.49999999999999999999", 1),
            ("0.07", "0.105", 2),
            ("1", "9223372036854775807", i64::MAX),
            ("1", "99999999999999999999.9", i64::MAX),
            ("1", "-100000000000000000000", -i64::MAX),
            ("0.000000000001", "9223372036854775807", i64::MAX),
            ("1000000000000000", "12345678901234567890", 12346),
        ] {
            assert_eq!(units(unit(of), amount), expected, "{amount} in units of {of}");
        }
        assert_eq!(units(AmountUnit::ONE, &("-1".to_string() + &"0".repeat(1000))), -i64::MAX);
        assert_eq!(units(AmountUnit::ONE, &("0.".to_string() + &"0".repeat(1000) + "1")), 0);
    }

    proptest! {
        #[test]
        fn amounts_are_rounded_as_exact_fractions_are(
            whole in 0u64..=u64::MAX, decimals in "[0-9]{0,30}", negative in any::<bool>(),
            of in 1u64..1_000_000_000, places in 0u32..=12,
        ) {
            let text = format!("{}{whole}.{decimals}", if negative { "-" } else { "" });
            let digits = format!("{of:0>13}");
            let (above, below) = digits.split_at(digits.len() - places as usize);
            let found = units(unit(&format!("{above}.{below}")), &text);
            // floor((2 x + u) / 2 u), all times 10^42
            let power = |exponent| BigInt::from(10).pow(exponent);
            let decimals_of = decimals.parse::<BigInt>().unwrap_or_default();
            let x = BigInt::from(whole) * power(42) + decimals_of * power(42 - decimals.len() as u32);
            let u = BigInt::from(of) * power(42 - places);
            let nearest: BigInt = (2 * x + &u) / (2 * u);
            let expected = i64::try_from(nearest).unwrap_or(i64::MAX);
            prop_assert_eq!(found, if negative { -expected } else { expected });
        }

        #[test]
        fn integers_are_rounded_as_decimals_are(
            amount in any::<i64>(), of in 1u64..1_000_000_000_000,
        ) {
            let unit = unit(&of.to_string());
            prop_assert_eq!(unit.of_integer(amount), units(unit, &amount.to_string()));
            let fits = amount.unsigned_abs() < 10_u64.pow(18) && amount % of as i64 == 0;
            prop_assert_eq!(unit.whole(&amount.to_string()).ok(), fits.then(|| amount / of as i64));
        }
    }

    #[test]
    fn units_that_are_none() {
        let most = "9".repeat(18) + "." + &"9".repeat(12);
        for text in ["1", "001.50", "0.000000000001", "1000000000000", &most] {
            assert!(AmountUnit::parse(text).is_some(), "{text}");
        }
        let many = "1".repeat(19);
        for text in ["0", "0.0", "-1", "", "NaN", "1e3", "0.0000000000001", &many] {
            assert_eq!(AmountUnit::parse(text), None, "{text}");
        }
    }

    #[test]
    fn sums_are_told_in_the_terms_of_amounts() {
        assert_eq!(unit("0.01").amount(12345.0), 123.45);
        assert_eq!(unit("2.5").amount(-3.0), -7.5);
        assert_eq!(unit("1000").amount(7.0), 7000.0);
        assert_eq!(AmountUnit::ONE.amount(0.1), 0.1);
        assert_eq!((unit("0.01").whole("50"), unit("0.05").whole("-99.5")), (Ok(5000), Ok(-1990)));
    }

    #[test]
    fn numbers_that_are_no_units() {
        for (of, text, why) in [
            ("3", "50", NotWhole::NoMultiple),
            ("0.5", "NaN", NotWhole::NoMultiple),
            ("0.5", "--1", NotWhole::NoMultiple),
            ("1", "0.0000000000001", NotWhole::NoMultiple),
            ("0.000000000001", "999999999", NotWhole::TooMany),
            ("0.01", "-100000000000000000", NotWhole::TooMany),
            ("1000", "1000000000000000000", NotWhole::TooLong),
        ] {
            assert_eq!(unit(of).whole(text), Err(why), "{text} in units of {of}");
        }
    }

    #[test]
    fn bounds_have_the_weight_of_their_rows() {
        let weight = |least, most, rows| AmountBounds::new(least, most).unwrap().weight(rows);
        assert_eq!(AmountBounds::COUNTED.weight(7), Some(7));
        assert_eq!(weight(0, 50, 1), Some(50));
        assert_eq!(weight(-70, 50, 3), Some(210));
        assert_eq!(weight(3, 5, 2), Some(10));
        assert_eq!(weight(0, u32::MAX.into(), 1), Some(u32::MAX));
        assert_eq!(weight(0, u32::MAX.into(), 2), None);
        assert_eq!(weight(i64::MIN, 0, u32::MAX), None);
        assert_eq!((AmountBounds::new(0, 0), AmountBounds::new(2, 1)), (None, None));
    }
}
