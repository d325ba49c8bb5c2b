//! The proxies that the variables of the server's entry name: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and
//! `NO_PROXY`, in upper or lower case.
//!
//! For an `https` URL, the proxy is asked for a tunnel (CONNECT, RFC 9110, 9.3.6). A request for an `http` URL is
//! sent to the proxy with the whole URL in the request line (RFC 9112, 3.2.2). The proxy looks the host up, so the
//! address that it connects to cannot be checked. The name in the URL is checked, and the addresses that this
//! machine finds for it. If this machine finds none, the proxy's own rules decide.

use std::{fmt, sync::Arc};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use ureq::{
    Agent, Error, Proxy, ProxyProtocol,
    config::Config,
    http::Uri,
    unversioned::{
        resolver::DefaultResolver,
        transport::{
            Buffers, ConnectionDetails, Connector, DefaultConnector, NextTimeout, Transport,
        },
    },
};
use url::Url;

use super::broken::TellsBreaks;
use crate::{host, servers::tool::ToolError};

#[derive(Debug, Default)]
pub(super) struct Proxies {
    http: Option<Proxy>,
    https: Option<Proxy>,
    /// Domains whose hosts are contacted directly. `*` stands for all of them.
    direct: Vec<String>,
}

/// A client that uses one proxy.
pub(super) struct Route {
    pub(super) agent: Agent,
    /// The value of `Proxy-Authorization` for `http` URLs.
    pub(super) authorization: Option<String>,
    /// The host and port of the proxy, without user name and password.
    pub(super) name: String,
}

impl Proxies {
    pub(super) fn from_environment() -> Result<Self, ToolError> {
        Self::of(&host::variable)
    }

