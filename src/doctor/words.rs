//! The words for what was found: what it is, what to do about it, and what else is worth seeing.

use std::{fmt, time::Duration};

use super::{
    fact::{Fact, Finding, Gap, Others, Pinned, Subject},
    server::era,
};

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Catalog => f.write_str("catalog"),
            Self::Ledger => f.write_str("ledger"),
            Self::Store => f.write_str("storage"),
            Self::Scratch => f.write_str("scratch"),
            Self::Server(name) => write!(f, "server {name}"),
            Self::Capability(id) => write!(f, "capability {id}"),
        }
    }
}

impl Finding {
    /// What was seen, without the subject.
    pub(crate) fn what(&self) -> String {
        self.secrets.shown(&self.seen())
    }

    #[expect(
        clippy::too_many_lines,
        reason = "a list with one sentence per kind of finding"
    )]
    fn seen(&self) -> String {
        match &self.fact {
            Fact::CatalogGood {
                path,
                capabilities,
                servers,
            } => {
                format!(
                    "{path} is in order: {}, {}",
                    count(*capabilities, "capability", "capabilities"),
                    count(*servers, "server", "servers")
                )
            }
            Fact::CatalogUnusable(text)
            | Fact::EntryUnusable(text)
            | Fact::CapabilityUnknown(text)
            | Fact::LedgerUnusable(text)
            | Fact::StoreUnusable(text)
            | Fact::ScratchUnusable(text) => text.clone(),
            Fact::LedgerGood { place } => format!("{place} can be read and written"),
            Fact::StoreGood { dir, free_bytes } => {
                format!("{dir} can be written to, {} are free", bytes(*free_bytes))
            }
            Fact::StoreNearlyFull { dir, free_bytes } => {
                format!("{dir} has only {} left", bytes(*free_bytes))
            }
            Fact::ScratchGood { dir } => format!("{dir} can be written to, by its owner alone"),
            Fact::ScratchOpen { dir, mode } => {
                format!("{dir} has mode {mode:04o}: other users may look into the files of a run")
            }
            Fact::ScratchLeftOver { dirs } => format!(
                "{} of killed runs",
                count(dirs.len(), "directory", "directories")
            ),
            Fact::VariableUnset { name } => {
                format!("it needs the environment variable {name}, which is not set")
            }
            Fact::DirectoryMissing { dir } => format!("its working directory {dir} is not there"),
            Fact::CommandMissing { program, path } if program.contains('/') => {
                format!("its command {program} is not there (looked for {path})")
            }
            Fact::CommandMissing { program, .. } => {
                format!("its command `{program}` is in no directory of PATH")
            }
            Fact::CommandNotExecutable { path } => {
                format!("its command {path} is no program that this user may execute")
            }
            Fact::ColdStart { program } => {
                format!("`{program}` may look for its package, or fetch it, at every start")
            }
            Fact::ServerGood {
                ready_after,
                protocol,
                name,
                tools,
            } => format!(
                "{} is ready after {} and lists {} (MCP {protocol}, {})",
                name.as_deref().unwrap_or("it"),
                time(*ready_after),
                count(*tools, "tool", "tools"),
                era(protocol),
            ),
            Fact::ServerFailed { error, .. } => self.of_it(error),
            Fact::ProtocolWrong { declared, spoken } => {
                format!("its entry says `protocol = \"{declared}\"`, but it speaks {spoken}")
            }
            Fact::Slow {
                ready_after,
                startup_timeout,
            } => format!(
                "it was ready only after {}, of the {} it has",
                time(*ready_after),
                time(*startup_timeout)
            ),
            Fact::Noise { lines, .. } => format!(
                "it writes to stdout what is no message of the protocol: {}",
                count(
                    usize::try_from(*lines).unwrap_or(usize::MAX),
                    "line",
                    "lines"
                )
            ),
            Fact::EndIgnored { grace } => format!(
                "it did not end within {} of the end of its stdin and had to be signalled",
                time(*grace)
            ),
            Fact::LeftBehind { processes } => format!(
                "it left processes behind, which were ended: {}",
                processes.join(", ")
            ),
            Fact::ToolGood { tool, server } => {
                format!("`{tool}` of {server} is there and takes its parameters")
            }
            Fact::ToolMissing { tool, .. } => format!("its server has no tool `{tool}`"),
            Fact::ToolPin {
                tool,
                pin,
                pinned: Pinned::Yes,
            } => format!("`{tool}` is as it was pinned: {pin}"),
            Fact::ToolPin { tool, pin, .. } => format!("the pin of `{tool}` is {pin}"),
            Fact::ToolChanged { tool, drift, .. } => {
                format!("`{tool}` is not as it was pinned: {drift}")
            }
            Fact::ToolSchemaUnusable { tool, reason } => format!(
                "the input schema of `{tool}` cannot be used, and the entry has none: {reason}"
            ),
            Fact::ParameterUnknown {
                tool,
                parameter,
                others: Others::Refused,
                ..
            } => format!(
                "`{tool}` refuses the parameter `{parameter}`: its input schema does not know it"
            ),
            Fact::ParameterUnknown {
                tool,
                parameter,
                others: Others::Let,
                ..
            } => format!("the input schema of `{tool}` does not know the parameter `{parameter}`"),
            Fact::ParameterMissing {
                tool,
                parameter,
                gap: Gap::Forbidden,
            } => format!(
                "`{tool}` requires `{parameter}`, which the entry neither fills nor lets a task say"
            ),
            Fact::ParameterMissing {
                tool,
                parameter,
                gap: Gap::Optional,
            } => format!("`{tool}` requires `{parameter}`, which the entry lets a task leave out"),
            Fact::EffectsBetter { effect, declared } => format!(
                "the entry says `{effect} = {declared}`, but the server says {}",
                !declared
            ),
            Fact::ProgramMissing { tool, program, .. } => format!(
                "`{tool}` starts the program `{program}`, which is in no directory of its server's PATH"
            ),
        }
    }

    /// A text about a server that begins with its name, which the subject says already.
    fn of_it(&self, text: &str) -> String {
        let Subject::Server(name) = &self.subject else {
            return text.to_owned();
        };
        match text.strip_prefix(&format!("server `{name}`")) {
            Some(rest) => match rest.strip_prefix(": ") {
                Some(rest) => rest.to_owned(),
                None => format!("it{rest}"),
            },
            None => text.to_owned(),
        }
    }

    /// What to do about it; nothing where all is well.
    pub(crate) fn remedy(&self) -> Option<String> {
        self.cure().map(|cure| self.secrets.shown(&cure))
    }

    fn cure(&self) -> Option<String> {
        let entry = match &self.subject {
            Subject::Server(name) => format!("[server.{name}]"),
            Subject::Capability(id) => format!("[capability.{id}]"),
            Subject::Catalog | Subject::Ledger | Subject::Store | Subject::Scratch => {
                "the catalog".to_owned()
            }
        };
        Some(match &self.fact {
            Fact::CatalogGood { .. } | Fact::LedgerGood { .. } | Fact::StoreGood { .. } | Fact::ScratchGood { .. } | Fact::ServerGood { .. } | Fact::ToolGood { .. } | Fact::ToolPin { .. } => return None,
            Fact::CatalogUnusable(_) => "`oneact init` writes a catalog where there is none; docs/catalog.md describes every key".to_owned(),
            Fact::CapabilityUnknown(_) => "correct the id on the command line, or add the capability to the catalog".to_owned(),
            Fact::EntryUnusable(_) => "correct it there; tasks that do not name it run all the same".to_owned(),
            Fact::LedgerUnusable(_) => "nothing that has effects is done while it cannot be written: put it in order, or name another with `[ledger] uri` or $ONEACT_LEDGER".to_owned(),
            Fact::StoreUnusable(_) => "make the directory one that you can write to, or name another with `[storage] uri`".to_owned(),
            Fact::StoreNearlyFull { .. } => "free some space, or name another place with `[storage] uri`".to_owned(),
            Fact::ScratchUnusable(_) => "make it a directory of yours, or name another with $ONEACT_STATE_DIR; no server can be tried without".to_owned(),
            Fact::ScratchOpen { dir, .. } => format!("chmod 700 '{dir}'"),
            Fact::ScratchLeftOver { .. } => "nothing: the next run clears them away, as this examination does".to_owned(),
            Fact::VariableUnset { name } => format!("export {name}, or take it out of `env_pass` in {entry}"),
            Fact::DirectoryMissing { .. } => format!("make it, or correct `cwd` in {entry}"),
            Fact::CommandMissing { .. } => format!("install it, or put the command of a server you have into {entry}"),
            Fact::CommandNotExecutable { path } => format!("chmod +x '{path}', or start it with its interpreter in {entry}"),
            Fact::ColdStart { .. } => format!("install the package and name its program in {entry}: starts are then quick, and always the same version"),
            Fact::ServerFailed { by_hand, .. } => format!("see what it does when started by hand: {by_hand}"),
            Fact::ProtocolWrong { .. } => format!("take `protocol` out of {entry}"),
            Fact::Slow { .. } => format!("raise `startup_timeout` in {entry}: a busy machine needs more"),
            Fact::Noise { .. } => "it is left out here, but other clients may stumble; have the server log to stderr".to_owned(),
            Fact::EndIgnored { .. } => format!("raise `shutdown_grace` in {entry} if it has something to finish; it is ended all the same"),
            Fact::LeftBehind { .. } => "nothing, unless they are meant to stay: oneact ends them with each run".to_owned(),
            Fact::ToolMissing { near, available, .. } => match near.first() {
                Some(first) => format!("did you mean `{first}`? correct `tool` in {entry}"),
                None if available.is_empty() => "it lists no tools at all; look at how it is started".to_owned(),
                None => format!("correct `tool` in {entry}, or name a server there that has it; this one has {}", some(available)),
            },
            Fact::ToolChanged { .. } => format!("find out what has changed, then put the new pin into {entry}"),
            Fact::ToolSchemaUnusable { .. } => format!("add a `parameter_schema_for_action` to {entry}, and report it to the server's author"),
            Fact::ParameterUnknown { parameter, near, .. } => match near.first() {
                Some(first) => format!("did you mean `{first}`? correct `{parameter}` in {entry}"),
                None => format!("take `{parameter}` out of {entry}, or look for a newer version of the server"),
            },
            Fact::ParameterMissing { parameter, gap: Gap::Forbidden, .. } => format!("add `{parameter}` to `bind`, `defaults` or the schema of {entry}"),
            Fact::ParameterMissing { parameter, gap: Gap::Optional, .. } => format!("require `{parameter}` in the schema of {entry}, or give it a default"),
            Fact::ProgramMissing { program, .. } if matches!(program.as_str(), "ffmpeg" | "ffprobe") => "install FFmpeg (Debian: apt-get install ffmpeg), or put it on the server's PATH with `env`".to_owned(),
            Fact::ProgramMissing { program, .. } => format!("install {program}, or put it on the server's PATH with `env`"),
            Fact::EffectsBetter { .. } => format!("ask the server's author who is right; `effects` of {entry} decide whether a lost call may be repeated"),
        })
    }

    /// Lines from elsewhere that help to understand it.
    pub(crate) fn detail(&self) -> Vec<String> {
        let lines = self.lines().into_iter();
        lines.map(|line| self.secrets.shown(&line)).collect()
    }

    fn lines(&self) -> Vec<String> {
        match &self.fact {
            Fact::ServerFailed { stderr: lines, .. } | Fact::Noise { sample: lines, .. } => {
                lines.clone()
            }
            Fact::ScratchLeftOver { dirs } => dirs.iter().map(ToString::to_string).collect(),
            Fact::CommandMissing { program, path } if !program.contains('/') => {
                vec![format!("PATH={path}")]
            }
            Fact::ProgramMissing { path, .. } => vec![format!("PATH={path}")],
            _ => Vec::new(),
        }
    }
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// The first few of many names.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = names.len().saturating_sub(SHOWN);
    if more == 0 {
        shown.join(", ")
    } else {
        format!("{} and {more} more", shown.join(", "))
    }
}

fn time(duration: Duration) -> String {
    if duration < Duration::from_secs(10) {
        format!("{} ms", duration.as_millis())
    } else {
        format!("{} s", duration.as_secs())
    }
}

fn bytes(number: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut unit = "bytes";
    let mut shown = number;
    for larger in UNITS {
        if shown < 1024 {
            break;
        }
        shown /= 1024;
        unit = larger;
    }
    format!("{shown} {unit}")
}
