//! Compares an entry with the tool that its server lists: whether the tool exists, takes the entry's parameters
//! and declares the same effects, and whether the programs that it starts are installed.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    catalog::{Entry, Schema},
    mcp::{ServerSpec, ToolListing, short_name},
    task::{Author, Effects, OnDrift, few, nearest, readable, worse},
};

use super::{
    About, Doctor, Finding, FindingKind, Level, NewPin, Subject,
    server::{finds_program, search_path},
};

/// The most names of tools in a remedy.
const SHOWN: usize = 20;

struct Pair<'a> {
    entry: &'a Entry,
    about: Subject,
    /// The entry's table: `[capability.ID]`.
    at: String,
    spec: &'a ServerSpec,
}

impl Doctor<'_> {
    pub(super) fn capability(&mut self, entry: &Entry, tools: &[ToolListing], spec: &ServerSpec) {
        let about = Subject::named(About::Capability, &entry.id);
        let pair = Pair {
            entry,
            at: about.entry(),
            about,
            spec,
        };
        let Some(tool) = tools.iter().find(|tool| tool.name == entry.tool) else {
            return self.note(pair.missing_tool(tools));
        };
        let mut findings = pair.parameters(tool.input_schema.as_ref());
        findings.extend(pair.effects(tool.hints()));
        findings.extend(pair.programs(tool));
        if findings.is_empty() {
            let (tool, server) = (&entry.tool, &entry.server);
            let what =
                format!("`{tool}` of {server} exists and accepts the parameters of the entry");
            findings.push(pair.about.good(FindingKind::ToolGood, what));
        }
        let (pin, old) = (tool.pin(), entry.pinned.as_ref());
        let replaces = old.map(|pinned| pinned.pin.clone());
        if replaces.as_ref() != Some(&pin) {
            let id = entry.id.clone();
            self.diagnosis.pins.push(NewPin { id, pin, replaces });
        }
        let asked = self.setup.capabilities.contains(&entry.id);
        if asked || entry.pinned.is_some() {
            findings.push(pair.pin(tool));
        }
        for finding in findings {
            self.note(finding);
        }
    }
}

