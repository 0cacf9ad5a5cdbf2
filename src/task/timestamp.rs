//! Timestamps on the wire: ISO 8601, in UTC, in milliseconds.

use alloc::string::String;

use crate::time::Instant;

const MILLIS_OF_DAY: u64 = 86_400_000;

/// Writes an instant as a timestamp. The timeline begins with the Unix epoch: `2025-11-25T10:30:00.000Z`.
pub(crate) fn written(instant: Instant) -> String {
    // An instant is no later than the year 2554.
    let millis = instant.since_epoch().as_millis() as u64;
    let (days, millis) = (millis / MILLIS_OF_DAY, millis % MILLIS_OF_DAY);
    let (year, month, day) = civil(days);
    let (seconds, millis) = (millis / 1000, millis % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    alloc::format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Returns the date that is `days` days after 1 January 1970, in the Gregorian calendar.
///
/// The calculation uses years that begin in March, so that the leap day is the last day of a year.
const fn civil(days: u64) -> (u64, u64, u64) {
    const DAYS_TO_1970: u64 = 719_468;
    const DAYS_OF_ERA: u64 = 146_097;
    let days = days + DAYS_TO_1970;
    let (era, day_of_era) = (days / DAYS_OF_ERA, days % DAYS_OF_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, after) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (year_of_era + era * 400 + after, month, day)
}

/// Reads a timestamp of any precision and offset as nanoseconds since the year 0, for comparisons. Returns `None` if
/// it is invalid.
pub(crate) fn read(text: &str) -> Option<i128> {
    let (date, rest) = text.split_at_checked(10)?;
    let (time, rest) = rest.strip_prefix(['T', 't', ' '])?.split_at_checked(8)?;
    let mut date = date.splitn(3, '-').map(number);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.splitn(3, ':').map(number);
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let (nanoseconds, offset) = fraction(rest)?;
    let offset = match offset {
        "" | "Z" | "z" => 0,
        _ => minutes(offset)?,
    };
    let days = days_of(year, month, day)?;
    let minutes = (days * 24 + hour) * 60 + minute - offset;
    Some(i128::from(minutes * 60 + second) * 1_000_000_000 + i128::from(nanoseconds))
}

fn number(digits: &str) -> Option<i64> {
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| all_digits)
}

/// Reads the fraction of a second. Returns the nanoseconds and the rest of the text.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(text) = text.strip_prefix(['.', ',']) else { return Some((0, text)) };
    let end = text.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    let mut nanoseconds = 0;
    for place in 0..9 {
        let digit = digits.as_bytes().get(place).map_or(0, |digit| i64::from(digit - b'0'));
        nanoseconds = nanoseconds * 10 + digit;
    }
    (!digits.is_empty()).then_some((nanoseconds, rest))
}

/// Reads an offset in minutes.
fn minutes(offset: &str) -> Option<i64> {
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let offset = offset.strip_prefix(['+', '-'])?;
    let (hours, minutes) = offset.split_at_checked(2)?;
    let minutes = minutes.strip_prefix(':').unwrap_or(minutes);
    let minutes = match minutes.len() {
        0 => 0,
        1 | 2 => number(minutes)?,
        _ => return None,
    };
    Some(sign * (number(hours)? * 60 + minutes))
}

/// Returns the days from the beginning of the year 0 to a date.
fn days_of(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    Some(era * 146_097 + year * 365 + year / 4 - year / 100 + day_of_year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_a_date_and_a_time() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_764_066_600_123, "2025-11-25T10:30:00.123Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ];
        for (millis, text) in cases {
            assert_eq!(written(Instant::from_millis(millis)), text);
        }
        let epoch = read("1970-01-01T00:00:00Z").expect("a time");
        for millis in (0..50).map(|index| index * 98_765_432_101) {
            let text = written(Instant::from_millis(millis));
            let read = read(&text).expect("a time");
            assert_eq!(read - epoch, i128::from(millis) * 1_000_000, "{text}");
        }
    }

    #[test]
    fn timestamps_compare_across_precision_and_offset() {
        let order = [
            "2025-11-25T10:30:00Z",
            "2025-11-25T10:30:00.000001+00:00",
            "2025-11-25T10:30:00.1Z",
            "2025-11-25T12:30:00.25+02:00",
            "2025-11-25T05:00:00.26-0530",
            "2025-11-25t10:30:01",
        ];
        assert!(order.map(|text| read(text).expect("a time")).is_sorted());
        assert_eq!(read("2025-11-25T10:30:00,5Z"), read("2025-11-25 10:30:00.500+00"));
        assert_eq!(read("2025-11-25t10:30:00z"), read("2025-11-25T10:30:00Z"));
        for text in [
            "",
            "now",
            "2025-11-25",
            "2025-13-01T00:00:00Z",
            "2025-11-25T10:30:00.Z",
            "2025-11-25T10:30:00x",
            "2025-11-25T10:30:00+00:9223372036854775807",
            "2025-11-25T10:30:00+9223372036854775807",
            "2025-11-2\u{e9}T10:30:00Z",
            "2025-+1-25T10:30:00Z",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
