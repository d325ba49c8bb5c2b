//! A real HTTP/1.1 server on loopback that can also misbehave, for the tests beside it.

use std::{
    collections::HashMap,
    fmt::Write as _,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use url::Url;

/// A running server; every connection serves one request.
pub(super) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    /// Names in lower case.
    pub(super) headers: HashMap<String, String>,
    /// How many requests came before.
    pub(super) nth: usize,
}

/// What is sent back, byte for byte, and what happens then.
pub(super) struct Reply {
    status: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    sent: usize,
    then: Then,
}

#[derive(Clone, Copy)]
enum Then {
    Close,
    Hang,
}

impl Server {
    pub(super) fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (answer, seen) = (Arc::new(answer), Arc::clone(&requests));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
                thread::spawn(move || serve(&stream, &*answer, &seen));
            }
        });
        Self { address, requests }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

impl Reply {
    /// `status` as in `404 Not Found`, without a body.
    pub(super) fn status(status: &'static str) -> Self {
        Self {
            status,
            headers: vec![("Content-Length", "0".to_owned())],
            body: Vec::new(),
            sent: 0,
            then: Then::Close,
        }
    }

    pub(super) fn redirect(to: &str) -> Self {
        Self::status("302 Found").with("Location", to)
    }

    /// The content, with its length and type.
    pub(super) fn content(content: &[u8]) -> Self {
        let headers = vec![
            ("Content-Length", content.len().to_string()),
            ("Content-Type", "video/mp4".to_owned()),
        ];
        Self {
            status: "200 OK",
            headers,
            body: content.to_vec(),
            sent: content.len(),
            then: Then::Close,
        }
    }

    /// The content as a server answers that knows `Range` and `If-Range`.
    pub(super) fn ranged(request: &Request, content: &[u8], etag: &str) -> Self {
        let from = request
            .header("range")
            .and_then(|range| {
                range
                    .strip_prefix("bytes=")?
                    .strip_suffix('-')?
                    .parse::<usize>()
                    .ok()
            })
            .filter(|_| {
                request
                    .header("if-range")
                    .is_none_or(|validator| validator == etag)
            });
        let Some(from) = from else {
            return Self::content(content).with("ETag", etag);
        };
        let Some(rest) = content.get(from..).filter(|rest| !rest.is_empty()) else {
            return Self::status("416 Range Not Satisfiable");
        };
        let range = format!("bytes {from}-{}/{}", content.len() - 1, content.len());
        Self::content(rest).with("ETag", etag).partial(&range)
    }

    /// Sets a header.
    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(each, _)| *each != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Leaves a header out.
    pub(super) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(each, _)| *each != name);
        self
    }

    /// Makes it a 206 of that `Content-Range`.
    pub(super) fn partial(self, range: &str) -> Self {
        Self {
            status: "206 Partial Content",
            ..self
        }
        .with("Content-Range", range)
    }

    /// Closes the connection after `bytes` of the body.
    pub(super) fn cut_after(mut self, bytes: usize) -> Self {
        self.sent = bytes.min(self.body.len());
        self
    }

    /// Sends nothing more after `bytes` of the body, and keeps the connection.
    pub(super) fn hang_after(self, bytes: usize) -> Self {
        Self {
            then: Then::Hang,
            ..self.cut_after(bytes)
        }
    }
}

fn serve(mut stream: &TcpStream, answer: &dyn Fn(&Request) -> Reply, seen: &Mutex<Vec<Request>>) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    let Ok(1..) = reader.read_line(&mut line) else {
        return;
    };
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let mut headers = HashMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let request = {
        let mut seen = seen.lock().unwrap();
        let request = Request {
            method,
            path,
            headers,
            nth: seen.len(),
        };
        seen.push(request.clone());
        request
    };
    let reply = answer(&request);
    let mut head = format!("HTTP/1.1 {}\r\nConnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    head.push_str("\r\n");
    let body = if request.method == "HEAD" {
        &[]
    } else {
        &reply.body[..reply.sent]
    };
    // The client may be gone already; that is its business.
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(body));
    if let Then::Hang = reply.then {
        // Until the client gives up.
        let _ = reader.read(&mut [0]);
    }
}