impl Pair<'_> {
    /// A name from the server. Secrets are cut first, because a part of a secret is not found.
    fn name(&self, text: &str) -> String {
        short_name(&self.spec.secrets.shown(text))
    }

    fn missing_tool(&self, tools: &[ToolListing]) -> Finding {
        let (tool, at) = (&self.entry.tool, &self.at);
        let available: Vec<String> = tools.iter().map(|tool| self.name(&tool.name)).collect();
        let remedy = match nearest(tool, available.iter().map(String::as_str)) {
            Some(first) => format!("did you mean `{first}`? correct `tool` in {at}"),
            None if available.is_empty() => {
                "the server lists no tools; check how it is started".to_owned()
            }
            None => format!(
                "correct `tool` in {at}, or name a server that has this tool; the tools of this server: {}",
                few(
                    available.iter().map(|name| format!("`{name}`")),
                    SHOWN,
                    ", "
                )
            ),
        };
        let what = format!("its server has no tool `{tool}`");
        self.about.problem(FindingKind::ToolMissing, what, remedy)
    }

    /// Compares the tool with the entry's pin. If there is none, the finding states the tool's pin.
    fn pin(&self, tool: &ToolListing) -> Finding {
        let (name, pin) = (&self.entry.tool, tool.pin());
        let Some(pinned) = &self.entry.pinned else {
            let what = format!("the pin of `{name}` is {pin}");
            return self.about.good(FindingKind::ToolPin, what);
        };
        let Some(drift) = pinned.pin.drift(pin.clone()) else {
            if pinned.pin.describes_another(&pin) {
                return self.about.warning(
                    FindingKind::DescriptionChanged,
                    format!("the description of `{name}` does not match its pin; now {pin}"),
                    format!(
                        "read the new description, then write the new pin into {}",
                        self.at
                    ),
                );
            }
            let what = format!("`{name}` matches its pin: {pin}");
            return self.about.good(FindingKind::ToolPin, what);
        };
        let level = match pinned.on_drift {
            OnDrift::Warn => Level::Warning,
            OnDrift::Fail => Level::Problem,
        };
        let changed = self.about.problem(
            FindingKind::ToolChanged,
            format!("`{name}` does not match its pin: {drift}"),
            format!(
                "find out what has changed, then write the new pin into {}",
                self.at
            ),
        );
        changed.at(level)
    }

    /// Compares the entry's parameters with the tool's input schema.
    fn parameters(&self, schema: Option<&Value>) -> Vec<Finding> {
        let reason = match schema.map(|schema| (schema, readable(schema, Author::Server))) {
            Some((schema, Ok(_))) => {
                let mut findings = self.unknown(schema);
                findings.extend(self.missing(schema));
                return findings;
            }
            // If the entry has a schema, a run does not need the tool's.
            _ if self.entry.schema.is_some() => return Vec::new(),
            Some((_, Err(reason))) => reason,
            None => "the tool has no schema".to_owned(),
        };
        let what = format!(
            "the input schema of `{}` cannot be used, and the entry has no schema: {reason}",
            self.entry.tool
        );
        let remedy = format!(
            "add a `parameter_schema_for_action` to {}, and report the error to the author of the server",
            self.at
        );
        let kind = FindingKind::ToolSchemaUnusable;
        vec![self.about.problem(kind, what, remedy)]
    }

    /// Finds parameters that the entry can send and the tool's schema does not list.
    fn unknown(&self, schema: &Value) -> Vec<Finding> {
        // With these keywords, the allowed names cannot be listed.
        let elsewhere = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties"];
        if elsewhere.iter().any(|key| schema.get(key).is_some()) {
            return Vec::new();
        }
        let listed = schema.get("properties").and_then(Value::as_object);
        let level = match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => Level::Problem,
            _ if listed.is_none() => return Vec::new(),
            _ => Level::Warning,
        };
        let known: Vec<String> = listed
            .into_iter()
            .flat_map(|map| map.keys().cloned())
            .collect();
        let (tool, at) = (&self.entry.tool, &self.at);
        let sent = sendable(self.entry).into_iter();
        sent.filter(|name| !known.contains(name))
            .map(|name| {
                let what = if level == Level::Problem {
                    format!(
                        "`{tool}` refuses the parameter `{name}`: its input schema does not contain it"
                    )
                } else {
                    format!("the input schema of `{tool}` does not contain the parameter `{name}`")
                };
                let remedy = match nearest(&name, known.iter().map(String::as_str)) {
                    Some(first) => format!("did you mean `{first}`? correct `{name}` in {at}"),
                    None => format!(
                        "remove `{name}` from {at}, or look for a newer version of the server"
                    ),
                };
                let kind = FindingKind::ParameterUnknown;
                self.about.problem(kind, what, remedy).at(level)
            })
            .collect()
    }

    /// Finds parameters that the tool requires and the entry does not ensure.
    fn missing(&self, schema: &Value) -> Vec<Finding> {
        // If the entry has no schema, each call is checked against the tool's, and the task gets the error.
        let (entry, at) = (self.entry, &self.at);
        let Some(own) = &entry.schema else {
            return Vec::new();
        };
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        let seen_to = |name: &str| {
            entry.defaults.contains_key(name)
                || entry.bind.iter().any(|bound| bound.parameter == name)
                || own.requires(name)
        };
        let closed = own.value.get("additionalProperties") == Some(&Value::Bool(false));
        let finding = |name: &str| {
            let shown = self.name(name);
            let what = format!("`{}` requires `{shown}`, but the entry", entry.tool);
            if closed && own.property(name).is_none() {
                self.about.problem(
                    FindingKind::ParameterMissing,
                    format!("{what} neither sets it nor allows a task to set it"),
                    format!("add `{shown}` to `bind`, `defaults` or the schema of {at}"),
                )
            } else {
                self.about.warning(
                    FindingKind::ParameterMissing,
                    format!("{what} allows a task to leave it out"),
                    format!("require `{shown}` in the schema of {at}, or give it a default"),
                )
            }
        };
        required
            .filter(|name| !seen_to(name))
            .map(finding)
            .collect()
    }

    /// Finds programs that the tool declares and the server's `PATH` lacks.
    fn programs(&self, tool: &ToolListing) -> Vec<Finding> {
        let Some(start) = self.spec.program() else {
            return Vec::new();
        };
        let missing = tool.programs().filter(|name| !finds_program(start, name));
        let finding = |program: &str| {
            let program = self.name(program);
            let install = match program.as_str() {
                "ffmpeg" | "ffprobe" => "FFmpeg (Debian: apt-get install ffmpeg)",
                program => program,
            };
            let what = format!(
                "`{}` starts the program `{program}`, which is in no directory of the PATH of its server",
                tool.name
            );
            let remedy =
                format!("install {install}, or add it to the PATH of the server with `env`");
            let kind = FindingKind::ProgramMissing;
            let path = format!("PATH={}", search_path(start));
            self.about.problem(kind, what, remedy).with(vec![path])
        };
        missing.map(finding).collect()
    }

    /// Finds effects that the entry declares as safer than the server does. A missing hint says nothing. It is a problem
    /// if a run would refuse the call.
    fn effects(&self, hints: Effects) -> Vec<Finding> {
        let rule = self.entry.risk_rule();
        let raised = rule.hazards.raised(hints);
        let refused = raised.is_some_and(|raised| rule.waits_only_at(raised.risk));
        let level = if refused {
            Level::Problem
        } else {
            Level::Warning
        };
        let finding = |(effect, worse): (&str, bool)| {
            let what = format!(
                "the entry says `{effect} = {}`, but the server says {worse}",
                !worse
            );
            let remedy = format!(
                "ask the author of the server which is correct; the `effects` of {} decide whether a lost call may be repeated, and whether a call waits for an approval",
                self.at
            );
            let kind = FindingKind::EffectsBetter;
            self.about.problem(kind, what, remedy).at(level)
        };
        let worse = worse(self.entry.effects, hints).into_iter();
        worse.map(finding).collect()
    }
}

/// All parameters that a call of this entry can have, as far as the entry declares them.
fn sendable(entry: &Entry) -> BTreeSet<String> {
    let declared = entry.schema.iter().flat_map(Schema::properties);
    let captured = entry
        .extract
        .iter()
        .flat_map(|pattern| pattern.capture_names().flatten());
    let retried = entry.retry.iter().flat_map(|rule| {
        let scaled = rule.multiply.iter().map(|(name, _)| name);
        rule.set.keys().chain(scaled)
    });
    let names = entry.defaults.keys().chain(declared).chain(retried);
    let names = names.chain(entry.bind.iter().map(|bound| &bound.parameter));
    let mut names: BTreeSet<String> = names.cloned().collect();
    names.extend(captured.map(str::to_owned));
    names
}
