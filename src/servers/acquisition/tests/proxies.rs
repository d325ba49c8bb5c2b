//! Requests that go through a proxy, which speaks both of a proxy's ways.

use std::{
    io::{BufRead, BufReader, Write, copy},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use hyper_util::client::proxy::matcher::Matcher;

use super::{
    server::{Reply, Server},
    *,
};

/// A proxy on loopback, and the heads of the requests it has had. Whatever host it is asked for, it
/// connects to `origin`.
struct Proxy {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn to(origin: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                thread::spawn(move || pass(&client, origin, &seen));
            }
        });
        Self { address, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// A client that goes through it.
    fn web(&self, policy: Policy, no_proxy: &str) -> Web {
        let url = format!("http://me:pass%20word@{}", self.address);
        let matcher = Matcher::builder().all(url.clone()).no(no_proxy.to_owned());
        let guard = Guard::behind(matcher.build(), policy);
        let proxy = reqwest::Proxy::all(url).unwrap();
        let client = guard
            .client()
            .proxy(proxy.no_proxy(reqwest::NoProxy::from_string(no_proxy)));
        let patience = Patience {
            pause: Duration::from_millis(1),
            ..Patience::default()
        };
        Web::new(client, guard, patience).unwrap()
    }
}

/// All of a request before its body.
fn head(reader: &mut impl BufRead) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return None;
        }
    }
    Some(head)
}

