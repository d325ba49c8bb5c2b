//! The local time zone, read from its file. Otherwise jiff would list the whole time zone database in every run,
//! which has hundreds of files.

use std::{env, fs, path::Path};

use jiff::tz::TimeZone;

use super::read_plain;

const LOCALTIME: &str = "/etc/localtime";
const ZONEINFO: &str = "/usr/share/zoneinfo";

/// The largest file of a zone, in bytes. Those of the database have a few thousand.
const LARGEST: u64 = 1 << 20;

/// The zone of `$TZ`, otherwise that of `/etc/localtime`. jiff reads the latter if it is no link to a named zone.
#[expect(
    clippy::disallowed_methods,
    reason = "the host is the one place that reads the environment"
)]
pub(super) fn local() -> TimeZone {
    if let Some(named) = env::var_os("TZ") {
        let known = named.to_str().and_then(named_by);
        return known.unwrap_or_else(TimeZone::unknown);
    }
    let linked = fs::read_link(LOCALTIME).ok();
    let name = linked.as_deref().and_then(Path::to_str);
    let name = name.and_then(|target| target.split_once("/zoneinfo/"));
    name.and_then(|(_, name)| zone(name))
        .unwrap_or_else(TimeZone::system)
}

/// The zone of a value of `$TZ` (POSIX, tzset(3)): a rule, a name in the database, or the path of a file. A `:`
/// may precede a name or a path. An empty value means UTC.
fn named_by(text: &str) -> Option<TimeZone> {
    let name = text.strip_prefix(':').unwrap_or(text);
    if name.is_empty() {
        return Some(TimeZone::UTC);
    }
    if name.starts_with('/') {
        let (_, known) = name.split_once("/zoneinfo/").unwrap_or(("", name));
        return TimeZone::tzif(known, &read(Path::new(name))?).ok();
    }
    zone(name).or_else(|| TimeZone::posix(text).ok())
}

/// The zone of an IANA name, if its file is in the usual place.
fn zone(name: &str) -> Option<TimeZone> {
    let plain = |part: &str| part.starts_with(|first: char| first.is_ascii_alphabetic());
    if !name.split('/').all(plain) {
        return None;
    }
    TimeZone::tzif(name, &read(&Path::new(ZONEINFO).join(name))?).ok()
}

/// Reads a regular file, also behind a symbolic link, as in the database. Pipes and devices are not read.
fn read(path: &Path) -> Option<Vec<u8>> {
    read_plain(fs::canonicalize(path).ok()?, LARGEST).ok()
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
    fn a_zone_is_found_by_name_by_path_and_by_rule() {
        let moment: jiff::Timestamp = "2026-07-28T10:00:00Z".parse().unwrap();
        let hour = |text: &str| named_by(text).map(|zone| moment.to_zoned(zone).hour());
        for utc in ["", ":", "UTC0"] {
            assert_eq!(hour(utc), Some(10), "{utc:?}");
        }
        assert_eq!(hour("CET-1CEST,M3.5.0,M10.5.0/3"), Some(12));
        let by_path = format!("{ZONEINFO}/Europe/Berlin");
        if Path::new(&by_path).exists() {
            for berlin in [
                "Europe/Berlin",
                ":Europe/Berlin",
                &by_path,
                &format!(":{by_path}"),
            ] {
                assert_eq!(hour(berlin), Some(12), "{berlin}");
            }
        }
    }

    #[test]
    fn no_pipe_device_or_endless_file_is_taken_for_a_zone() {
        let keep = tempfile::tempdir().unwrap();
        let pipe = keep.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let long = keep.path().join("long");
        fs::File::create(&long).unwrap().set_len(1 << 40).unwrap();
        let link = keep.path().join("link");
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        for path in [
            pipe.as_path(),
            &long,
            &link,
            keep.path(),
            Path::new("/dev/zero"),
        ] {
            let path = path.to_str().unwrap();
            for text in [path.to_owned(), format!(":{path}")] {
                assert!(named_by(&text).is_none(), "{text}");
            }
        }
        assert!(named_by("../../../../../dev/zero").is_none());
        assert!(named_by("Nowhere/Here").is_none());
    }

    #[test]
    fn what_is_no_iana_name_is_none_of_the_database() {
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
