//! The client for hosts that a task names. It connects only to addresses that the policy allows, also after a redirect.
//!
//! The resolver of the client checks the addresses, and the client connects only to those that it returns. DNS rebinding
//! between check and connection is therefore impossible. A URL with an address needs no resolver, and is checked before it
//! is used. A proxy looks up the host itself: then the name in the URL is checked, and the addresses that this machine
//! finds for it. If this machine finds none, the rules of the proxy decide.

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs as _},
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use hyper::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{
    ClientBuilder,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect,
};
use tokio::sync::oneshot;
use url::{Host, Url};

use super::{
    address::{HostRefused, Policy},
    client::client,
};

const REDIRECTS: usize = 5;

/// The longest time to look up the host of a URL that goes through a proxy.
const LOOKUP: Duration = Duration::from_secs(5);

/// Decides which hosts a client may contact.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    policy: Policy,
    /// None if no proxy is used.
    proxies: Option<Arc<Matcher>>,
}

impl Guard {
    /// For a client that uses no proxy.
    pub(crate) fn direct(policy: Policy) -> Self {
        Self {
            policy,
            proxies: None,
        }
    }

    /// For a client that uses the proxies which the environment names.
    pub(crate) fn of_environment(policy: Policy) -> Self {
        Self::behind(Matcher::from_system(), policy)
    }

    /// For a client that uses these proxies.
    pub(crate) fn behind(proxies: Matcher, policy: Policy) -> Self {
        Self {
            policy,
            proxies: Some(Arc::new(proxies)),
        }
    }

    /// The client. It follows up to [`REDIRECTS`] redirects to hosts that it may contact.
    pub(crate) fn client(&self) -> ClientBuilder {
        let guard = self.clone();
        let follow = redirect::Policy::custom(move |to| match guard.admit(to.url()) {
            Err(refused) => to.error(refused),
            Ok(()) if to.previous().len() > REDIRECTS => {
                to.error(format!("it redirects again after {REDIRECTS} redirects"))
            }
            Ok(()) => to.follow(),
        });
        let client = client()
            .redirect(follow)
            .dns_resolver(self.clone())
            // Every connection is new, so that its address is checked.
            .pool_max_idle_per_host(0);
        match self.proxies {
            Some(_) => client,
            None => client.no_proxy(),
        }
    }

    /// Checks a URL before it is requested, as far as the resolver of the client does not.
    pub(crate) fn admit(&self, url: &Url) -> Result<(), HostRefused> {
        match url.host() {
            Some(Host::Domain(name)) if self.is_proxied(url) || self.is_proxy(name) => {
                self.policy.admit_unresolved(url)?;
                let (found, known) = mpsc::channel();
                look_up(name, move |addresses| drop(found.send(addresses)));
                let known = known.recv_timeout(LOOKUP).ok().and_then(Result::ok);
                let mut known = known.iter().flatten();
                known.try_for_each(|address| self.policy.admit(name, address.ip()))
            }
            Some(Host::Domain(_)) => Ok(()),
            _ => self.policy.admit_unresolved(url),
        }
    }

    /// Whether the URL is requested through a proxy.
    pub(crate) fn is_proxied(&self, url: &Url) -> bool {
        self.proxy_of(url.as_str()).is_some()
    }

    /// Whether this is the host of a proxy. The operator has named it, so its address is not checked.
    fn is_proxy(&self, name: &str) -> bool {
        let hosts = ["http://host.invalid", "https://host.invalid"].map(|url| self.proxy_of(url));
        hosts.iter().flatten().any(|host| host == name)
    }

    fn proxy_of(&self, url: &str) -> Option<String> {
        let proxy = self
            .proxies
            .as_ref()?
            .intercept(&url.parse::<Uri>().ok()?)?;
        proxy.uri().host().map(str::to_owned)
    }
}

/// Looks a name up in a thread, which may outlive this call: a look-up cannot be stopped.
fn look_up(name: &str, then: impl FnOnce(io::Result<Vec<SocketAddr>>) + Send + 'static) {
    // A name with a trailing dot would not be found in the hosts file.
    let name = name.trim_end_matches('.').to_owned();
    let look = move || then((name.as_str(), 0).to_socket_addrs().map(Iterator::collect));
    // Without a thread, nothing is told, and the caller waits in vain until its limit.
    let _ = thread::Builder::new().spawn(look);
}

/// The system knows no address of the host.
#[derive(Debug, thiserror::Error)]
#[error("its host is not found")]
struct HostNotFound;

impl Resolve for Guard {
    /// Returns the addresses of the host that the policy allows. If there are only others, the error is [`HostRefused`].
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let (found, known) = oneshot::channel();
            look_up(name.as_str(), move |addresses| drop(found.send(addresses)));
            let known = known.await.map_err(|_| HostNotFound)?;
            let known = known.map_err(|_| HostNotFound)?;
            if guard.is_proxy(name.as_str()) {
                return Ok(Box::new(known.into_iter()) as Addrs);
            }
            let (mut admitted, mut refused) = (Vec::new(), None);
            for address in known {
                match guard.policy.admit(name.as_str(), address.ip()) {
                    Ok(()) => admitted.push(address),
                    Err(error) => refused = Some(error),
                }
            }
            match refused {
                Some(error) if admitted.is_empty() => Err(error.into()),
                _ => Ok(Box::new(admitted.into_iter()) as Addrs),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_last_dot_is_looked_up_as_the_hosts_file_has_it() {
        for name in ["localhost", "localhost."] {
            let (found, known) = mpsc::channel();
            look_up(name, move |addresses| found.send(addresses).unwrap());
            let known = known.recv().unwrap().unwrap();
            assert!(known.iter().any(|address| address.ip().is_loopback()));
        }
    }

    #[test]
    fn an_address_that_this_machine_knows_is_judged_before_a_proxy_is_asked() {
        let proxies = Matcher::builder().all("http://proxy.example:3128").build();
        let guard = Guard::behind(proxies, Policy::PublicOnly);
        let admits = |url: &str| guard.admit(&Url::parse(url).unwrap()).is_ok();
        assert!(!admits("http://localhost/"));
        assert!(admits("http://nowhere.invalid/"));
        assert!(guard.is_proxy("proxy.example") && !guard.is_proxy("host.example"));
    }
}
