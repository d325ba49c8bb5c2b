//! Whether a server's command names a program, looked up as its start will look it up.

use camino::{Utf8Path, Utf8PathBuf};

use crate::{assets::health::is_executable, mcp::ServerSpec};

use super::fact::Fact;

/// Programs that look for a package, or fetch it, at each start.
const RUNNERS: [&str; 5] = ["npx", "uvx", "bunx", "pnpx", "pipx"];

/// The program's file; or why there is none.
pub(super) fn find(spec: &ServerSpec) -> Result<Utf8PathBuf, Fact> {
    let program = spec.argv.first().map_or("", String::as_str);
    if program.contains('/') {
        let path = spec.cwd.join(program);
        return match path.symlink_metadata() {
            Err(_) => Err(Fact::CommandMissing {
                program: program.to_owned(),
                path: path.into_string(),
            }),
            Ok(_) if is_executable(&path) => Ok(path),
            Ok(_) => Err(Fact::CommandNotExecutable { path }),
        };
    }
    let path = search_path(spec);
    let candidates = || candidates(spec, program);
    if let Some(found) = candidates().find(|file| is_executable(file)) {
        return Ok(found);
    }
    // A file of that name which cannot be executed is probably the one that was meant.
    Err(match candidates().find(|file| file.is_file()) {
        Some(path) => Fact::CommandNotExecutable { path },
        None => Fact::CommandMissing {
            program: program.to_owned(),
            path: path.to_owned(),
        },
    })
}

/// Where the server looks for programs.
pub(super) fn search_path(spec: &ServerSpec) -> &str {
    let path = spec.env.iter().find(|(name, _)| name == "PATH");
    path.map_or("", |(_, value)| value.as_str())
}

/// The files that a program's name can mean to the server, in the order of trial.
fn candidates(spec: &ServerSpec, program: &str) -> impl Iterator<Item = Utf8PathBuf> {
    let dirs = search_path(spec).split(':');
    dirs.map(move |dir| spec.cwd.join(dir).join(program))
}

/// Whether the server finds a program by its name.
pub(super) fn finds(spec: &ServerSpec, program: &str) -> bool {
    candidates(spec, program).any(|file| is_executable(&file))
}

/// The runner's name, if the server is started through one.
pub(super) fn runner(spec: &ServerSpec) -> Option<String> {
    let program = Utf8Path::new(spec.argv.first()?).file_name()?;
    RUNNERS.contains(&program).then(|| program.to_owned())
}

/// A line for a shell that starts the server as oneact does, but for its environment.
pub(super) fn by_hand(spec: &ServerSpec) -> String {
    let words: Vec<String> = spec.argv.iter().map(|word| quoted(word)).collect();
    format!("cd {} && {}", quoted(spec.cwd.as_str()), words.join(" "))
}

/// A word as a POSIX shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
