//! [`Decimal`], an exact decimal number read from text.

/// The largest integer that every peer can read: 2^53 − 1.
const LARGEST: i64 = (1 << 53) - 1;

/// A number, as its significant digits and an exponent. Numbers of equal value are equal, however they are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal<'a> {
    is_negative: bool,
    /// The digits of `head` and `tail` together, without leading and trailing zeros; none for zero.
    head: &'a str,
    tail: &'a str,
    /// The power of ten of the last digit.
    exponent: i64,
}

/// The integer value of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Integer {
    Safe(i64),
    /// Beyond ±(2^53 − 1).
    TooLarge,
    Fraction,
}

impl<'a> Decimal<'a> {
    /// Parses a number in the syntax of JSON.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let is_exponent = |letter| matches!(letter, 'e' | 'E');
        let (plain, exponent) = match text.split_once(is_exponent) {
            Some((plain, exponent)) => (plain, power(exponent)?),
            None => (text, 0),
        };
        Self::parse_plain(plain).map(|number| number.shifted(exponent))
    }

    /// Parses a number without an exponent.
    pub(super) fn parse_plain(text: &'a str) -> Option<Self> {
        let unsigned = text.strip_prefix('-');
        let (is_negative, unsigned) = (unsigned.is_some(), unsigned.unwrap_or(text));
        let (head, tail) = match unsigned.split_once('.') {
            Some((head, tail)) => (head, Some(tail)),
            None => (unsigned, None),
        };
        let is_canonical = head == "0" || !head.starts_with('0');
        if !is_canonical || !is_digits(head) || !tail.is_none_or(is_digits) {
            return None;
        }
        let tail = tail.unwrap_or_default().trim_end_matches('0');
        let (head, exponent) = if tail.is_empty() {
            let trimmed = head.trim_end_matches('0');
            (trimmed, length(head).saturating_sub(length(trimmed)))
        } else {
            (head, 0_i64.saturating_sub(length(tail)))
        };
        let head = head.trim_start_matches('0');
        let tail = if head.is_empty() { tail.trim_start_matches('0') } else { tail };
        Some(Self { is_negative, head, tail, exponent })
    }

    /// Returns the integer value of the number.
    pub(super) fn integer(self) -> Integer {
        if self.is_zero() {
            return Integer::Safe(0);
        }
        let Ok(zeros) = u32::try_from(self.exponent.max(-1)) else {
            return if self.exponent < 0 { Integer::Fraction } else { Integer::TooLarge };
        };
        let shift = 10_i64.checked_pow(zeros);
        let digits = self.digits().try_fold(0_i64, |number, digit| {
            number.checked_mul(10)?.checked_add(i64::from(digit - b'0'))
        });
        let integer = digits.zip(shift).and_then(|(digits, shift)| digits.checked_mul(shift));
        match integer.filter(|integer| *integer <= LARGEST) {
            Some(integer) => Integer::Safe(if self.is_negative { -integer } else { integer }),
            None => Integer::TooLarge,
        }
    }

    fn shifted(self, by: i64) -> Self {
        Self { exponent: self.exponent.saturating_add(by), ..self }
    }

    fn is_zero(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty()
    }

    fn digits(self) -> impl Iterator<Item = u8> + 'a {
        self.head.bytes().chain(self.tail.bytes())
    }
}

impl PartialEq for Decimal<'_> {
    fn eq(&self, other: &Self) -> bool {
        let are_zero = self.is_zero() && other.is_zero();
        let is_like = self.is_negative == other.is_negative && self.exponent == other.exponent;
        are_zero || is_like && self.digits().eq(other.digits())
    }
}

/// Whether the text consists of digits, at least one.
fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

/// Parses an exponent. An exponent that overflows is clamped.
fn power(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let most = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    is_digits(digits).then(|| text.parse().unwrap_or(most))
}

fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_exactly() {
        let table = [
            ("0", Integer::Safe(0)),
            ("-0", Integer::Safe(0)),
            ("0.000e999999999999999999999", Integer::Safe(0)),
            ("42", Integer::Safe(42)),
            ("42.0", Integer::Safe(42)),
            ("-42.00", Integer::Safe(-42)),
            ("4.2e1", Integer::Safe(42)),
            ("4200E-2", Integer::Safe(42)),
            ("0.0042e+4", Integer::Safe(42)),
            ("1e2", Integer::Safe(100)),
            ("42.5", Integer::Fraction),
            ("42e-1", Integer::Fraction),
            ("1e-99999999999999999999", Integer::Fraction),
            ("9007199254740990.5", Integer::Fraction),
            ("9007199254740991", Integer::Safe(9_007_199_254_740_991)),
            ("9007199254740991.0", Integer::Safe(9_007_199_254_740_991)),
            ("-9007199254740991", Integer::Safe(-9_007_199_254_740_991)),
            ("9007199254740992", Integer::TooLarge),
            ("-9007199254740992", Integer::TooLarge),
            ("9.007199254740992e15", Integer::TooLarge),
            ("100000000000000000000", Integer::TooLarge),
            ("123456789012345678901234567890", Integer::TooLarge),
            ("1e400", Integer::TooLarge),
            ("1e99999999999999999999", Integer::TooLarge),
        ];
        for (text, expected) in table {
            assert_eq!(Decimal::parse(text).map(Decimal::integer), Some(expected), "{text}");
        }
    }

    #[test]
    fn decimals_are_compared_by_value() {
        let equal = [
            ("42", "42.0"),
            ("42", "4.2e1"),
            ("0", "-0.0"),
            ("0e5", "0"),
            ("0.5", "5e-1"),
            ("1.5e1", "15"),
            ("100", "1e2"),
            ("0.050", "5e-2"),
            ("10.5", "105e-1"),
        ];
        for (left, right) in equal {
            assert_eq!(Decimal::parse(left), Decimal::parse(right), "{left} {right}");
        }
        let different = [
            ("42", "-42"),
            ("42", "43"),
            ("42", "420"),
            ("42", "4.2"),
            ("0.5", "0.05"),
            ("9007199254740993", "9007199254740992"),
            ("1", "1.0000000000000000000001"),
        ];
        for (left, right) in different {
            assert_ne!(Decimal::parse(left), Decimal::parse(right), "{left} {right}");
        }
    }

    #[test]
    fn only_decimals_are_numbers() {
        let none = [
            "", "-", "+1", "01", "-01", "00", "1.", ".5", "1..0", "1.0.0", "0x2a", "1 ", " 1",
            "1_0", "e1", "1e", "1e+", "1e1.5", "--1", "NaN", "٣",
        ];
        for text in none {
            assert!(Decimal::parse(text).is_none(), "{text}");
            assert!(Decimal::parse_plain(text).is_none(), "{text}");
        }
        assert!(Decimal::parse("4.2e1").is_some() && Decimal::parse_plain("4.2e1").is_none());
    }
}
