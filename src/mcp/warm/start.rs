//! What a run and the holder of a warm server say to each other, and how the server is started.

use std::{fs, os::unix::fs::MetadataExt, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::{
    host::Program,
    mcp::{
        peer::Peer,
        spec::{ServerSpec, Warm},
    },
    task::{SCRATCH, hexadecimal},
};

/// The only argument of a holder.
pub(crate) const HOLD: &str = "@holds";

/// What a run asks of a holder.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ask {
    /// The first message to a new holder: start this server, and lend it.
    Start(Box<Start>),
    /// Lend the server for a call, if it was started in the way that has this digest.
    Borrow(String),
    /// The server is sound; what was agreed with it.
    Back(Option<Peer>),
    About,
    /// End the server, after its call; if a name is given, only the server of that name.
    Stop(Option<String>),
}

/// What a holder answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Told {
    /// With the server's stdin, stdout and stderr, and a handle of its process.
    Lent(Lent),
    /// Another run has it.
    Busy,
    /// The server was started in another way, or is to stop; it ends now.
    Ends,
    /// The server did not start.
    Failed(String),
    About(About),
}

/// A warm server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) root: Utf8PathBuf,
    /// For people: nothing is decided by it.
    pub(crate) pid: i32,
    /// How many runs have borrowed it.
    pub(crate) uses: u64,
    pub(crate) age: Duration,
    /// For how long nobody has called it. None while a run has it.
    pub(crate) idle: Option<Duration>,
    pub(crate) idle_limit: Duration,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Lent {
    /// None before the first handshake.
    pub(super) peer: Option<Peer>,
    /// How many runs have used it before.
    pub(super) uses: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    pub(super) name: String,
    pub(super) root: Utf8PathBuf,
    pub(super) state_dir: Utf8PathBuf,
    /// The name of the socket.
    pub(super) socket: String,
    pub(super) argv: Vec<String>,
    pub(super) cwd: Utf8PathBuf,
    pub(super) env: Vec<(String, String)>,
    pub(super) digest: String,
    pub(super) idle: Duration,
    pub(super) shutdown_grace: Duration,
}

impl Start {
    pub(super) fn new(spec: &ServerSpec, program: &Program, warm: &Warm, socket: String) -> Self {
        Self {
            name: spec.name.clone(),
            root: warm.root.clone(),
            state_dir: warm.state_dir.clone(),
            socket,
            argv: program.argv.clone(),
            cwd: program.cwd.clone(),
            env: program.env.clone(),
            digest: digest(spec, program),
            idle: warm.idle,
            shutdown_grace: spec.shutdown_grace,
        }
    }

    /// The program, with a scratch directory of its own in place of that of the run.
    pub(super) fn program(&self, scratch: &Utf8Path) -> Program {
        let of_run = scratch_of(&self.env).map(str::to_owned);
        let moved = |(name, value): &(String, String)| {
            let is_scratch = of_run.as_ref() == Some(value);
            let value = if is_scratch { scratch.as_str() } else { value };
            (name.clone(), value.to_owned())
        };
        let env = self.env.iter().map(moved).collect();
        Program::new(self.argv.clone(), self.cwd.clone(), env)
    }
}

/// The name of a socket: of one root and one name of a server.
pub(super) fn socket_name(spec: &ServerSpec, warm: &Warm, slot: u32) -> String {
    let text = format!("{}\0{}", warm.root, spec.name);
    let hash = blake3::hash(text.as_bytes());
    let short = hash.as_bytes().get(..8).unwrap_or_default();
    format!("{}-{slot}", hexadecimal(short))
}

fn scratch_of(env: &[(String, String)]) -> Option<&str> {
    let own = env.iter().find(|(name, _)| name == SCRATCH);
    own.map(|(_, value)| value.as_str())
}

/// Identifies the way in which a server is started: its argv, directory and environment, the protocol, and the state of
/// the programs that its argv names. The scratch directory of the run is left out, and the terminal, which no server sees.
pub(super) fn digest(spec: &ServerSpec, program: &Program) -> String {
    let mut hash = blake3::Hasher::new();
    let mut put = |text: &str| {
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    put(program.cwd.as_str());
    put(&format!("{:?} {}", spec.protocol, spec.max_message_bytes));
    for word in &program.argv {
        put(word);
        put(&facts(word, program));
    }
    let scratch = scratch_of(&program.env);
    for (name, value) in &program.env {
        if scratch != Some(value) && name != "TERM" {
            put(name);
            put(value);
        }
    }
    hexadecimal(hash.finalize().as_bytes())
}

/// The endings of the names of programs that are no executable files.
const SCRIPTS: [&str; 12] = [
    "cjs", "jar", "js", "mjs", "mts", "php", "pl", "py", "pyz", "rb", "sh", "ts",
];

/// Which program or script a word of an argv names, and when it was changed last. Empty if it names none: a server may
/// change its data files itself.
fn facts(word: &str, program: &Program) -> String {
    let beside = program.cwd.join(word);
    let path = program.env.iter().find(|(name, _)| name == "PATH");
    let on_path = path.iter().flat_map(|(_, dirs)| dirs.split(':'));
    let on_path = on_path.map(|dir| Utf8Path::new(dir).join(word));
    let named = !word.contains('/') && program.argv.first().is_some_and(|first| first == word);
    let is_script = beside.extension().is_some_and(|end| SCRIPTS.contains(&end));
    let runs = |file: &fs::Metadata| file.is_file() && (is_script || file.mode() & 0o111 != 0);
    let mut candidates = on_path.filter(|_| named).chain([beside.clone()]);
    let file = candidates.find_map(|path| fs::metadata(path).ok().filter(runs));
    file.map_or_else(String::new, |file| {
        let (dev, ino, size) = (file.dev(), file.ino(), file.size());
        let (changed, nanoseconds) = (file.ctime(), file.ctime_nsec());
        format!("{dev} {ino} {size} {changed} {nanoseconds}")
    })
}
