//! A server, looked at from outside and then started for real.

use std::time::Duration;

use camino::Utf8Path;
use serde_json::Value;

use crate::{
    catalog::{Entry, Server},
    executor, host,
    mcp::{CallError, Inspection, Parting, ServerSpec, inspect},
    task::Protocol,
};

use super::{
    Doctor, command,
    fact::{Fact, Subject},
};

/// What is known of a server that was started.
#[derive(Debug)]
pub(crate) struct ServerFacts {
    pub(crate) name: String,
    pub(crate) command: Vec<String>,
    /// The file that `command` names.
    pub(crate) program: String,
    /// None if it never was.
    pub(crate) ready_after: Option<Duration>,
    /// Negotiated, such as `2025-11-25`.
    pub(crate) protocol: Option<String>,
    /// As it calls itself.
    pub(crate) info: Option<(String, String)>,
    pub(crate) tools: Vec<ToolFacts>,
    /// Such as `exit code 0`.
    pub(crate) ended: Option<String>,
    pub(crate) stderr_bytes: u64,
    pub(crate) noise_lines: u64,
}

/// A tool, as its server lists it.
#[derive(Debug)]
pub(crate) struct ToolFacts {
    pub(crate) name: String,
    /// Every keyword of it, but no secret.
    pub(crate) input_schema: Option<Value>,
}

impl ServerFacts {
    /// `legacy` (with `initialize`) or `modern`; none before the handshake.
    pub(crate) fn era(&self) -> Option<&'static str> {
        self.protocol.as_deref().map(era)
    }
}

/// The era of a version; versions are dates, and compare as such.
pub(super) fn era(version: &str) -> &'static str {
    if version < "2026-07-28" {
        "legacy"
    } else {
        "modern"
    }
}

/// The last lines of stderr that are shown, and the first of noise.
const LINES: usize = 5;

impl Doctor<'_> {
    /// Looks at a server, starts it, and compares its tools with the entries that use it.
    pub(super) fn server(&mut self, server: &Server, users: &[&Entry], scratch: &Utf8Path) {
        let subject = Subject::Server(server.name.clone());
        let Some((spec, program)) = self.launch(server, scratch) else {
            return;
        };
        self.secrets = spec.secrets.clone();
        let mut inspection = inspect(&spec, self.host);
        if matches!(inspection.result, Err(CallError::Cancelled { .. })) {
            return;
        }
        if let Some((spoken, better)) = self.otherwise(&spec, &inspection) {
            let declared = spec.protocol.name();
            self.note(subject.clone(), Fact::ProtocolWrong { declared, spoken });
            inspection = better;
        }
        self.remember(&spec, &program, &inspection);
        self.course(&subject, &spec, &inspection);
        if let Ok(tools) = &inspection.result {
            for entry in users {
                self.capability(entry, tools, &spec);
            }
        }
    }

    /// What can be told without a start; nothing if it cannot be started.
    fn launch(&mut self, server: &Server, scratch: &Utf8Path) -> Option<(ServerSpec, String)> {
        let subject = Subject::Server(server.name.clone());
        let unset = |name: &&String| host::variable(name).is_none();
        let unset: Vec<&String> = server.env_pass.iter().filter(unset).collect();
        for name in &unset {
            let name = (*name).clone();
            self.note(subject.clone(), Fact::VariableUnset { name });
        }
        if !unset.is_empty() {
            return None;
        }
        let spec = match executor::launch(server, &self.setup.root, scratch) {
            Ok(launch) => launch.spec().clone(),
            Err(failure) => {
                self.note(subject, Fact::EntryUnusable(failure.message));
                return None;
            }
        };
        if !spec.cwd.is_dir() {
            self.note(subject, Fact::DirectoryMissing { dir: spec.cwd });
            return None;
        }
        if let Some(program) = command::runner(&spec) {
            self.note(subject.clone(), Fact::ColdStart { program });
        }
        match command::find(&spec) {
            Ok(program) => Some((spec, program.into_string())),
            Err(fact) => {
                self.note(subject, fact);
                None
            }
        }
    }

    /// A server that failed in the era its entry names, tried in any: what it speaks then.
    fn otherwise(&self, spec: &ServerSpec, failed: &Inspection) -> Option<(String, Inspection)> {
        let started = !matches!(
            failed.result,
            Ok(_) | Err(CallError::NotFound { .. } | CallError::SpawnFailed { .. })
        );
        if !started || spec.protocol == Protocol::Auto {
            return None;
        }
        let auto = ServerSpec {
            protocol: Protocol::Auto,
            ..spec.clone()
        };
        let again = inspect(&auto, self.host);
        let spoken = again.report.protocol.clone();
        spoken
            .filter(|_| again.result.is_ok())
            .map(|spoken| (spoken, again))
    }

    /// How it started, talked and ended.
    fn course(&mut self, subject: &Subject, spec: &ServerSpec, seen: &Inspection) {
        let report = &seen.report;
        match &seen.result {
            Ok(tools) => {
                let fact = Fact::ServerGood {
                    ready_after: seen.ready_after.unwrap_or_default(),
                    protocol: report.protocol.clone().unwrap_or_default(),
                    name: named(report.server_info.as_ref()),
                    tools: tools.len(),
                };
                self.note(subject.clone(), fact);
            }
            Err(error) => {
                let fact = Fact::ServerFailed {
                    error: error.to_string(),
                    by_hand: command::by_hand(spec),
                    stderr: last(&report.stderr_tail),
                };
                self.note(subject.clone(), fact);
            }
        }
        if let Some(ready_after) = seen.ready_after
            && ready_after > spec.startup_timeout / 2
        {
            let fact = Fact::Slow {
                ready_after,
                startup_timeout: spec.startup_timeout,
            };
            self.note(subject.clone(), fact);
        }
        if report.stdout_noise.lines > 0 {
            let sample = report.stdout_noise.sample.lines().take(LINES);
            let fact = Fact::Noise {
                lines: report.stdout_noise.lines,
                sample: sample.map(str::to_owned).collect(),
            };
            self.note(subject.clone(), fact);
        }
        if report.parting == Parting::Helped {
            let grace = spec.shutdown_grace;
            self.note(subject.clone(), Fact::EndIgnored { grace });
        }
        if !report.killed.is_empty() {
            let processes = report.killed.iter();
            let processes = processes.map(|each| format!("{} ({})", each.name, each.pid));
            let processes = processes.collect();
            self.note(subject.clone(), Fact::LeftBehind { processes });
        }
    }

    fn remember(&mut self, spec: &ServerSpec, program: &str, seen: &Inspection) {
        let report = &seen.report;
        let shown = |schema: &Value| spec.secrets.cut_value(schema.clone());
        let tools = seen.result.iter().flatten().map(|tool| ToolFacts {
            name: spec.secrets.shown(&tool.name),
            input_schema: tool.input_schema.as_ref().map(shown),
        });
        self.diagnosis.servers.push(ServerFacts {
            name: spec.name.clone(),
            command: spec.argv.clone(),
            program: program.to_owned(),
            ready_after: seen.ready_after,
            protocol: report.protocol.clone(),
            info: report.server_info.clone(),
            tools: tools.collect(),
            ended: report.exit_status.map(|status| status.to_string()),
            stderr_bytes: report.stderr_bytes,
            noise_lines: report.stdout_noise.lines,
        });
    }
}

fn named(info: Option<&(String, String)>) -> Option<String> {
    info.map(|(name, version)| format!("{name} {version}"))
}

/// The last lines that say something.
fn last(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let start = lines.len().saturating_sub(LINES);
    lines.into_iter().skip(start).map(str::to_owned).collect()
}
