//! Values of type numeric, as they lie in a row.

/// What a numeric says. The magnitude of a finite one is the sum of digit i times
/// 10,000^(weight - i), the first digit not being 0.
pub(crate) enum Numeric<'a> {
    NotANumber,
    Infinite { is_negative: bool },
    Finite { is_negative: bool, weight: i16, digits: Digits<'a> },
}

/// Digits of base 10,000, two bytes each.
pub(crate) struct Digits<'a>(&'a [u8]);

impl Digits<'_> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = u16> {
        let (digits, _) = self.0.as_chunks();
        digits.iter().map(|digit| u16::from_ne_bytes(*digit))
    }
}

impl Numeric<'_> {
    /// Reads what follows the varlena's header: two bytes, of which the first bits tell the form;
    /// in the long form the weight; the digits. None if it is cut off.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Numeric<'_>> {
        let (header, rest) = bytes.split_first_chunk()?;
        let header = u16::from_ne_bytes(*header);
        match header & 0xC000 {
            0xC000 => Some(match header & 0xF000 {
                0xD000 => Numeric::Infinite { is_negative: false },
                0xF000 => Numeric::Infinite { is_negative: true },
                _ => Numeric::NotANumber,
            }),
            // seven bits of weight, with its sign
            0x8000 => {
                let weight = ((header << 9) as i16) >> 9;
                let is_negative = header & 0x2000 != 0;
                Some(Numeric::Finite { is_negative, weight, digits: Digits(rest) })
            }
            sign => {
                let (weight, rest) = rest.split_first_chunk()?;
                let weight = i16::from_ne_bytes(*weight);
                Some(Numeric::Finite { is_negative: sign != 0, weight, digits: Digits(rest) })
            }
        }
    }
}
