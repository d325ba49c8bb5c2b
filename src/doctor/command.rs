//! Looks up the program of a server's command, as the start of the server does.

use camino::{Utf8Path, Utf8PathBuf};

use crate::{assets::health::is_executable, mcp::ServerSpec};

use super::{About, Finding, Kind, Subject};

/// Programs that look for a package, or fetch it, at each start.
const RUNNERS: [&str; 5] = ["npx", "uvx", "bunx", "pnpx", "pipx"];

/// The path of the program, or a finding that says why there is none.
pub(super) fn find(spec: &ServerSpec) -> Result<Utf8PathBuf, Finding> {
    let program = spec.program.argv.first().map_or("", String::as_str);
    let (mut found, shown) = if program.contains('/') {
        let path = spec.program.cwd.join(program);
        let shown = format!("{program} does not exist (oneact looked for {path})");
        (vec![path], shown)
    } else {
        let shown = format!("`{program}` is in no directory of PATH");
        (candidates(spec, program).collect(), shown)
    };
    if let Some(at) = found.iter().position(|file| is_executable(file)) {
        return Ok(found.swap_remove(at));
    }
    let about = Subject::named(About::Server, &spec.name);
    let entry = format!("[server.{}]", spec.name);
    // A file of that name which cannot be executed is probably the one that was meant.
    let named = program.contains('/');
    let meant = |file: &&Utf8PathBuf| file.is_file() || named && file.symlink_metadata().is_ok();
    if let Some(path) = found.iter().find(meant) {
        return Err(Finding::problem(
            &about,
            Kind::CommandNotExecutable,
            format!("its command {path} is not a program that this user may execute"),
            format!("chmod +x '{path}', or start it with its interpreter in {entry}"),
        ));
    }
    let missing = Finding::problem(
        &about,
        Kind::CommandMissing,
        format!("its command {shown}"),
        format!("install it, or write the command of an installed server into {entry}"),
    );
    Err(if named {
        missing
    } else {
        missing.with(vec![format!("PATH={}", search_path(spec))])
    })
}

/// The server's `PATH`; empty if it has none.
pub(super) fn search_path(spec: &ServerSpec) -> &str {
    let path = spec.program.env.iter().find(|(name, _)| name == "PATH");
    path.map_or("", |(_, value)| value.as_str())
}

/// The paths that `PATH` gives for a program's name, in the order of the search.
fn candidates(spec: &ServerSpec, program: &str) -> impl Iterator<Item = Utf8PathBuf> {
    let dirs = search_path(spec).split(':');
    dirs.map(move |dir| spec.program.cwd.join(dir).join(program))
}

pub(super) fn finds(spec: &ServerSpec, program: &str) -> bool {
    candidates(spec, program).any(|file| is_executable(&file))
}

/// The runner's name, if the server is started through one.
pub(super) fn runner(spec: &ServerSpec) -> Option<String> {
    let program = Utf8Path::new(spec.program.argv.first()?).file_name()?;
    RUNNERS.contains(&program).then(|| program.to_owned())
}

/// A shell command that starts the server as oneact does, except for the environment.
pub(super) fn by_hand(spec: &ServerSpec) -> String {
    let words: Vec<String> = spec.program.argv.iter().map(|word| quoted(word)).collect();
    format!(
        "cd {} && {}",
        quoted(spec.program.cwd.as_str()),
        words.join(" ")
    )
}

/// A word, quoted for a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
