//! The binary in a root of its own, with the tools of `tests/servers/toolbox.py`.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read, Write},
    os::unix::{
        fs::{lchown, symlink},
        process::CommandExt,
    },
    process::{Child, Command, Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use camino::{Utf8Path, Utf8PathBuf};
use rustix::process::{Pid, Signal, getuid, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The binary under test: `$ONEACT_BINARY` as it was when the tests were compiled (`scripts/test` names the release
/// build), else the one of the same build.
pub(crate) const ONEACT: &str = match option_env!("ONEACT_BINARY") {
    Some(path) => path,
    None => env!("CARGO_BIN_EXE_oneact"),
};

/// How long something that must happen may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `it` is so.
pub(crate) fn until<T>(what: &str, mut it: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = it() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The key of the S3 servers and the tokens of the suite, which no run may write anywhere (invariant 6).
const SECRETS: [&str; 3] = [
    "testsecret4711bbbbcccc",
    "my-own-token-4711",
    "a-token-of-the-operator",
];

fn assert_no_secret(bytes: &[u8], place: &str) {
    for secret in SECRETS {
        let mut windows = bytes.windows(secret.len());
        let found = windows.any(|window| window == secret.as_bytes());
        assert!(!found, "{secret} is in {place}");
    }
}

/// Whatever a run has written below a directory.
fn assert_no_secret_below(dir: &Utf8Path) {
    for entry in dir.read_dir_utf8().into_iter().flatten().flatten() {
        let path = entry.path();
        let is_link = path.is_symlink();
        if path.is_dir() && !is_link {
            assert_no_secret_below(path);
        } else if path.is_file() && !is_link {
            // What another process removes meanwhile holds nothing.
            assert_no_secret(&fs::read(path).unwrap_or_default(), path.as_str());
        }
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        if !thread::panicking() {
            for dir in [".oneact", "agent_outputs", "agent_logs"] {
                assert_no_secret_below(&self.path.join(dir));
            }
        }
    }
}

/// A root directory with a catalog.
pub(crate) struct Root {
    _dir: TempDir,
    pub(crate) path: Utf8PathBuf,
}

impl Root {
    /// With the catalog of the scenarios.
    pub(crate) fn new() -> Self {
        let catalog =
            Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/scenarios/catalog.toml");
        Self::with_catalog(&fs::read_to_string(catalog).unwrap())
    }

    pub(crate) fn with_catalog(catalog: &str) -> Self {
        let dir = TempDir::with_prefix("oneact-suite-").unwrap();
        let path = Utf8PathBuf::try_from(dir.path().canonicalize().unwrap()).unwrap();
        fs::write(path.join("catalog.toml"), catalog).unwrap();
        let servers = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers");
        symlink(servers, path.join("servers")).unwrap();
        Self { _dir: dir, path }
    }

    /// The binary, to be run here. Signals that the tests were started to ignore, as by `nohup` or in the background
    /// of a script, are not ignored.
    pub(crate) fn command(&self) -> Command {
        let mut command = self.within("/usr/bin/env");
        command.args(["--default-signal=HUP,INT,QUIT", ONEACT]);
        command
    }

    /// The binary, to be run here by a user who is not root, and to whom root gives what is here.
    pub(crate) fn as_nobody(&self) -> Command {
        let program = self.path.join("oneact-here");
        // If this process made the copy, a child of another test could hold it open for writing, and it could not be run.
        let mut copy = self.within("cp");
        let copied = copy.args([ONEACT, program.as_str()]).status().unwrap();
        assert!(copied.success());
        let mut command = self.within(program.as_str());
        if getuid().is_root() {
            let inside = self.path.read_dir_utf8().unwrap().flatten();
            let inside = inside.map(|entry| entry.path().to_owned());
            for path in inside.chain([self.path.clone()]) {
                lchown(path, Some(65534), Some(65534)).unwrap();
            }
            command.uid(65534).gid(65534);
        }
        command
    }

    /// Any program, to be run here with the environment of a run. The root is named, because it is temporary.
    #[expect(
        clippy::disallowed_methods,
        reason = "servers are found on the PATH of the tests"
    )]
    pub(crate) fn within(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.path)
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", &self.path)
            .env("ONEACT_ROOT", &self.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, task: &Value) -> Answer {
        run(self.command(), task.to_string().as_bytes())
    }

    /// A run whose tool has been called and does not answer.
    pub(crate) fn hanging(&self) -> Child {
        let mut child = self.command().spawn().unwrap();
        feed(&mut child, &download("silent"));
        until("the tool is called", || {
            self.scratch().find(|path| path.join("called").exists())
        });
        child
    }

    /// What is in the staging directory.
    pub(crate) fn scratch(&self) -> impl Iterator<Item = Utf8PathBuf> {
        let entries = self.path.join(".oneact/staging").read_dir_utf8();
        let entries = entries.into_iter().flatten().flatten();
        entries.map(|entry| entry.path().to_owned())
    }

    /// The processes that work in this root, or were told of it.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let ours = |dir: &Utf8Path| {
            let cwd = fs::read_link(dir.join("cwd")).unwrap_or_default();
            let environ = fs::read(dir.join("environ")).unwrap_or_default();
            let told = environ
                .windows(self.path.as_str().len())
                .any(|window| window == self.path.as_str().as_bytes());
            told || cwd.starts_with(&self.path)
        };
        let dirs = Utf8Path::new("/proc").read_dir_utf8().unwrap().flatten();
        dirs.filter(|dir| ours(dir.path()))
            .filter_map(|dir| dir.file_name().parse().ok())
            .collect()
    }

    /// The tool servers of a run.
    pub(crate) fn servers_of(&self, run: &Child) -> Vec<i32> {
        let mut all = self.processes();
        all.retain(|pid| u32::try_from(*pid) != Ok(run.id()));
        all
    }

    /// No process, no scratch, no asset.
    pub(crate) fn assert_untouched(&self) {
        assert_eq!(self.processes(), Vec::<i32>::new());
        assert_eq!(self.scratch().next(), None);
        assert!(!self.path.join("agent_outputs").exists());
    }
}

