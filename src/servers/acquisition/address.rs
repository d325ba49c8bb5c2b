//! Which addresses a tool may connect to, decided at the address itself.
//!
//! The check sits in the HTTP client's resolver: what it lets through is what gets connected to,
//! so a name that changes its answer between check and connection gains nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ureq::{
    Error,
    config::Config,
    http::Uri,
    unversioned::{
        resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver},
        transport::NextTimeout,
    },
};
use url::{Host, Url};

use crate::host;

/// The variable by which the catalog's `allow_private = true` reaches a built-in server.
const ALLOW_PRIVATE: &str = "ONEACT_ALLOW_PRIVATE";

/// How far connections may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    /// Public addresses alone.
    PublicOnly,
    /// Also this machine and its private networks; never link-local and metadata addresses.
    PrivateToo,
}

/// An address the policy does not let through.
#[derive(Debug, thiserror::Error)]
#[error("refused to connect to {host}: {address} is {}; {}", kind.text(), kind.advice())]
pub(super) struct Refused {
    host: String,
    address: IpAddr,
    kind: Kind,
}

/// What makes an address other than public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Loopback,
    Private,
    Shared,
    Unspecified,
    LinkLocal,
    Metadata,
    Multicast,
    Reserved,
}

impl Policy {
    /// [`Policy::PrivateToo`] if `ONEACT_ALLOW_PRIVATE` is `1`.
    pub(super) fn from_environment() -> Self {
        match host::variable(ALLOW_PRIVATE).as_deref() {
            Some("1") => Self::PrivateToo,
            _ => Self::PublicOnly,
        }
    }

    /// Judges what a URL itself says of an address, where somebody else looks its host up.
    pub(super) fn admit_unresolved(self, url: &Url) -> Result<(), Refused> {
        let host = url.host_str().unwrap_or_default();
        let address = match url.host() {
            Some(Host::Ipv4(v4)) => v4.into(),
            Some(Host::Ipv6(v6)) => v6.into(),
            Some(Host::Domain(name)) if is_this_machine(name) => Ipv4Addr::LOCALHOST.into(),
            Some(Host::Domain(_)) | None => return Ok(()),
        };
        self.admit(host, address)
    }

    fn admit(self, host: &str, address: IpAddr) -> Result<(), Refused> {
        match (Kind::of(address), self) {
            (None, _) => Ok(()),
            (Some(kind), Self::PrivateToo) if kind.may_be_allowed() => Ok(()),
            (Some(kind), _) => Err(Refused {
                host: host.to_owned(),
                address,
                kind,
            }),
        }
    }
}

/// `localhost`, and what is below it (RFC 6761, 6.3).
fn is_this_machine(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}

/// The system's resolver behind the policy.
#[derive(Debug)]
pub(super) struct CheckedResolver {
    policy: Policy,
    system: DefaultResolver,
}

impl CheckedResolver {
    pub(super) fn new(policy: Policy) -> Self {
        Self {
            policy,
            system: DefaultResolver::default(),
        }
    }
}

impl Resolver for CheckedResolver {
    /// The addresses of the URI's host that the policy lets through; [`Refused`] inside
    /// [`Error::Other`] if there are others only.
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let found = self
            .system
            .resolve(uri, config, timeout)
            .map_err(|error| match error {
                // getaddrinfo's failures have no kind of their own.
                Error::Io(_) => Error::HostNotFound,
                other => other,
            })?;
        let host = uri.host().unwrap_or_default();
        let mut admitted = self.empty();
        let mut refused = None;
        for &address in &found {
            match self.policy.admit(host, address.ip()) {
                Ok(()) => admitted.push(address),
                Err(error) => refused = Some(error),
            }
        }
        match refused {
            Some(error) if admitted.is_empty() => Err(Error::Other(Box::new(error))),
            _ => Ok(admitted),
        }
    }
}

impl Kind {
    /// `None` for a public address.
    fn of(address: IpAddr) -> Option<Self> {
        match address {
            IpAddr::V4(v4) => Self::of_v4(v4),
            IpAddr::V6(v6) => match embedded(v6) {
                Some(v4) => Self::of_v4(v4),
                None => Self::of_v6(v6),
            },
        }
    }