/// One connection: a tunnel, or a request with a whole URL that is passed on with its path alone.
fn pass(client: &TcpStream, origin: SocketAddr, seen: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(client.try_clone().unwrap());
    let Some(head) = head(&mut reader) else {
        return;
    };
    seen.lock().unwrap().push(head.clone());
    let mut server = TcpStream::connect(origin).unwrap();
    let (mut to_client, mut back) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    if head.starts_with("CONNECT ") {
        to_client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
    } else {
        let (method, rest) = head.split_once(' ').unwrap();
        let path = rest.strip_prefix("http://").unwrap();
        let path = &path[path.find('/').unwrap()..];
        server
            .write_all(format!("{method} {path}").as_bytes())
            .unwrap();
    }
    thread::spawn(move || {
        let _ = copy(&mut back, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let _ = copy(&mut reader, &mut server);
}

fn fetch_through(web: &Web, url: &str, target: &Path) -> Result<Value, ToolError> {
    run(|run| download(&order(url, Some(target)), web, run))
}

/// `Basic` of `me:pass word`.
const CREDENTIALS: &str = "Basic bWU6cGFzcyB3b3Jk";

#[test]
fn an_http_url_is_asked_for_whole_and_its_host_is_the_proxys_to_look_up() {
    let server = Server::start(|_| Reply::content(&film()));
    let proxy = Proxy::to(server.address());
    let (_folder, target) = folder();
    let url = "http://nowhere.invalid:8080/v.mp4?a=1";
    let answer = fetch_through(&proxy.web(Policy::PublicOnly, ""), url, &target).unwrap();
    assert_eq!(fs::read(&target).unwrap(), film());
    assert_eq!(answer["url"], url);
    let head = &proxy.heads()[0];
    assert!(
        head.starts_with(&format!("GET {url} HTTP/1.1\r\n")),
        "{head}"
    );
    assert!(
        head.to_lowercase()
            .contains("\r\nhost: nowhere.invalid:8080\r\n"),
        "{head}"
    );
    assert!(head.contains(CREDENTIALS), "{head}");
    assert!(!answer.to_string().contains("word"));
}

#[test]
fn an_https_url_is_asked_for_through_a_tunnel() {
    // A server that speaks no TLS: the tunnel is what is looked at.
    let server = Server::start(|_| Reply::status("400 Bad Request"));
    let proxy = Proxy::to(server.address());
    let (_folder, target) = folder();
    let web = proxy.web(Policy::PublicOnly, "");
    let text = fetch_through(&web, "https://nowhere.invalid/v", &target)
        .unwrap_err()
        .to_string();
    let head = &proxy.heads()[0];
    assert!(
        head.starts_with("CONNECT nowhere.invalid:443 HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(head.contains(CREDENTIALS), "{head}");
    let shown = "through the proxy failed";
    assert!(text.contains(shown) && !text.contains("word"), "{text}");
}

#[test]
fn an_address_that_is_refused_is_refused_before_the_proxy_is_asked() {
    let server = Server::start(|_| Reply::content(&film()));
    let proxy = Proxy::to(server.address());
    for (policy, url, says) in [
        (Policy::PublicOnly, "http://127.0.0.1/v", "loopback"),
        (Policy::PublicOnly, "http://0x7f.1/v", "loopback"),
        (Policy::PublicOnly, "https://localhost./v", "loopback"),
        (Policy::PublicOnly, "https://[::ffff:10.0.0.1]/v", "private"),
        (Policy::PrivateToo, "http://169.254.169.254/v", "link-local"),
        (Policy::PublicOnly, "http://db.corp/v", "private"),
        (Policy::PublicOnly, "https://fileserver/v", "private"),
        (
            Policy::PrivateToo,
            "http://metadata.google.internal/v",
            "metadata",
        ),
    ] {
        let (_folder, target) = folder();
        let text = fetch_through(&proxy.web(policy, ""), url, &target)
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("`url`") && text.contains(says),
            "{url}: {text}"
        );
    }
    assert_eq!(proxy.heads(), [""; 0]);
}

#[test]
fn a_redirect_through_a_proxy_is_checked_too() {
    let server = Server::start(|_| Reply::redirect("http://169.254.169.254/latest"));
    let proxy = Proxy::to(server.address());
    let (_folder, target) = folder();
    let web = proxy.web(Policy::PublicOnly, "");
    let text = fetch_through(&web, "http://nowhere.invalid/v", &target)
        .unwrap_err()
        .to_string();
    assert!(text.contains("link-local"), "{text}");
    assert_eq!(proxy.heads().len(), 1);
}

#[test]
fn redirects_without_end_and_files_without_end_are_given_up() {
    let (_folder, target) = folder();
    let server = Server::start(|request| match request.path.as_str() {
        "/large" => Reply::content(&film()),
        _ => Reply::redirect("/again"),
    });
    let proxy = Proxy::to(server.address());
    let web = proxy.web(Policy::PublicOnly, "");
    let text = fetch_through(&web, "http://nowhere.invalid/v", &target)
        .unwrap_err()
        .to_string();
    assert!(text.contains("again after 5"), "{text}");
    assert_eq!(proxy.heads().len(), 6);
    let order = Order {
        max_bytes: 1000,
        ..order("http://nowhere.invalid/large", Some(&target))
    };
    let text = run(|run| download(&order, &web, run))
        .unwrap_err()
        .to_string();
    assert!(text.contains("too large"), "{text}");
}

#[test]
fn a_host_of_no_proxy_is_asked_directly_and_checked_as_ever() {
    let server = Server::start(|_| Reply::content(&film()));
    let proxy = Proxy::to(server.address());
    let (_folder, target) = folder();
    let url = server.url("/v");
    let text = fetch_through(
        &proxy.web(Policy::PublicOnly, "127.0.0.1"),
        url.as_str(),
        &target,
    )
    .unwrap_err()
    .to_string();
    assert!(text.contains("loopback"), "{text}");
    fetch_through(
        &proxy.web(Policy::PrivateToo, "127.0.0.1"),
        url.as_str(),
        &target,
    )
    .unwrap();
    assert_eq!((proxy.heads(), server.requests().len()), (Vec::new(), 1));
}

#[test]
fn a_dropped_download_is_resumed_through_the_proxy() {
    let server = Server::start(|request| {
        let reply = Reply::ranged(request, &film(), "\"1\"");
        if request.nth == 0 {
            reply.cut_after(300_000)
        } else {
            reply
        }
    });
    let proxy = Proxy::to(server.address());
    let (_folder, target) = folder();
    let web = proxy.web(Policy::PublicOnly, "");
    let answer = fetch_through(&web, "http://nowhere.invalid/v", &target).unwrap();
    assert_eq!(
        (fs::read(&target).unwrap(), &answer["resumed"]),
        (film(), &json!(true))
    );
    assert_eq!(proxy.heads().len(), 2);
}

#[test]
fn a_proxy_that_refuses_or_is_not_there_is_named_without_its_password() {
    let refusing = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = refusing.local_addr().unwrap();
    thread::spawn(move || {
        for mut client in refusing.incoming().flatten() {
            let _ = head(&mut BufReader::new(client.try_clone().unwrap()));
            let _ = client.write_all(
                b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
            );
        }
    });
    let nobody = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for (address, url, says) in [
        (address, "http://nowhere.invalid/v", "HTTP 407"),
        (
            address,
            "https://nowhere.invalid/v",
            "proxy authorization required",
        ),
        (
            nobody,
            "http://nowhere.invalid/v",
            "through the proxy failed",
        ),
        (
            nobody,
            "https://nowhere.invalid/v",
            "through the proxy failed",
        ),
    ] {
        let (_folder, target) = folder();
        let proxy = Proxy {
            address,
            heads: Arc::default(),
        };
        let text = fetch_through(&proxy.web(Policy::PublicOnly, ""), url, &target)
            .unwrap_err()
            .to_string();
        assert!(text.contains(says) && !text.contains("word"), "{text}");
        assert!(!text.contains("bWU6"), "{text}");
    }
}
