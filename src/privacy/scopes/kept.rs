//! Sums of the charges to scopes as the catalog keeps them: in bytes, as a charge reads those of a
//! whole dataset.

use super::scope::{Period, Rule, Scope};
use super::spent::Spent;

/// What one row keeps: its number, its [place], and three `numeric`s as `numeric_send` has them:
/// epsilon, delta, rho.
pub(super) struct Kept<'a> {
    /// In the order of the scopes' first charges.
    pub(super) id: i64,
    pub(super) tables: &'a [u8],
    pub(super) regions: Option<&'a [u8]>,
    pub(super) path: &'a [u8],
    pub(super) period: Period,
    pub(super) spent: Spent,
}

/// A scope and its rule in bytes: the same for the same ones, and only for them.
pub fn place(scope: &Scope, rule: &Rule) -> Vec<u8> {
    let path = path(&scope.within);
    let mut place = self::rule(rule);
    put(&mut place, &path);
    for end in [scope.period.lower, scope.period.upper] {
        put_option(&mut place, end, |place, end| place.extend(end.to_be_bytes()));
    }
    place
}

/// A rule in bytes, with which a place begins.
pub(super) fn rule(rule: &Rule) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes, rule.tables.as_bytes());
    put_option(&mut bytes, rule.regions.as_ref(), |bytes, regions| put(bytes, regions.as_bytes()));
    bytes
}

/// The rule that bytes begin with, and the rest of them.
pub(super) fn read_rule(bytes: &[u8]) -> Option<(Rule, &[u8])> {
    let mut bytes = Bytes(bytes);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    let tables = text(bytes.counted()?)?;
    let regions = match bytes.option(Bytes::counted)? {
        Some(regions) => Some(text(regions)?),
        None => None,
    };
    Some((Rule { tables, regions }, bytes.0))
}

/// A path in bytes. Those of the regions below begin with the same bytes, and no others do, as each
/// name's length stands before it.
pub(super) fn path<T: AsRef<str>>(within: &[T]) -> Vec<u8> {
    let mut path = Vec::new();
    within.iter().for_each(|name| put(&mut path, name.as_ref().as_bytes()));
    path
}

fn put(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.extend((text.len() as u32).to_be_bytes());
    bytes.extend(text);
}

fn put_option<T>(bytes: &mut Vec<u8>, value: Option<T>, put: impl FnOnce(&mut Vec<u8>, T)) {
    bytes.push(value.is_some().into());
    if let Some(value) = value {
        put(bytes, value);
    }
}

/// Of rows, one after the other, those that count in a part: what is told by its tables has to be of
/// its period. None if that is not what the bytes are.
pub(super) fn read<'a>(bytes: &'a [u8], part: Option<(&[u8], Period)>) -> Option<Vec<Kept<'a>>> {
    let mut bytes = Bytes(bytes);
    let mut rows = Vec::new();
    while !bytes.0.is_empty() {
        let id = bytes.i64()?;
        let (tables, regions) = (bytes.counted()?, bytes.option(Bytes::counted)?);
        let path = bytes.counted()?;
        let (lower, upper) = (bytes.option(Bytes::i64)?, bytes.option(Bytes::i64)?);
        let period = Period { lower, upper };
        let [epsilon, delta, rho] = [bytes.numeric()?, bytes.numeric()?, bytes.numeric()?];
        if part.is_none_or(|(own, of)| tables != own || period.overlaps(of)) {
            let spent = Spent {
                epsilon: epsilon.units(Spent::DIGITS)?,
                delta: delta.units(Spent::DELTA_DIGITS)?,
                rho: rho.units(Spent::DIGITS)?,
            };
            rows.push(Kept { id, tables, regions, path, period, spent });
        }
    }
    Some(rows)
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_be_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn counted(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_be_bytes(self.array()?);
        self.take(length.try_into().ok()?)
    }

    fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.array()? {
            [0] => Some(None),
            [1] => read(self).map(Some),
            _ => None,
        }
    }

    fn numeric(&mut self) -> Option<Numeric<'a>> {
        let digits = self.u16()?;
        let weight = self.u16()? as i16;
        let sign = self.u16()?;
        let _places_shown = self.u16()?;
        let digits = self.take(2 * usize::from(digits))?;
        Some(Numeric { weight, sign, digits })
    }
}

struct Numeric<'a> {
    /// To the base of 10^4; the weight is the first one's power.
    digits: &'a [u8],
    weight: i16,
    sign: u16,
}

