//! An examination as JSON: one document, described by `schemas/doctor.schema.json`.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::{
    doctor::{Diagnosis, Finding, Level, ServerFacts, Setup, Subject, ToolFacts},
    task::{redact_presigned, redact_value},
};

/// The document.
#[derive(Debug, Serialize)]
pub(super) struct Report<'a> {
    oneact: &'static str,
    root: &'a str,
    catalog: &'a str,
    state_dir: &'a str,
    verdict: &'static str,
    problems: usize,
    warnings: usize,
    not_ready: Vec<&'a str>,
    findings: Vec<Found<'a>>,
    servers: Vec<Started<'a>>,
}

#[derive(Debug, Serialize)]
struct Found<'a> {
    level: &'static str,
    finding: &'static str,
    subject: About<'a>,
    what: String,
    remedy: Option<String>,
    detail: Vec<String>,
}

#[derive(Debug, Serialize)]
struct About<'a> {
    kind: &'static str,
    name: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Started<'a> {
    name: &'a str,
    command: Vec<Cow<'a, str>>,
    program: &'a str,
    ready_after_ms: Option<u128>,
    protocol: Option<Cow<'a, str>>,
    era: Option<&'static str>,
    server_name: Option<Cow<'a, str>>,
    server_version: Option<Cow<'a, str>>,
    tools: Vec<Listed<'a>>,
    ended: Option<Cow<'a, str>>,
    stderr_bytes: u64,
    noise_lines: u64,
}

#[derive(Debug, Serialize)]
struct Listed<'a> {
    name: Cow<'a, str>,
    input_schema: Option<Value>,
}

impl<'a> Report<'a> {
    pub(super) fn new(setup: &'a Setup, diagnosis: &'a Diagnosis) -> Self {
        let problems = diagnosis.count(Level::Problem);
        Self {
            oneact: env!("CARGO_PKG_VERSION"),
            root: setup.root.as_str(),
            catalog: setup.catalog.as_str(),
            state_dir: setup.state_dir.as_str(),
            verdict: match diagnosis.interrupted {
                Some(_) => "interrupted",
                None if problems > 0 => "wrong",
                None => "well",
            },
            problems,
            warnings: diagnosis.count(Level::Warning),
            not_ready: diagnosis.not_ready(),
            findings: diagnosis.findings.iter().map(found).collect(),
            servers: diagnosis.servers.iter().map(started).collect(),
        }
    }

    /// On one line.
    pub(super) fn to_json(&self) -> Vec<u8> {
        // Texts, numbers and lists always serialize.
        let mut json = serde_json::to_vec(self).unwrap_or_default();
        json.push(b'\n');
        json
    }
}

fn found(finding: &Finding) -> Found<'_> {
    let (kind, name) = match &finding.subject {
        Subject::Catalog => ("catalog", None),
        Subject::Ledger => ("ledger", None),
        Subject::Store => ("storage", None),
        Subject::Scratch => ("scratch", None),
        Subject::Server(name) => ("server", Some(name.as_str())),
        Subject::Capability(id) => ("capability", Some(id.as_str())),
    };
    Found {
        level: match finding.fact.level() {
            Level::Good => "good",
            Level::Warning => "warning",
            Level::Problem => "problem",
        },
        finding: finding.fact.name(),
        subject: About { kind, name },
        what: finding.what(),
        remedy: finding.remedy(),
        detail: finding.detail(),
    }
}

/// What a server says of itself, and the words that start it, without what grants access in links.
fn started(server: &ServerFacts) -> Started<'_> {
    let info = server.info.as_ref();
    Started {
        name: &server.name,
        command: server
            .command
            .iter()
            .map(|word| redact_presigned(word))
            .collect(),
        program: &server.program,
        ready_after_ms: server.ready_after.map(|time| time.as_millis()),
        protocol: server.protocol.as_deref().map(redact_presigned),
        era: server.era(),
        server_name: info.map(|(name, _)| redact_presigned(name)),
        server_version: info.map(|(_, version)| redact_presigned(version)),
        tools: server.tools.iter().map(listed).collect(),
        ended: server.ended.as_deref().map(redact_presigned),
        stderr_bytes: server.stderr_bytes,
        noise_lines: server.noise_lines,
    }
}

fn listed(tool: &ToolFacts) -> Listed<'_> {
    let mut input_schema = tool.input_schema.clone();
    input_schema.iter_mut().for_each(redact_value);
    Listed {
        name: redact_presigned(&tool.name),
        input_schema,
    }
}