/// Hands a run its task, and ends its stdin.
pub(crate) fn feed(run: &mut Child, task: &Value) {
    let mut stdin = run.stdin.take().unwrap();
    stdin.write_all(task.to_string().as_bytes()).unwrap();
}

/// The task that downloads `https://example-source.com/{what}` as `store_1`.
pub(crate) fn download(what: &str) -> Value {
    task(
        "CAP-ACQ-002",
        &format!("https://example-source.com/{what}"),
        &["store_1"],
    )
}

/// A name that no other delivery has, so that tests about something else do not meet in the ledger.
pub(crate) fn fresh() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("fresh-{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// A task on one source.
pub(crate) fn task(capability: &str, source: &str, expected: &[&str]) -> Value {
    json!({
        "dispatch": {
            "task_id": "task_1", "action": "", "capability_ids": [capability], "attempt": 1,
            "input_refs_resolved": [{"ref_id": "src_1", "storage_uri": source, "status": "reference"}],
            "output_refs_expected": expected, "salt": fresh(),
        },
        "metadata": {"session_id": "sess-1", "request_id": fresh(), "sequence_number": 1},
    })
}

/// What a run came to.
pub(crate) struct Answer {
    pub(crate) envelope: Value,
    pub(crate) exit: i32,
    pub(crate) stderr: String,
}

impl Answer {
    /// stdout must be exactly one line of JSON (R-000-09).
    pub(crate) fn of(output: Output) -> Self {
        assert_no_secret(&output.stdout, "stdout");
        assert_no_secret(&output.stderr, "stderr");
        let stderr = String::from_utf8(output.stderr).unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            stdout.find('\n'),
            Some(stdout.len() - 1),
            "{stdout}\n{stderr}"
        );
        Self {
            envelope: serde_json::from_str(&stdout).unwrap(),
            exit: output.status.code().unwrap(),
            stderr,
        }
    }

    pub(crate) fn at(&self, pointer: &str) -> &Value {
        let found = self.envelope.pointer(pointer);
        found.unwrap_or_else(|| panic!("no {pointer} in {}", self.envelope))
    }

    pub(crate) fn state(&self) -> &Value {
        self.at("/output/content/oneact/state")
    }

    pub(crate) fn fault(&self) -> &Value {
        self.at("/output/content/oneact/fault")
    }

    pub(crate) fn result_data(&self) -> &Value {
        self.at("/output/content/task_result/result_data")
    }
}

/// Runs to the end with that input.
pub(crate) fn run(mut command: Command, input: &[u8]) -> Answer {
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    thread::scope(|scope| {
        // A run that needs no more may be gone before all is written.
        scope.spawn(move || drop(stdin.write_all(input)));
        Answer::of(child.wait_with_output().unwrap())
    })
}

/// Sends a signal to a process.
pub(crate) fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

pub(crate) fn signal_child(child: &Child, number: Signal) {
    signal(i32::try_from(child.id()).unwrap(), number);
}

/// Waits until a signal no longer ends it at once.
pub(crate) fn until_signals_are_caught(child: &Child) {
    let status = format!("/proc/{}/status", child.id());
    until("signals are caught", || {
        let status = fs::read_to_string(&status).ok()?;
        let caught = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))?;
        let caught = u64::from_str_radix(caught.trim(), 16).ok()?;
        (caught & (1 << 14) != 0).then_some(())
    });
}

/// All that a pipe still holds.
pub(crate) fn text(mut pipe: impl Read) -> String {
    let mut text = String::new();
    pipe.read_to_string(&mut text).unwrap();
    text
}

/// Reads a pipe to its end. What it says is shown only if the test fails: a thread of a test prints into what the test
/// runner keeps for it.
#[expect(clippy::print_stderr, reason = "the test runner keeps it")]
pub(crate) fn told_on_failure(pipe: impl Read + Send + 'static) {
    thread::spawn(move || {
        let mut lines = BufReader::new(pipe);
        let mut line = Vec::new();
        while lines
            .read_until(b'\n', &mut line)
            .is_ok_and(|read| read > 0)
        {
            eprint!("{}", String::from_utf8_lossy(&line));
            line.clear();
        }
    });
}
