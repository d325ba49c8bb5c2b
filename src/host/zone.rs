//! The local time zone, from the one file that holds it. jiff would find it too, but lists the
//! whole time zone database first: hundreds of directories and files, in every run.

use std::{env, fs, path::Path};

use jiff::tz::TimeZone;

const LOCALTIME: &str = "/etc/localtime";
const ZONEINFO: &str = "/usr/share/zoneinfo";

/// The zone `$TZ` names, else the one `/etc/localtime` leads to; where neither is plain, jiff looks.
#[expect(
    clippy::disallowed_methods,
    reason = "the host is the one place that reads the environment"
)]
pub(super) fn local() -> TimeZone {
    let zone = match env::var_os("TZ") {
        Some(named) => named.to_str().and_then(zone),
        None => fs::read_link(LOCALTIME)
            .ok()
            .as_deref()
            .and_then(Path::to_str)
            .and_then(|target| target.split_once("/zoneinfo/"))
            .and_then(|(_, name)| zone(name)),
    };
    zone.unwrap_or_else(TimeZone::system)
}

/// The zone of an IANA name, if its file is where POSIX systems keep it.
fn zone(name: &str) -> Option<TimeZone> {
    let plain = |part: &str| part.starts_with(|first: char| first.is_ascii_alphabetic());
    if !name.split('/').all(plain) {
        return None;
    }
    let bytes = fs::read(Path::new(ZONEINFO).join(name)).ok()?;
    TimeZone::tzif(name, &bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_read_from_its_file_is_the_one_of_the_database() {
        for name in ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires"] {
            let (Some(ours), Ok(theirs)) = (zone(name), TimeZone::get(name)) else {
                // A machine without the database has neither.
                assert!(zone(name).is_none());
                continue;
            };
            let moment: jiff::Timestamp = "2026-07-28T10:00:00Z".parse().unwrap();
            assert_eq!(
                moment.to_zoned(ours).to_string(),
                moment.to_zoned(theirs).to_string()
            );
        }
    }

    #[test]
    fn what_is_no_iana_name_is_left_to_jiff() {
        for name in [
            "",
            ":Europe/Berlin",
            "../etc/passwd",
            "Europe/../../x",
            "/etc/localtime",
            "CET-1CEST",
            "Nowhere/Here",
        ] {
            assert!(zone(name).is_none(), "{name}");
        }
    }
}
