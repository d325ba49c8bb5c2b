//! A PostgreSQL of our own: in a temporary directory, on a free port, gone with the test process however
//! that ends.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

/// The owner of every database here.
const OWNER: &str = "oneact";
pub(crate) const PASSWORD: &str = "correct?horse";

/// Who signed the server's certificate, which is for `localhost`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signed {
    ByAuthority,
    ByItself,
}

/// Runs the server until nobody holds its stdin any longer, then removes all of it. $1 directory, $2 port,
/// $3 directory of the programs; as the user `postgres` where it would be root.
const KEEPER: &str = r#"
trap '' INT TERM HUP
cd "$1" || exit 1
if [ "$(id -u)" = 0 ]; then chown -R postgres . && as="setpriv --reuid=postgres --regid=postgres --clear-groups"; fi
$as "$3/initdb" -D data -U oneact --no-sync -A trust --auth-host=scram-sha-256 --pwfile=password \
  -E UTF8 --locale=C >log 2>&1 || { echo failed; exit 1; }
$as "$3/postgres" -D data -k "$1" -p "$2" -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=60 \
  -c ssl=on -c ssl_cert_file="$1/server.crt" -c ssl_key_file="$1/server.key" >>log 2>&1 &
server=$!
for _ in $(seq 300); do
  "$3/pg_isready" -q -h "$1" -p "$2" && break
  kill -0 $server 2>/dev/null || { echo failed; exit 1; }
  sleep 0.05
done
echo ready
read -r _
kill -QUIT $server 2>/dev/null
wait $server
cd / && rm -rf "$1"
"#;

/// Makes server.crt and server.key, and root.crt, which signed it; $1 says how.
const CERTIFICATES: &str = r#"
set -e
key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3"
if [ "$1" = ByItself ]; then
  openssl req -x509 $key -keyout server.key -out server.crt -subj /CN=localhost -addext subjectAltName=DNS:localhost
  cp server.crt root.crt
else
  openssl req -x509 $key -keyout root.key -out root.crt -subj /CN=authority
  openssl req -new $key -keyout server.key -out server.csr -subj /CN=localhost
  echo subjectAltName=DNS:localhost >names
  openssl x509 -req -in server.csr -CA root.crt -CAkey root.key -CAcreateserial -days 3 -extfile names -out server.crt
fi
chmod 600 server.key
"#;

/// A running server.
pub(crate) struct Cluster {
    pub(crate) dir: PathBuf,
    pub(crate) port: u16,
    programs: PathBuf,
    keeper: Child,
    /// Closed, the keeper ends the server; also when this process is killed.
    stdin: Option<ChildStdin>,
}

impl Cluster {
    /// The one of this test process.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(Signed::ByAuthority))
    }

    /// Another one, for tests that stop it.
    pub(crate) fn start(signed: Signed) -> Self {
        let programs = programs();
        for _ in 0..3 {
            let dir = tempfile::Builder::new()
                .prefix("oneact-pg-")
                .tempdir_in("/tmp")
                .unwrap()
                .keep();
            fs::write(dir.join("password"), PASSWORD).unwrap();
            let made = Command::new("sh")
                .args(["-c", CERTIFICATES, "sh", &format!("{signed:?}")])
                .current_dir(&dir)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&made.stderr);
            assert!(made.status.success(), "openssl: {said}");
            let port = free_port();
            let mut keeper = Command::new("sh")
                .args(["-c", KEEPER, "sh"])
                .arg(&dir)
                .arg(port.to_string())
                .arg(&programs)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut line = String::new();
            BufReader::new(keeper.stdout.take().unwrap())
                .read_line(&mut line)
                .unwrap();
            if line.trim() == "ready" {
                let stdin = keeper.stdin.take();
                return Self {
                    dir,
                    port,
                    programs,
                    keeper,
                    stdin,
                };
            }
            keeper.wait().unwrap();
            // The port may have been taken in between.
            let log = fs::read_to_string(dir.join("log")).unwrap_or_default();
            let _ = fs::remove_dir_all(&dir);
            assert!(
                log.contains("could not bind") || log.contains("could not create any TCP"),
                "PostgreSQL does not start:\n{log}"
            );
        }
        panic!("no port is free for PostgreSQL")
    }

    /// A new empty database: its name.
    pub(crate) fn database(&self) -> String {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("db{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        name
    }

    /// Over the socket, as the owner.
    pub(crate) fn uri(&self, database: &str) -> String {
        self.uri_of(OWNER, database)
    }

    /// Over the socket, as that user.
    pub(crate) fn uri_of(&self, user: &str, database: &str) -> String {
        let dir = self.dir.to_str().unwrap().replace('/', "%2F");
        format!("postgres://{user}@{dir}:{}/{database}", self.port)
    }

    /// Over the network, with the password; `keys` is `sslmode=…` and such.
    pub(crate) fn network_uri(&self, host: &str, database: &str, keys: &str) -> String {
        let password = PASSWORD.replace('?', "%3F");
        format!(
            "postgres://{OWNER}:{password}@{host}:{}/{database}?{keys}",
            self.port
        )
    }

    /// What `psql` answers to a statement; columns are parted by `|`.
    pub(crate) fn sql(&self, database: &str, statement: &str) -> String {
        self.try_sql(database, statement)
            .unwrap_or_else(|error| panic!("{statement}: {error}"))
    }

    /// The same, or what went wrong.
    pub(crate) fn try_sql(&self, database: &str, statement: &str) -> Result<String, String> {
        let mut psql = self.psql(database);
        let answer = psql.args(["-c", statement]).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
        if answer.status.success() {
            Ok(text(answer.stdout))
        } else {
            Err(text(answer.stderr))
        }
    }

    /// A `psql` for that database, as the owner.
    pub(crate) fn psql(&self, database: &str) -> Command {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-U", OWNER])
            .arg("-h")
            .arg(&self.dir)
            .args(["-p", &self.port.to_string(), "-d", database]);
        psql
    }

    /// Ends the server at once, as a power failure does.
    pub(crate) fn stop(&mut self) {
        drop(self.stdin.take());
        self.keeper.wait().unwrap();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Where the newest PostgreSQL has its programs: Debian puts them into no path.
fn programs() -> PathBuf {
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut found: Vec<(u32, PathBuf)> = debian
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let version = path.file_name()?.to_str()?.parse().ok()?;
            Some((version, path.join("bin")))
        })
        .filter(|(_, bin)| bin.join("initdb").is_file())
        .collect();
    found.sort();
    let elsewhere = ["/usr/local/bin", "/usr/bin", "/usr/local/pgsql/bin"].map(Path::new);
    found
        .pop()
        .map(|(_, bin)| bin)
        .or_else(|| {
            let bin = elsewhere.iter().find(|bin| bin.join("initdb").is_file());
            bin.map(|bin| bin.to_path_buf())
        })
        .expect("PostgreSQL is not installed: run scripts/setup-tests")
}
