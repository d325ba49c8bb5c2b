//! One run of the binary in a root of its own.

use std::{
    fs,
    io::{Read, Write},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use jiff::Zoned;
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::{
    folder::Folder,
    special::{self, Facts},
    tree::{self, Tree},
};

/// The binary under test, as in the suite.
const ONEACT: &str = match option_env!("ONEACT_BINARY") {
    Some(path) => path,
    None => env!("CARGO_BIN_EXE_oneact"),
};
const CLOCK: &str = "2026-02-24T10:00:00+08:00[Asia/Singapore]";

/// Far more than any scenario needs: only a hang gets here.
const LONGEST: Duration = Duration::from_mins(1);

/// What a run came to. Texts have `[ROOT]`, `[ONEACT]` and `[DUCKDB]` where paths of this machine stood.
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit: i32,
    pub(crate) before: Tree,
    pub(crate) after: Tree,
    pub(crate) facts_before: Facts,
    pub(crate) facts: Facts,
    /// Processes that belong to this root and still live.
    pub(crate) left: Vec<String>,
    /// What is in `.oneact/staging`.
    pub(crate) staging: Vec<String>,
}

pub(crate) fn run(folder: &Folder) -> Result<Ran> {
    let temporary = TempDir::with_prefix("oneact-scenario-")?;
    let root = Utf8PathBuf::try_from(temporary.path().canonicalize()?)?;
    let facts_before = furnish(&root, folder)?;
    let before = seen(&root)?;
    let fill = |text: &str| text.replace("[ROOT]", root.as_str());
    let args: Vec<String> = folder.args.iter().map(|arg| fill(arg)).collect();
    let mut command = Command::new(ONEACT);
    command.env_clear().current_dir(&root).process_group(0);
    command.env("PATH", path()).env("HOME", &root);
    // The root is temporary, so it is named.
    command.env("ONEACT_ROOT", &root);
    command.env("ONEACT_DUCKDB", duckdb());
    command.envs(folder.env.iter().map(|(name, value)| (name, fill(value))));
    let given = |flag: &str| args.iter().any(|arg| arg == flag);
    command.args(&args);
    if !given("--clock") {
        command.args(["--clock", CLOCK]);
    }
    if !given("--seed") {
        command.args(["--seed", "1"]);
    }
    let task = match std::str::from_utf8(&folder.task) {
        Ok(text) => fill(text).into_bytes(),
        Err(_) => folder.task.clone(),
    };
    let (stdout, stderr, exit) = finish(&mut command, task)?;
    let left = processes(&root)?;
    let shown = |bytes: Vec<u8>| -> Result<String> {
        let text = String::from_utf8(bytes).context("the output is not UTF-8")?;
        Ok(show(&text, &root))
    };
    let staging = tree::read(&root.join(".oneact/staging"))?;
    Ok(Ran {
        stdout: shown(stdout)?,
        stderr: shown(stderr)?,
        exit,
        before,
        after: seen(&root)?,
        facts_before,
        facts: special::facts(&root, age()?)?,
        left,
        staging: staging.into_keys().map(Utf8PathBuf::into_string).collect(),
    })
}

/// What a scenario tells of a root.
fn seen(root: &Utf8Path) -> Result<Tree> {
    let mut tree = tree::read(root)?;
    tree.retain(|path, _| {
        let journal = path.starts_with("agent_outputs/reports") && path.ends_with("journal");
        path != "catalog.toml" && path != "servers" && !path.starts_with(".oneact") && !journal
    });
    for bytes in tree.values_mut() {
        if let Ok(text) = std::str::from_utf8(bytes) {
            *bytes = show(text, root).into_bytes();
        }
    }
    Ok(tree)
}

fn show(text: &str, root: &Utf8Path) -> String {
    text.replace(root.as_str(), "[ROOT]")
        .replace(ONEACT, "[ONEACT]")
        .replace(&duckdb(), "[DUCKDB]")
}

fn furnish(root: &Utf8Path, folder: &Folder) -> Result<Facts> {
    let servers = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers");
    std::os::unix::fs::symlink(servers, root.join("servers"))?;
    let catalog = folder.catalog.replace("[ROOT]", root.as_str());
    fs::write(root.join("catalog.toml"), catalog)?;
    for given in [&folder.before, &folder.files] {
        tree::write(root, given)?;
    }
    for special in &folder.setup {
        special.furnish(root)?;
    }
    special::age(root, age()?)
}

/// When everything was last changed: one hour before the run.
fn age() -> Result<SystemTime> {
    let clock: Zoned = CLOCK.parse()?;
    Ok(SystemTime::from(clock.timestamp()) - Duration::from_hours(1))
}

#[expect(
    clippy::disallowed_methods,
    reason = "tool servers are found on this machine's PATH"
)]
fn path() -> String {
    std::env::var("PATH").unwrap_or_default()
}

/// DuckDB's library, as `scripts/setup-tests` installs it.
#[expect(
    clippy::disallowed_methods,
    reason = "scripts/setup-tests reads it too"
)]
fn duckdb() -> String {
    let servers = std::env::var("ONEACT_TEST_SERVERS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/target/test-servers").to_owned());
    format!("{servers}/duckdb_1.5.6/node_modules/@duckdb/node-bindings-linux-x64/libduckdb.so")
}

/// Feeds the task, waits for the end, and takes what was printed.
fn finish(command: &mut Command, task: Vec<u8>) -> Result<(Vec<u8>, Vec<u8>, i32)> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start oneact")?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    // A run that needs no input may be gone before it is written.
    let feeder = thread::spawn(move || drop(stdin.write_all(&task)));
    let stdout = drain(child.stdout.take().context("no stdout")?);
    let stderr = drain(child.stderr.take().context("no stderr")?);
    let status = wait(&mut child)?;
    let all = |reader: thread::JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
    drop(feeder.join());
    let code = status
        .code()
        .with_context(|| format!("oneact ended with {status}"))?;
    Ok((all(stdout), all(stderr), code))
}

fn drain(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before an error is what there is to show.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

fn wait(child: &mut Child) -> Result<std::process::ExitStatus> {
    let begun = Instant::now();
    while begun.elapsed() < LONGEST {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(Duration::from_millis(5));
    }
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        kill_process_group(group, Signal::KILL)?;
    }
    child.wait()?;
    bail!("oneact did not end within {} s", LONGEST.as_secs())
}

/// The processes that work in this root, or were told of it.
fn processes(root: &Utf8Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let dir = entry?.path();
        let cwd = fs::read_link(dir.join("cwd")).unwrap_or_default();
        let environ = fs::read(dir.join("environ")).unwrap_or_default();
        let told = environ
            .windows(root.as_str().len())
            .any(|window| window == root.as_str().as_bytes());
        if told || cwd.starts_with(root) {
            let line = fs::read(dir.join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            found.push(format!("{} {}", dir.display(), line.trim()));
        }
    }
    Ok(found)
}
