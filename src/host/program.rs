//! A program that can be started.

use std::{
    os::unix::process::CommandExt,
    process::{Command, Stdio},
};

use camino::Utf8PathBuf;

use super::environment::variable;

#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments. A name without a slash is looked up in the `PATH` of `env`, one with a slash is
    /// taken relative to `cwd`.
    pub argv: Vec<String>,
    pub cwd: Utf8PathBuf,
    /// The whole environment of the program: nothing of ours is inherited.
    pub env: Vec<(String, String)>,
}

/// The variables that every started program gets. A server gets others only if its entry names them.
const BASE: [&str; 12] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TZ",
    "USER",
];

/// The environment of a program that gets no variables of the operator's choice.
pub fn plain_environment() -> Vec<(String, String)> {
    let named = |name: &&str| Some(((*name).to_owned(), variable(name)?));
    BASE.iter().filter_map(named).collect()
}

impl Program {
    /// A program that is not configured by the keys of a server. The field of a new key gets its default here.
    pub fn new(argv: Vec<String>, cwd: Utf8PathBuf, env: Vec<(String, String)>) -> Self {
        Self { argv, cwd, env }
    }

    /// Its own process group and a pipe for its standard input; `None` if no program is named.
    pub(super) fn command(&self) -> Option<Command> {
        let (name, arguments) = self.argv.split_first()?;
        let mut command = Command::new(name);
        command
            .args(arguments)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.cwd)
            .process_group(0)
            .stdin(Stdio::piped());
        Some(command)
    }
}
