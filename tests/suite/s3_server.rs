//! Servers that speak the protocol of S3, for tests: SeaweedFS and rclone. The unit tests of `src/assets/store` use them
//! as well.

use std::{
    fs,
    net::TcpListener,
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use camino::{Utf8Path, Utf8PathBuf};
use futures_util::{
    StreamExt as _,
    future::{BoxFuture, FutureExt as _},
};
use http_body_util::BodyExt as _;
use object_store::{
    Error, ObjectStoreExt as _, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder},
    client::{
        ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest,
        HttpResponse, HttpResponseBody, HttpService,
    },
    path::Path,
};

pub(crate) const KEY: &str = "testkey4711aaaa";
pub(crate) const SECRET: &str = "testsecret4711bbbbcccc";
pub(crate) const BUCKET: &str = "platform-bucket";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `weed mini`: honours conditions.
    Seaweed,
    /// `rclone serve s3`: ignores them.
    Rclone,
}

/// A running server with one bucket. It ends when it is dropped.
pub(crate) struct Server {
    child: Child,
    _dir: tempfile::TempDir,
    ports: Vec<u16>,
    client: AmazonS3,
    runtime: tokio::runtime::Runtime,
}

impl Server {
    pub(crate) fn start(kind: Kind) -> Self {
        // Another program can take a free port before the server does.
        let server = Self::try_start(kind).or_else(|_| Self::try_start(kind));
        server.unwrap_or_else(|error| panic!("{kind:?} does not come up: {error}"))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "scripts/setup-tests reads it too"
    )]
    fn try_start(kind: Kind) -> Result<Self, Error> {
        let home = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
        let servers = std::env::var("ONEACT_TEST_SERVERS");
        let bin = home
            .join(servers.as_deref().unwrap_or("target/test-servers"))
            .join("s3/bin");
        assert!(bin.exists(), "{bin} is missing; run scripts/setup-tests");
        let dir = tempfile::TempDir::with_prefix("oneact-s3-").unwrap();
        let place = Utf8PathBuf::try_from(dir.path().to_owned()).unwrap();
        let ports = free_ports();
        let port = ports[0];
        let mut command = match kind {
            Kind::Seaweed => {
                let mut command = Command::new(bin.join("weed"));
                command
                    .args(["mini", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"])
                    .arg(format!("-dir={place}"));
                let names = [
                    "s3.port",
                    "s3.port.grpc",
                    "master.port",
                    "master.port.grpc",
                    "volume.port",
                    "volume.port.grpc",
                    "filer.port",
                    "filer.port.grpc",
                    "admin.port",
                    "admin.port.grpc",
                ];
                for (name, port) in names.into_iter().zip(&ports) {
                    command.arg(format!("-{name}={port}"));
                }
                command.args([
                    "-s3.port.iceberg=0",
                    "-s3.port.lance=0",
                    "-s3.autoCreateBucket=false",
                    "-webdav=false",
                    "-admin.ui=false",
                    "-master.telemetry=false",
                ]);
                command.arg(format!("-bucket={BUCKET}"));
                command
                    .env("AWS_ACCESS_KEY_ID", KEY)
                    .env("AWS_SECRET_ACCESS_KEY", SECRET);
                command
            }
            Kind::Rclone => {
                let data = place.join("data");
                fs::create_dir_all(data.join(BUCKET)).unwrap();
                let mut command = Command::new(bin.join("rclone"));
                command.args(["serve", "s3", "--config", "", "--auth-key"]);
                command
                    .arg(format!("{KEY},{SECRET}"))
                    .arg("--addr")
                    .arg(format!("127.0.0.1:{port}"));
                command.arg(data);
                command
            }
        };
        // Its log is written beside its data, so that a full pipe cannot stop it.
        let log = fs::File::create(place.join("log")).unwrap();
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .current_dir(&place)
            .spawn()
            .unwrap();
        let client = AmazonS3Builder::new()
            .with_access_key_id(KEY)
            .with_secret_access_key(SECRET)
            .with_endpoint(format!("http://127.0.0.1:{port}"))
            .with_bucket_name(BUCKET)
            .with_disable_bulk_delete(true)
            .with_retry(RetryConfig {
                max_retries: 0,
                ..RetryConfig::default()
            })
            .with_http_connector(Plain)
            .build()
            .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let mut server = Self {
            child,
            _dir: dir,
            ports,
            client,
            runtime,
        };
        let begun = Instant::now();
        // SeaweedFS answers before it can store anything.
        while let Err(error) = server.try_put("ready", "yes") {
            let has_ended = server.child.try_wait().unwrap().is_some();
            if has_ended || begun.elapsed() > Duration::from_mins(1) {
                return Err(error);
            }
            thread::sleep(Duration::from_millis(100));
        }
        server.delete("ready");
        Ok(server)
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports[0])
    }

    fn try_put(&self, key: &str, content: &str) -> Result<(), Error> {
        let path = Path::parse(key).unwrap();
        let content = Bytes::from(content.to_owned());
        self.runtime
            .block_on(self.client.put(&path, content.into()))
            .map(drop)
    }

    /// Puts an object that oneact did not store.
    pub(crate) fn put(&self, key: &str, content: &[u8]) {
        let path = Path::parse(key).unwrap();
        let content = Bytes::from(content.to_owned());
        self.runtime
            .block_on(self.client.put(&path, content.into()))
            .unwrap();
    }

    pub(crate) fn get(&self, key: &str) -> Option<Vec<u8>> {
        let path = Path::parse(key).unwrap();
        let read = async { self.client.get(&path).await?.bytes().await };
        match self.runtime.block_on(read) {
            Ok(bytes) => Some(bytes.to_vec()),
            Err(Error::NotFound { .. }) => None,
            Err(error) => panic!("{key}: {error}"),
        }
    }

    pub(crate) fn delete(&self, key: &str) {
        let path = Path::parse(key).unwrap();
        self.runtime.block_on(self.client.delete(&path)).unwrap();
    }

    /// Every key below the prefix.
    pub(crate) fn keys(&self, prefix: &str) -> Vec<String> {
        let prefix = Path::parse(prefix).unwrap();
        let listed = object_store::ObjectStore::list(&self.client, Some(&prefix));
        let found: Vec<_> = self.runtime.block_on(listed.collect());
        let mut keys: Vec<String> = found
            .into_iter()
            .map(|found| found.unwrap().location.to_string())
            .collect();
        keys.sort();
        keys
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // `weed mini` takes seconds to end otherwise.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let endings = self.ports.iter().map(|port| format!("-{port}.sock"));
        let endings: Vec<String> = endings.collect();
        for found in fs::read_dir("/tmp").into_iter().flatten().flatten() {
            let name = found.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("seaweedfs-") && endings.iter().any(|ending| name.ends_with(ending))
            {
                let _ = fs::remove_file(found.path());
            }
        }
    }
}

