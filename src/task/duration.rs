//! How the catalog and the command line write times.

use std::time::Duration;

use jiff::SignedDuration;

/// The longest.
const DAY: Duration = Duration::from_hours(24);

/// `90s`, `500ms`, `2m`, `1h30m`: more than nothing, at most a day.
pub fn duration(text: &str) -> Result<Duration, String> {
    let parsed: Option<SignedDuration> = text.parse().ok();
    let duration = parsed.and_then(|parsed| Duration::try_from(parsed).ok());
    duration
        .filter(|duration| !duration.is_zero() && *duration <= DAY)
        .ok_or_else(|| {
            format!("{text:?} is no duration between 0 and 24 hours, e.g. \"90s\" or \"2m\"")
        })
}

/// The same, or a number of seconds: `30`, `0.5`.
pub fn duration_or_seconds(text: &str) -> Result<Duration, String> {
    let Ok(seconds) = text.parse::<f64>() else {
        return duration(text);
    };
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|duration| !duration.is_zero() && *duration <= DAY)
        .ok_or_else(|| format!("{text:?} is no number of seconds between 0 and 86400"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_or_are_seconds() {
        for (text, millis) in [
            ("5s", 5_000),
            ("500ms", 500),
            ("2m", 120_000),
            ("1h30m", 5_400_000),
            ("24h", 86_400_000),
        ] {
            let expected = Ok(Duration::from_millis(millis));
            assert_eq!(duration(text), expected, "{text}");
            assert_eq!(duration_or_seconds(text), expected, "{text}");
        }
        for (text, millis) in [("30", 30_000), ("0.5", 500), ("86400", 86_400_000)] {
            assert!(duration(text).is_err(), "{text}");
            let expected = Ok(Duration::from_millis(millis));
            assert_eq!(duration_or_seconds(text), expected, "{text}");
        }
        for text in [
            "", "s", "0", "0s", "-1", "-5s", "86401", "25h", "nan", "inf", "5 x", "1e300",
        ] {
            assert!(duration(text).is_err(), "{text}");
            assert!(duration_or_seconds(text).is_err(), "{text}");
        }
    }
}
