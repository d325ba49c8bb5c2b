//! The policy for the addresses that oneact connects to on behalf of a task.

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// The addresses that may be contacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    PublicOnly,
    /// Also this machine and its private networks, but no link-local and metadata addresses.
    PrivateToo,
}

#[derive(Debug, thiserror::Error)]
#[error("refused to connect to {host}: {subject} {}; {}", kind.text(), kind.advice())]
pub(crate) struct HostRefused {
    host: String,
    /// The address or the name that decided, with its verb.
    subject: String,
    kind: AddressKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressKind {
    /// Of this machine, or of a network that is not public: [`Policy::PrivateToo`] allows it.
    Private,
    LinkLocal,
    Metadata,
    Reserved,
}

impl Policy {
    /// Checks the host as the URL names it, without a look-up.
    pub(crate) fn admit_unresolved(self, url: &Url) -> Result<(), HostRefused> {
        match url.host() {
            Some(Host::Ipv4(v4)) => self.admit(&v4.to_string(), v4.into()),
            Some(Host::Ipv6(v6)) => self.admit(&v6.to_string(), v6.into()),
            Some(Host::Domain(name)) => {
                self.judge(name, "its name means", AddressKind::of_name(name))
            }
            None => Ok(()),
        }
    }

    /// Checks an address of the host.
    pub(super) fn admit(self, host: &str, address: IpAddr) -> Result<(), HostRefused> {
        self.judge(host, &format!("{address} is"), AddressKind::of(address))
    }

    fn judge(
        self,
        host: &str,
        subject: &str,
        kind: Option<AddressKind>,
    ) -> Result<(), HostRefused> {
        match kind {
            Some(kind) if self == Self::PublicOnly || kind != AddressKind::Private => {
                Err(HostRefused {
                    host: host.to_owned(),
                    subject: subject.to_owned(),
                    kind,
                })
            }
            _ => Ok(()),
        }
    }
}

impl AddressKind {
    /// `None` for a public address.
    fn of(address: IpAddr) -> Option<Self> {
        match address {
            IpAddr::V4(v4) => Self::of_v4(v4),
            IpAddr::V6(v6) => match embedded(v6) {
                Some(v4) => Self::of_v4(v4),
                None => Self::of_v6(v6).or_else(|| Self::of_v4(isatap(v6)?)),
            },
        }
    }

    /// The kind of a name, without a look-up: special-use domains (RFC 6761, RFC 6762, RFC 8375, `internal`),
    /// names without a dot, and the names of metadata services.
    fn of_name(name: &str) -> Option<Self> {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let below = |domain: &str| {
            let rest = name.strip_suffix(domain);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        if METADATA_NAMES.contains(&name.as_str()) {
            Some(Self::Metadata)
        } else if !name.contains('.') || PRIVATE_DOMAINS.into_iter().any(below) {
            Some(Self::Private)
        } else {
            None
        }
    }

    /// IANA's IPv4 Special-Purpose Address Registry, and the clouds' metadata services.
    fn of_v4(v4: Ipv4Addr) -> Option<Self> {
        match v4.octets() {
            // Azure, Alibaba, Volcengine, Oracle. The addresses of other clouds are link-local.
            [168, 63, 129, 16] | [100, 100, 100, 200] | [100, 96, 0, 96] | [192, 0, 0, 192] => {
                Some(Self::Metadata)
            }
            [169, 254, ..] => Some(Self::LinkLocal),
            [0 | 10 | 127, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => {
                Some(Self::Private)
            }
            [224..=255, ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [198, 18..=19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _] => Some(Self::Reserved),
            _ => None,
        }
    }

    /// IANA's IPv6 Special-Purpose Address Registry, and the clouds' metadata services. Only `2000::/3` is
    /// assigned. Teredo addresses and local-use translation prefixes are reserved here, because they do not show
    /// reliably where packets arrive.
    fn of_v6(v6: Ipv6Addr) -> Option<Self> {
        match v6.segments() {
            // Amazon, Google, Oracle, Scaleway.
            [0xfd00, 0x0ec2 | 0x00c1, ..]
            | [0xfd20, 0x00ce, ..]
            | [0xfd00, 0x0042, 0, 0, 0, 0, 0, 0x42] => Some(Self::Metadata),
            [0xfe80..=0xfebf, ..] => Some(Self::LinkLocal),
            // `::`, `::1`, fc00::/7, and its predecessor, the site-local fec0::/10.
            [0, 0, 0, 0, 0, 0, 0, 0 | 1] | [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => {
                Some(Self::Private)
            }
            // IETF protocol assignments (2001::/23, which includes Teredo) and documentation.
            [0x2001, 0x0000..=0x01ff | 0x0db8, ..] | [0x3fff, 0x0000..=0x0fff, ..] => {
                Some(Self::Reserved)
            }
            [0x2000..=0x3fff, ..] => None,
            _ => Some(Self::Reserved),
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Private => "a loopback, private or shared address",
            Self::LinkLocal => "a link-local address, where machines serve their credentials",
            Self::Metadata => "the metadata service of a cloud, which serves credentials",
            Self::Reserved => "a multicast or reserved address",
        }
    }

    fn advice(self) -> &'static str {
        if self == Self::Private {
            "if the connection is intended, set allow_private = true in the [server.…] entry of catalog.toml"
        } else {
            "no setting allows it"
        }
    }
}

const PRIVATE_DOMAINS: [&str; 9] = [
    "localhost",
    "localdomain",
    "internal",
    "local",
    "lan",
    "home",
    "corp",
    "intranet",
    "home.arpa",
];

/// The names that Google, Tencent, and images of `OpenStack` and Eucalyptus use.
const METADATA_NAMES: [&str; 5] = [
    "metadata.google.internal",
    "metadata.goog",
    "metadata.tencentyun.com",
    "metadata",
    "instance-data",
];

/// The IPv4 address in an IPv6 address: mapped or compatible (RFC 4291), translated (RFC 2765), with NAT64's
/// well-known prefix (RFC 6052), or 6to4 (RFC 3056).
fn embedded(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    match v6.segments() {
        // `::` and `::1` are no IPv4 addresses.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0xffff | 0, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(join(high, low)),
        _ => None,
    }
}

/// The IPv4 address in an ISATAP address (RFC 5214).
fn isatap(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    match v6.segments() {
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => Some(join(high, low)),
        _ => None,
    }
}

fn join(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))
}