impl Numeric<'_> {
    /// In units of so many decimal digits, a multiple of 4, rounded up. None if it is less than 0.
    fn units(&self, places: usize) -> Option<i128> {
        let mut power = i32::from(self.weight) + places as i32 / 4;
        let mut units = 0i128;
        let mut below = false;
        for digit in self.digits.chunks_exact(2) {
            let digit = i128::from(u16::from_be_bytes([digit[0], digit[1]]));
            if power >= 0 {
                units = units.saturating_mul(10_000).saturating_add(digit);
            } else {
                below |= digit > 0;
            }
            power -= 1;
        }
        for _ in 0..=power {
            units = units.saturating_mul(10_000);
        }
        match self.sign {
            0 => Some(units.saturating_add(below.into())),
            0xC000 | 0xD000 => Some(i128::MAX), // no number, infinite
            _ => None,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What `numeric_send` has for a number of such digits to the base of 10^4.
    fn numeric(weight: i16, sign: u16, digits: &[u16]) -> Vec<u8> {
        let head = [digits.len() as u16, weight as u16, sign, 0];
        head.iter().chain(digits).flat_map(|n| n.to_be_bytes()).collect()
    }

    /// The same, of units.
    fn numeric_of(units: i128, places: usize) -> Vec<u8> {
        let digits: Vec<u16> =
            (0..10).rev().map(|power| (units / 10_000i128.pow(power) % 10_000) as u16).collect();
        numeric(9 - places as i16 / 4, 0, &digits)
    }

    pub(in super::super) fn row(id: i64, scope: &Scope, rule: &Rule, spent: &Spent) -> Vec<u8> {
        let mut row = id.to_be_bytes().to_vec();
        row.extend(place(scope, rule));
        row.extend(numeric_of(spent.epsilon, 24));
        row.extend(numeric_of(spent.delta, 36));
        row.extend(numeric_of(spent.rho, 24));
        row
    }

    #[test]
    fn what_is_kept_is_read() {
        let scope = Scope {
            within: vec!["a\0".into(), "".into(), "ä, b".into()],
            period: Period { lower: Some(i64::MIN), upper: None },
        };
        let rule = Rule { tables: "t".into(), regions: Some(String::new()) };
        let spent = Spent { epsilon: 123_456_789_000, rho: 1, delta: i128::MAX / 8 };
        let bytes = [row(7, &scope, &rule, &spent), row(-8, &Scope::ALL, &rule, &spent)].concat();
        let rows = read(&bytes, None).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].id, rows[1].id), (7, -8));
        assert_eq!((rows[0].tables, rows[0].regions), (&b"t"[..], Some(&b""[..])));
        assert_eq!((rows[0].path, rows[1].path), (&*path(&scope.within), &[][..]));
        assert_eq!((rows[0].period, rows[1].period), (scope.period, Period::ALL));
        assert_eq!(rows[0].spent, spent);
        for end in 1..bytes.len() / 2 {
            let cut = read(&bytes[..end], None).is_none_or(|rows| rows.len() == 1);
            assert!(cut, "{end}");
        }
    }

    #[test]
    fn numerics_are_rounded_up() {
        let read = |bytes: &[u8]| Bytes(bytes).numeric()?.units(24);
        let unit = 10i128.pow(24);
        assert_eq!(read(&numeric(0, 0, &[])), Some(0));
        assert_eq!(read(&numeric(0, 0, &[2, 2500])), Some(unit * 9 / 4));
        assert_eq!(read(&numeric(1, 0, &[3, 0, 5000])), Some(unit * 30_000 + unit / 2));
        // 10^-24, 10^-28 and their sum
        assert_eq!(read(&numeric(-6, 0, &[1])), Some(1));
        assert_eq!(read(&numeric(-7, 0, &[1])), Some(1));
        assert_eq!(read(&numeric(-6, 0, &[1, 1])), Some(2));
        // 10^16, and what is beyond
        assert_eq!(read(&numeric(4, 0, &[1])), Some(i128::MAX));
        assert_eq!(read(&numeric(3, 0, &[100])), Some(unit * 10i128.pow(14)));
        assert_eq!(read(&numeric(0, 0xC000, &[])), Some(i128::MAX));
        assert_eq!(read(&numeric(0, 0xD000, &[])), Some(i128::MAX));
        assert_eq!(read(&numeric(0, 0x4000, &[1])), None);
        assert_eq!(read(&[0, 1, 0, 0]), None);
    }

    #[test]
    fn places_differ_where_scopes_or_rules_do() {
        let texts = ["", "a", "ab"];
        let ends = [None, Some(0), Some(1)];
        let mut places = Vec::new();
        for tables in texts {
            for regions in [None, Some(""), Some("a")] {
                let rule = Rule { tables: tables.into(), regions: regions.map(str::to_string) };
                for within in [vec![], vec![""], vec!["a"], vec!["a", "b"], vec!["ab"]] {
                    let within: Vec<String> = within.into_iter().map(str::to_string).collect();
                    for lower in ends {
                        for upper in ends {
                            let period = Period { lower, upper };
                            places.push(place(&Scope { within: within.clone(), period }, &rule));
                        }
                    }
                }
            }
        }
        let all = places.len();
        places.sort();
        places.dedup();
        assert_eq!(places.len(), all);
    }
}
