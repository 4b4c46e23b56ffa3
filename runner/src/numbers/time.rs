//! Times, in UTC.

use jiff::Timestamp;

use super::MISSING;
use crate::model::UnixMillis;

/// A time to the minute: `2026-09-03 14:02 UTC`.
pub fn time(at: UnixMillis) -> String {
    written(at, "%Y-%m-%d %H:%M UTC").unwrap_or_else(|| MISSING.to_owned())
}

/// A day: `2026-09-03`.
pub fn day(at: UnixMillis) -> String {
    written(at, "%Y-%m-%d").unwrap_or_else(|| MISSING.to_owned())
}

/// A time for machines (`<time datetime>`): `2026-09-03T14:02:11Z`; empty where it is no time.
pub fn iso(at: UnixMillis) -> String {
    written(at, "%Y-%m-%dT%H:%M:%SZ").unwrap_or_default()
}

fn written(at: UnixMillis, format: &str) -> Option<String> {
    let stamp = Timestamp::from_millisecond(at.0).ok()?;
    Some(stamp.strftime(format).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_and_no_time_is_missing() {
        let at = UnixMillis(1_788_444_131_000);
        assert_eq!(time(at), "2026-09-03 14:02 UTC");
        assert_eq!(day(at), "2026-09-03");
        assert_eq!(iso(at), "2026-09-03T14:02:11Z");
        let never = UnixMillis(i64::MAX);
        assert_eq!(
            (time(never), iso(never)),
            (MISSING.to_owned(), String::new())
        );
    }
}
