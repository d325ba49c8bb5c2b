//! How the catalog writes times.

use std::time::Duration;

use jiff::SignedDuration;

/// `90s`, `2m`, `1h30m`: more than nothing, at most a day.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let parsed: Option<SignedDuration> = text.parse().ok();
    let duration = parsed.and_then(|parsed| Duration::try_from(parsed).ok());
    duration
        .filter(|duration| !duration.is_zero() && *duration <= Duration::from_hours(24))
        .ok_or_else(|| {
            format!("{text:?} is no duration between 0 and 24 hours, e.g. \"90s\" or \"2m\"")
        })
}