/// Ten ports that were free just now.
fn free_ports() -> Vec<u16> {
    let held: Vec<TcpListener> = (0..10)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    held.iter()
        .map(|held| held.local_addr().unwrap().port())
        .collect()
}

#[derive(Debug)]
struct Plain;

impl HttpConnector for Plain {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let _ = rustls::crypto::CryptoProvider::install_default((*provider).clone());
        let client = reqwest::Client::builder().timeout(Duration::from_secs(20));
        Ok(HttpClient::new(Requests(client.build().unwrap())))
    }
}

#[derive(Debug)]
struct Requests(reqwest::Client);

impl HttpService for Requests {
    fn call<'s, 'f>(
        &'s self,
        request: HttpRequest,
    ) -> BoxFuture<'f, Result<HttpResponse, HttpError>>
    where
        's: 'f,
        Self: 'f,
    {
        let failure = |error| HttpError::new(HttpErrorKind::Unknown, error);
        async move {
            let request = request.map(reqwest::Body::wrap).try_into();
            let response = self.0.execute(request.map_err(failure)?).await;
            let response = hyper::http::Response::<reqwest::Body>::from(response.map_err(failure)?);
            Ok(response.map(|body| HttpResponseBody::new(body.map_err(failure))))
        }
        .boxed()
    }
}
