//! The ledger's view of the world: whether files have changed, and the time.

use camino::Utf8Path;
use jiff::{SignedDuration, Timestamp, civil::DateTime, tz::TimeZone};

use crate::{
    assets::print::{GoOn, still},
    host::Host,
    ledger::World,
    task::{Links, Print, Still, Uri},
};

/// The world below a root.
pub(super) struct Here<'a> {
    pub(super) root: &'a Utf8Path,
    pub(super) host: &'a Host,
    /// Whether reading may continue.
    pub(super) go_on: GoOn<'a>,
}

impl World for Here<'_> {
    fn still(&self, uri: &str, seen: &Print, links: Links) -> Still {
        let Ok(uri) = Uri::parse(uri) else {
            return Still::Unknown;
        };
        still(seen, &uri, self.root, links, self.go_on)
    }

    /// Presigned S3 URLs state when they were signed, and for how long.
    fn expires(&self, uri: &str) -> Option<Timestamp> {
        let pairs = uri.split_once('?')?.1.split('&');
        let pairs = pairs.filter_map(|pair| pair.split_once('='));
        let value = |name: &str| {
            let mut pairs = pairs.clone();
            Some(pairs.find(|(key, _)| key.eq_ignore_ascii_case(name))?.1)
        };
        let signed = DateTime::strptime("%Y%m%dT%H%M%SZ", value("X-Amz-Date")?).ok()?;
        let seconds = value("X-Amz-Expires")?.parse().ok()?;
        let signed = TimeZone::UTC.to_timestamp(signed).ok()?;
        signed.checked_add(SignedDuration::from_secs(seconds)).ok()
    }

    fn now(&self) -> Timestamp {
        self.host.timestamp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Interrupts;

    #[test]
    fn a_presigned_link_says_when_it_ends() {
        let host = Host::new(None, Some(1), Interrupts::catch());
        let here = Here {
            root: Utf8Path::new("/"),
            host: &host,
            go_on: &|| true,
        };
        let signed = "https://b.s3.amazonaws.com/a?X-Amz-Date=20260101T000000Z&X-Amz-Expires=900&X-Amz-Signature=00";
        let end: Timestamp = "2026-01-01T00:15:00Z".parse().unwrap();
        assert_eq!(here.expires(signed), Some(end));
        for plain in [
            "file:///a",
            "https://b/a?x=1",
            "https://b/a?X-Amz-Date=1&X-Amz-Expires=9",
        ] {
            assert_eq!(here.expires(plain), None, "{plain}");
        }
    }
}
