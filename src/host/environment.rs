//! The environment of the process: its variables, its user, its program, and where it runs.

use std::{
    env,
    io::{self, IsTerminal as _},
    path::PathBuf,
};

use camino::{Utf8Path, Utf8PathBuf};
use rustix::system::uname;

/// Whether stdin is a terminal: then a person gave the input, or named its file.
pub fn input_is_a_terminal() -> bool {
    io::stdin().is_terminal()
}

/// The effective user of this process.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The user who became root by sudo; `None` if this process is not root.
pub fn user_behind_sudo() -> Option<u32> {
    let said = (user_id() == 0).then(|| variable("SUDO_UID"))?;
    said?.parse().ok()
}

/// The name of this machine, from the kernel.
pub fn name() -> String {
    match uname().nodename().to_string_lossy().trim() {
        "" => "unknown".to_owned(),
        name => name.to_owned(),
    }
}

/// A variable of the environment, if it is set and is Unicode.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]
pub fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// A path in the environment. The error says that it is not UTF-8.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]
pub fn path_variable(name: &str) -> Result<Option<Utf8PathBuf>, String> {
    let unusable = |path: PathBuf| format!("${name} is {}, which is not UTF-8", path.display());
    let path = env::var_os(name).map(PathBuf::from);
    path.map(Utf8PathBuf::from_path_buf)
        .transpose()
        .map_err(unusable)
}

/// The working directory. The error says why there is none.
pub fn working_directory() -> Result<Utf8PathBuf, String> {
    let here = env::current_dir()
        .map_err(|error| format!("the working directory cannot be found: {error}"))?;
    Utf8PathBuf::from_path_buf(here)
        .map_err(|here| format!("the working directory {} is not UTF-8", here.display()))
}

/// The directory for temporary files in which a path lies: that of `$TMPDIR`, or one that systems empty by
/// themselves.
pub fn temporary_directory_of(path: &Utf8Path) -> Option<PathBuf> {
    let usual = ["/tmp", "/var/tmp", "/dev/shm", "/run"].map(PathBuf::from);
    let all = [env::temp_dir()].into_iter().chain(usual);
    all.filter_map(|dir| dir.canonicalize().ok())
        .find(|dir| path.starts_with(dir))
}

/// A path with which this program can be started again while this process lives, also if its file was replaced or
/// removed meanwhile.
pub fn own_program() -> String {
    let path = own_path();
    if path.ends_with(" (deleted)") && !Utf8PathBuf::from(&path).exists() {
        return format!("/proc/{}/exe", std::process::id());
    }
    path
}

pub fn own_path() -> String {
    let path = env::current_exe()
        .ok()
        .and_then(|path| path.into_os_string().into_string().ok());
    path.unwrap_or_else(|| "oneact".to_owned())
}