    pub(super) fn of(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, ToolError> {
        let first = |names: &[&'static str]| {
            let set = |name: &&'static str| Some((*name, variable(name)?));
            let set = names.iter().find_map(set);
            let set = set.filter(|(_, value)| !value.is_empty());
            set.map(|(name, value)| proxy(name, &value)).transpose()
        };
        let all = ["all_proxy", "ALL_PROXY"];
        let (http, https) = (["http_proxy", "HTTP_PROXY"], ["https_proxy", "HTTPS_PROXY"]);
        let direct = variable("no_proxy").or_else(|| variable("NO_PROXY"));
        Ok(Self {
            http: first(&[http, all].concat())?,
            https: first(&[https, all].concat())?,
            direct: direct
                .unwrap_or_default()
                .split([',', ' '])
                .filter(|entry| !entry.is_empty())
                .map(|entry| match entry {
                    "*" => entry.to_owned(),
                    domain => unbracketed(domain.trim_start_matches('*'))
                        .trim_start_matches('.')
                        .to_ascii_lowercase(),
                })
                .collect(),
        })
    }

    /// Whether a host is contacted directly although there is a proxy.
    pub(super) fn leaves_out(&self, url: &Url) -> bool {
        let host = unbracketed(url.host_str().unwrap_or_default());
        let is_below = |rest: &str| rest.is_empty() || rest.ends_with('.');
        let mut direct = self.direct.iter().map(String::as_str);
        direct.any(|domain| domain == "*" || host.strip_suffix(domain).is_some_and(is_below))
    }

    /// The route for `http` URLs. `config` makes a configuration with a proxy or without one.
    pub(super) fn http(&self, config: impl Fn(Option<Proxy>) -> Config) -> Option<Route> {
        let proxy = self.http.as_ref()?;
        let (user, password) = (proxy.username(), proxy.password());
        let pair = format!(
            "{}:{}",
            user.unwrap_or_default(),
            password.unwrap_or_default()
        );
        let forward = Forward {
            proxy: bare(proxy),
            direct: config(None),
            connector: DefaultConnector::default(),
        };
        Some(Route {
            agent: Agent::with_parts(
                config(Some(proxy.clone())),
                TellsBreaks(forward),
                DefaultResolver::default(),
            ),
            authorization: (pair != ":").then(|| format!("Basic {}", BASE64_STANDARD.encode(pair))),
            name: name(proxy),
        })
    }

    pub(super) fn https(&self, config: impl Fn(Option<Proxy>) -> Config) -> Option<Route> {
        let proxy = self.https.as_ref()?;
        Some(Route {
            agent: Agent::with_parts(
                config(Some(proxy.clone())),
                TellsBreaks(DefaultConnector::default()),
                DefaultResolver::default(),
            ),
            authorization: None,
            name: name(proxy),
        })
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Route")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

fn name(proxy: &Proxy) -> String {
    format!("{}:{}", proxy.host(), proxy.port())
}

/// Removes the brackets that an IPv6 address has in a URL.
fn unbracketed(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// The URL of the proxy without user name and password, which must not be shown.
fn bare(proxy: &Proxy) -> Uri {
    let scheme = match proxy.protocol() {
        ProxyProtocol::Https => "https",
        _ => "http",
    };
    let bare = format!("{scheme}://{}/", name(proxy));
    bare.parse().unwrap_or_else(|_| proxy.uri().clone())
}

/// Parses the proxy that a variable names. The value may contain a password and is not shown.
fn proxy(variable: &str, value: &str) -> Result<Proxy, ToolError> {
    let refused = |problem| {
        ToolError::Failed(format!(
            "the proxy in the variable {variable} {problem}; write http://HOST:PORT, or https://HOST:PORT for a proxy that uses TLS"
        ))
    };
    let wrong = || refused("is not the URL of a proxy");
    let proxy = Proxy::new(value).map_err(|_| wrong())?;
    let url = if value.contains("://") {
        Url::parse(value)
    } else {
        Url::parse(&format!("http://{value}"))
    };
    // `ureq` replaces a port that is none by the default.
    let is_same = url.is_ok_and(|url| url.port_or_known_default() == Some(proxy.port()));
    match proxy.protocol() {
        ProxyProtocol::Http | ProxyProtocol::Https if is_same => Ok(proxy),
        ProxyProtocol::Http | ProxyProtocol::Https => Err(wrong()),
        _ => Err(refused("is of a kind that is not supported")),
    }
}

/// Connects to a proxy and writes whole URLs into request lines.
#[derive(Debug)]
struct Forward {
    proxy: Uri,
    /// The configuration without a proxy. With one, the connector would ask it for a tunnel.
    direct: Config,
    connector: DefaultConnector,
}

impl Connector for Forward {
    type Out = Forwarded;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<()>,
    ) -> Result<Option<Forwarded>, Error> {
        let to_proxy = ConnectionDetails {
            uri: &self.proxy,
            addrs: details
                .resolver
                .resolve(&self.proxy, &self.direct, details.timeout)?,
            config: &self.direct,
            request_level: details.request_level,
            resolver: details.resolver,
            now: details.now,
            timeout: details.timeout,
            current_time: Arc::clone(&details.current_time),
            run_connector: Arc::clone(&details.run_connector),
            register_shutdown: Arc::clone(&details.register_shutdown),
        };
        let transport = self.connector.connect(&to_proxy, chained)?;
        let authority = details
            .uri
            .authority()
            .map_or("", |authority| authority.as_str());
        Ok(transport.map(|transport| Forwarded {
            transport,
            origin: Some(format!("http://{authority}")),
        }))
    }
}

/// A connection to a proxy, for one request.
#[derive(Debug)]
struct Forwarded {
    transport: Box<dyn Transport>,
    /// The scheme and host, which are inserted before the path of the request line, once.
    origin: Option<String>,
}

impl Transport for Forwarded {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.transport.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let Some(origin) = self.origin.take() else {
            return self.transport.transmit_output(amount, timeout);
        };
        let output = self.transport.buffers().output();
        let Some(longer) = insert(output, amount, origin.as_bytes()) else {
            return Err(Error::LargeResponseHeader(amount, output.len()));
        };
        self.transport.transmit_output(longer, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.transport.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.transport.is_open()
    }
}

/// Inserts `origin` after the first space of the first `amount` bytes. Returns the new number of bytes, or `None`
/// if there is no room.
fn insert(output: &mut [u8], amount: usize, origin: &[u8]) -> Option<usize> {
    let at = output
        .get(..amount)?
        .iter()
        .position(|&byte| byte == b' ')?
        + 1;
    let longer = amount + origin.len();
    if longer > output.len() {
        return None;
    }
    output.copy_within(at..amount, at + origin.len());
    output
        .get_mut(at..at + origin.len())?
        .copy_from_slice(origin);
    Some(longer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(set: &[(&str, &str)]) -> Result<Proxies, ToolError> {
        Proxies::of(&|name| {
            let found = set.iter().find(|(each, _)| *each == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn names(set: &[(&str, &str)]) -> [Option<String>; 2] {
        let proxies = proxies(set).unwrap();
        [&proxies.http, &proxies.https].map(|proxy| proxy.as_ref().map(name))
    }

    #[test]
    fn each_scheme_has_its_own_proxy_and_all_stands_in_for_both() {
        assert_eq!(names(&[]), [None, None]);
        let of = |name: &str| Some(name.to_owned());
        assert_eq!(
            names(&[("HTTP_PROXY", "http://a:1"), ("https_proxy", "b:2")]),
            [of("a:1"), of("b:2")]
        );
        assert_eq!(
            names(&[("ALL_PROXY", "http://c:3"), ("HTTP_PROXY", "http://a:1")]),
            [of("a:1"), of("c:3")]
        );
        assert_eq!(names(&[("HTTPS_PROXY", "")]), [None, None]);
    }

    #[test]
    fn what_is_no_proxy_is_refused_without_being_shown() {
        for value in [
            "http://me:word@",
            "socks5://me:word@a:1",
            "ftp://me:word@a",
            "http://me:word@a:99999",
            "me:word@a:b",
            "http://me:a/word@b:1",
        ] {
            let text = proxies(&[("HTTPS_PROXY", value)]).unwrap_err().to_string();
            assert!(
                text.contains("HTTPS_PROXY") && !text.contains("word"),
                "{text}"
            );
        }
    }

    #[test]
    fn no_proxy_names_hosts_with_their_subdomains() {
        let proxies = proxies(&[(
            "NO_PROXY",
            "local.example, .Other.example,10.0.0.1,::1,[fd00::2]",
        )])
        .unwrap();
        for (url, direct) in [
            ("http://local.example/", true),
            ("http://a.local.example/", true),
            ("http://notlocal.example/", false),
            ("http://b.other.example:8080/", true),
            ("http://10.0.0.1/", true),
            ("http://10.0.0.11/", false),
            ("http://[::1]:8080/", true),
            ("http://[fd00::2]/", true),
            ("http://[fd00::1]/", false),
        ] {
            assert_eq!(
                proxies.leaves_out(&Url::parse(url).unwrap()),
                direct,
                "{url}"
            );
        }
        let none = self::proxies(&[("no_proxy", "*")]).unwrap();
        assert!(none.leaves_out(&Url::parse("http://a/").unwrap()));
    }

    #[test]
    fn the_request_line_gets_the_whole_url() {
        let mut output = *b"GET /v HTTP/1.1\r\n..........";
        let longer = insert(&mut output, 17, b"http://a").unwrap();
        assert_eq!(&output[..longer], b"GET http://a/v HTTP/1.1\r\n");
        assert_eq!(insert(&mut output, 20, b"http://abc.example"), None);
    }
}
