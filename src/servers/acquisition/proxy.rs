//! The proxies that the variables of the server's entry name: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and
//! `NO_PROXY`, in upper or lower case.
//!
//! For an `https` URL, the proxy is asked for a tunnel (CONNECT, RFC 9110, 9.3.6). A request for an `http` URL is
//! sent to the proxy with the whole URL in the request line (RFC 9112, 3.2.2). The proxy looks the host up, so the
//! address that it connects to cannot be checked. The name in the URL is checked, and the addresses that this
//! machine finds for it. If this machine finds none, the proxy's own rules decide.

use reqwest::ClientBuilder;
use url::Url;

use crate::{host, servers::tool::ToolError};

#[derive(Debug, Default)]
pub(super) struct Proxies {
    http: Option<Url>,
    https: Option<Url>,
    /// Domains whose hosts are contacted directly. `*` stands for all of them.
    direct: Vec<String>,
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

    /// The host and port of the proxy that a URL needs, without user name and password.
    pub(super) fn name_for(&self, url: &Url) -> Option<String> {
        let proxy = match url.scheme() {
            "https" => self.https.as_ref(),
            _ => self.http.as_ref(),
        };
        proxy.filter(|_| !self.leaves_out(url)).map(name)
    }

    /// A client that uses the proxies, whatever the host.
    pub(super) fn used_by(&self, mut client: ClientBuilder) -> reqwest::Result<ClientBuilder> {
        if let Some(proxy) = &self.http {
            client = client.proxy(reqwest::Proxy::http(proxy.clone())?);
        }
        if let Some(proxy) = &self.https {
            client = client.proxy(reqwest::Proxy::https(proxy.clone())?);
        }
        Ok(client)
    }
}

fn name(proxy: &Url) -> String {
    let port = proxy.port_or_known_default().unwrap_or_default();
    format!("{}:{port}", proxy.host_str().unwrap_or_default())
}

/// Removes the brackets that an IPv6 address has in a URL.
fn unbracketed(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Parses the proxy that a variable names. The value may contain a password and is not shown.
fn proxy(variable: &str, value: &str) -> Result<Url, ToolError> {
    let refused = |problem| {
        ToolError::Failed(format!(
            "the proxy in the variable {variable} {problem}; write http://HOST:PORT, or https://HOST:PORT for a proxy that uses TLS"
        ))
    };
    let url = if value.contains("://") {
        Url::parse(value)
    } else {
        Url::parse(&format!("http://{value}"))
    };
    match url {
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            Err(refused("is of a kind that is not supported"))
        }
        Ok(url) if url.has_host() => Ok(url),
        _ => Err(refused("is not the URL of a proxy")),
    }
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
}
