//! The local time zone, read from its file. Otherwise jiff would list the whole time zone database in every run, which has
//! hundreds of files.

use std::{env, fs, path::Path};

use jiff::tz::TimeZone;

use super::plain::read_plain;

const LOCALTIME: &str = "/etc/localtime";
const ZONEINFO: &str = "/usr/share/zoneinfo";

/// The largest file of a zone, in bytes. Those of the database have a few thousand.
const LARGEST: u64 = 1 << 20;

/// The zone of `$TZ`, otherwise that of `/etc/localtime`. jiff reads the latter if it is no link to a named zone.
#[expect(
    clippy::disallowed_methods,
    reason = "the host is the one place that reads the environment"
)]
pub(super) fn local_zone() -> TimeZone {
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
mod tests;
