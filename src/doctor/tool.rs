//! An entry against the tool that its server lists: is it there, does it take what it will be
//! given, do both say the same of its effects, and are the programs there that it starts.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    catalog::{Entry, Schema},
    mcp::{Hints, ServerSpec, ToolListing, near},
};

use super::{
    Doctor, command,
    fact::{Fact, Gap, Others, Pinned, Subject},
};

impl Doctor<'_> {
    /// Compares an entry with what its server lists.
    pub(super) fn capability(&mut self, entry: &Entry, tools: &[ToolListing], spec: &ServerSpec) {
        let subject = Subject::Capability(entry.id.clone());
        let Some(tool) = tools.iter().find(|tool| tool.name == entry.tool) else {
            let available: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
            let fact = Fact::ToolMissing {
                tool: entry.tool.clone(),
                near: near(&entry.tool, &available),
                available,
            };
            return self.note(subject, fact);
        };
        let mut facts = parameters(entry, tool.input_schema.as_ref());
        facts.extend(effects(entry, tool.annotations.unwrap_or_default()));
        facts.extend(programs(tool, spec));
        if facts.is_empty() {
            facts.push(Fact::ToolGood {
                tool: entry.tool.clone(),
                server: entry.server.clone(),
            });
        }
        facts.extend(self.pin(entry, tool));
        for fact in facts {
            self.note(subject.clone(), fact);
        }
    }

    /// The tool against its pin. Where there is none, what it would be, for who asks for this entry.
    fn pin(&self, entry: &Entry, tool: &ToolListing) -> Option<Fact> {
        let name = entry.tool.clone();
        let pin = tool.pin();
        let Some(entry_pin) = &entry.pinned else {
            let asked = self.setup.capabilities.contains(&entry.id);
            let pinned = Pinned::No;
            let fact = Fact::ToolPin {
                tool: name,
                pin,
                pinned,
            };
            return asked.then_some(fact);
        };
        Some(match entry_pin.pin.drift(pin.clone()) {
            Some(drift) => Fact::ToolChanged {
                tool: name,
                drift: Box::new(drift),
                on_drift: entry_pin.on_drift,
            },
            None => Fact::ToolPin {
                tool: name,
                pin,
                pinned: Pinned::Yes,
            },
        })
    }
}

/// The entry's parameters against the tool's input schema.
fn parameters(entry: &Entry, schema: Option<&Value>) -> Vec<Fact> {
    let unusable = match schema.map(jsonschema::validator_for) {
        None => Some("it has none".to_owned()),
        Some(Err(error)) => Some(error.to_string()),
        Some(Ok(_)) => None,
    };
    let Some(schema) = schema.filter(|_| unusable.is_none()) else {
        // A schema of the entry's own is all that a run asks for.
        let reason = unusable.filter(|_| entry.schema.is_none());
        let fact = reason.map(|reason| Fact::ToolSchemaUnusable {
            tool: entry.tool.clone(),
            reason,
        });
        return fact.into_iter().collect();
    };
    let mut facts = unknown(entry, schema);
    facts.extend(missing(entry, schema));
    facts
}

/// What the entry can send and the tool does not know.
fn unknown(entry: &Entry, schema: &Value) -> Vec<Fact> {
    // What these allow cannot be read off a list of names.
    let elsewhere = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties"];
    if elsewhere.iter().any(|key| schema.get(key).is_some()) {
        return Vec::new();
    }
    let listed = schema.get("properties").and_then(Value::as_object);
    let others = match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => Others::Refused,
        _ if listed.is_none() => return Vec::new(),
        _ => Others::Let,
    };
    let known: Vec<String> = listed
        .into_iter()
        .flat_map(|map| map.keys().cloned())
        .collect();
    let strangers = sendable(entry)
        .into_iter()
        .filter(|name| !known.contains(name));
    strangers
        .map(|parameter| Fact::ParameterUnknown {
            tool: entry.tool.clone(),
            near: near(&parameter, &known),
            parameter,
            others,
        })
        .collect()
}

/// Every parameter that a call of this entry can have, as far as the entry says.
fn sendable(entry: &Entry) -> BTreeSet<String> {
    let declared = entry.schema.iter().flat_map(Schema::properties);
    let captured = entry
        .extract
        .iter()
        .flat_map(|pattern| pattern.capture_names().flatten());
    let retried = entry.retry.iter().flat_map(|rule| {
        let scaled = rule.multiply.iter().map(|scale| &scale.parameter);
        rule.set.keys().chain(scaled)
    });
    let names = entry.defaults.keys().chain(declared).chain(retried);
    let names = names.chain(entry.bind.iter().map(|(name, _)| name));
    let mut names: BTreeSet<String> = names.cloned().collect();
    names.extend(captured.map(str::to_owned));
    names
}

/// What the tool requires and the entry does not see to.
fn missing(entry: &Entry, schema: &Value) -> Vec<Fact> {
    // Without a schema of its own, the tool's is checked before each call: a task learns of it.
    let Some(own) = &entry.schema else {
        return Vec::new();
    };
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let seen_to = |name: &str| {
        entry.defaults.contains_key(name)
            || entry.bind.iter().any(|(bound, _)| bound == name)
            || own.requires(name)
    };
    let closed = own.value.get("additionalProperties") == Some(&Value::Bool(false));
    required
        .filter(|name| !seen_to(name))
        .map(|name| Fact::ParameterMissing {
            tool: entry.tool.clone(),
            parameter: name.to_owned(),
            gap: if closed && own.property(name).is_none() {
                Gap::Forbidden
            } else {
                Gap::Optional
            },
        })
        .collect()
}

/// The programs that the tool says it starts, and its server does not find.
fn programs(tool: &ToolListing, spec: &ServerSpec) -> Vec<Fact> {
    let missing = tool.programs().filter(|name| !command::finds(spec, name));
    missing
        .map(|program| Fact::ProgramMissing {
            tool: tool.name.clone(),
            program: program.to_owned(),
            path: command::search_path(spec).to_owned(),
        })
        .collect()
}

/// Where the entry promises more than the server does. A hint that is not given says nothing.
fn effects(entry: &Entry, hints: Hints) -> Vec<Fact> {
    let said = entry.effects;
    let mut pairs = vec![
        ("read_only", said.read_only, hints.read_only, true),
        ("open_world", said.open_world, hints.open_world, false),
    ];
    // These two mean something only for tools that change something (MCP, ToolAnnotations).
    if hints.read_only != Some(true) {
        pairs.push(("destructive", said.destructive, hints.destructive, false));
        pairs.push(("idempotent", said.idempotent, hints.idempotent, true));
    }
    pairs
        .into_iter()
        .filter(|(_, said, hint, better)| *said == Some(*better) && *hint == Some(!*better))
        .map(|(effect, _, _, declared)| Fact::EffectsBetter { effect, declared })
        .collect()
}
