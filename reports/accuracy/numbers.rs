//! How numbers are printed.

/// With one decimal below 100.
pub fn thousands(number: f64) -> String {
    if number < 99.95 && number.fract() != 0.0 {
        return format!("{number:.1}");
    }
    separated(&format!("{number:.0}"))
}

/// A comma before every three digits.
pub fn separated(digits: &str) -> String {
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