    /// IANA's IPv4 Special-Purpose Address Registry, and the clouds' metadata services.
    fn of_v4(v4: Ipv4Addr) -> Option<Self> {
        match v4.octets() {
            [100, 100, 100, 200] => Some(Self::Metadata),
            [0, ..] => Some(Self::Unspecified),
            [127, ..] => Some(Self::Loopback),
            [169, 254, ..] => Some(Self::LinkLocal),
            [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some(Self::Private),
            [100, 64..=127, ..] => Some(Self::Shared),
            [224..=239, ..] => Some(Self::Multicast),
            [240..=255, ..] | [192, 0, 0, _] | [198, 18..=19, ..] => Some(Self::Reserved),
            _ => None,
        }
    }

    /// IANA's IPv6 Special-Purpose Address Registry, and the clouds' metadata services.
    fn of_v6(v6: Ipv6Addr) -> Option<Self> {
        match v6.segments() {
            [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254] => Some(Self::Metadata),
            [0, 0, 0, 0, 0, 0, 0, 0] => Some(Self::Unspecified),
            [0, 0, 0, 0, 0, 0, 0, 1] => Some(Self::Loopback),
            [0xfe80..=0xfebf, ..] => Some(Self::LinkLocal),
            // fc00::/7, and the site-local fec0::/10 it replaced.
            [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => Some(Self::Private),
            [0xff00..=0xffff, ..] => Some(Self::Multicast),
            _ => None,
        }
    }

    /// Whether [`Policy::PrivateToo`] lets it through.
    fn may_be_allowed(self) -> bool {
        matches!(
            self,
            Self::Loopback | Self::Private | Self::Shared | Self::Unspecified
        )
    }

    fn text(self) -> &'static str {
        match self {
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
            Self::Shared => "a shared address (100.64.0.0/10)",
            Self::Unspecified => "an unspecified address, which means this machine",
            Self::LinkLocal => "a link-local address, where machines serve their credentials",
            Self::Metadata => "the metadata service of a cloud, which serves credentials",
            Self::Multicast => "a multicast address",
            Self::Reserved => "a reserved address",
        }
    }

    fn advice(self) -> &'static str {
        if self.may_be_allowed() {
            "set allow_private = true on the [server.…] entry in catalog.toml if it is meant"
        } else {
            "no setting allows it"
        }
    }
}

/// The IPv4 address that an IPv6 address is another form of: IPv4-mapped, IPv4-compatible, NAT64
/// (RFC 6052) or 6to4 (RFC 3056).
fn embedded(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match v6.segments() {
        // `::` and `::1` are no IPv4 addresses.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0xffff | 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => join(high, low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(policy: Policy, address: &str) -> bool {
        policy.admit("host", address.parse().unwrap()).is_ok()
    }

    #[test]
    fn public_addresses_are_let_through() {
        for address in [
            "1.1.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "64:ff9b::101:101",
        ] {
            assert!(admitted(Policy::PublicOnly, address), "{address}");
        }
    }

    #[test]
    fn private_addresses_are_refused_unless_allowed_in_every_spelling() {
        let private = [
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "fc00::1",
            "fd12::1",
            "0.0.0.0",
            "::",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:c0a8:101::1",
            "::10.0.0.1",
        ];
        for address in private {
            assert!(!admitted(Policy::PublicOnly, address), "{address}");
            assert!(admitted(Policy::PrivateToo, address), "{address}");
        }
    }

    #[test]
    fn link_local_metadata_multicast_and_reserved_addresses_are_always_refused() {
        let never = [
            "169.254.169.254",
            "169.254.0.1",
            "fe80::1",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "fd00:ec2::254",
            "100.100.100.200",
            "224.0.0.1",
            "ff02::1",
            "255.255.255.255",
            "240.0.0.1",
        ];
        for address in never {
            assert!(!admitted(Policy::PublicOnly, address), "{address}");
            assert!(!admitted(Policy::PrivateToo, address), "{address}");
        }
    }

    #[test]
    fn a_refusal_says_what_why_and_which_setting_allows_it() {
        let text = Policy::PublicOnly
            .admit("db.local", "10.1.2.3".parse().unwrap())
            .unwrap_err()
            .to_string();
        for part in [
            "db.local",
            "10.1.2.3",
            "private address",
            "allow_private = true",
            "[server.",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let text = Policy::PrivateToo
            .admit("h", "169.254.169.254".parse().unwrap())
            .unwrap_err()
            .to_string();
        assert!(text.contains("no setting allows it"), "{text}");
    }
}
