//! The entries of tools as a catalog writes them: what `oneact import` and `oneact add` append for each server.

#[cfg(test)]
mod tests;
mod words;

use std::{
    collections::{BTreeSet, HashSet},
    error::Error,
    time::Duration,
};

use camino::Utf8Path;
use serde_json::Value;

use crate::task::{Author, Effects, Pin, canonical, readable};

use crate::catalog::entry::compile::{TAKEN, compile};
use crate::catalog::entry::file_plan::APPLY_FILE_PLAN;
use crate::catalog::entry::server::{self, Server};
use crate::catalog::file::document::{Catalog, CatalogError, Tables};
use crate::catalog::file::host_command::Command;
use crate::catalog::file::toml_text::{key, toml};
use crate::catalog::people::finding::Level;
use crate::catalog::people::lint::lint;
use words::{described_as, id};
pub(crate) use words::{one_line, server_name};

/// A tool as its server lists it.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: Option<Value>,
    /// Whether the schema is as the server sends it, or without a part that looks like a secret.
    pub(crate) schema_form: SchemaForm,
    /// What the server says about its effects.
    pub(crate) hints: Effects,
    pub(crate) pin: Pin,
}

/// What of the schema of a server is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaForm {
    Whole,
    Cut,
}

/// Whether hints of a server may lower the risk of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    Worst,
    Hints,
}

impl Tool {
    /// Whether its hints say less risk than MCP assumes without them.
    pub(crate) fn hints_lower(&self) -> bool {
        self.effects(Trust::Hints) != self.effects(Trust::Worst)
    }

    /// Its hints in the words of MCP; empty if there are none.
    pub(crate) fn said(&self) -> String {
        let hints = self.hints;
        let said = [
            (hints.read_only, "read-only", "not read-only"),
            (hints.destructive, "destructive", "not destructive"),
            (hints.idempotent, "idempotent", "not idempotent"),
            (hints.open_world, "open-world", "closed-world"),
        ];
        let words = said.iter();
        let words = words.filter_map(|(said, yes, no)| Some(if (*said)? { *yes } else { *no }));
        words.collect::<Vec<_>>().join(", ")
    }

    /// What the entry states. A hint that is missing, or that is not believed, counts as the worst (MCP,
    /// `ToolAnnotations`); the worst of the other two keys is what a catalog assumes if they are missing. Hints that
    /// contradict each other are not believed.
    fn effects(&self, trust: Trust) -> Effects {
        let hints = self.hints;
        let contradicts = hints.read_only == Some(true) && hints.destructive == Some(true);
        let trust = if contradicts { Trust::Worst } else { trust };
        let believed = |hint: Option<bool>, better: bool| {
            hint.filter(|said| *said != better || trust == Trust::Hints)
        };
        let read_only = believed(hints.read_only, true);
        let destructive = believed(hints.destructive, false).or(Some(true));
        Effects {
            read_only,
            destructive: destructive.filter(|_| read_only != Some(true)),
            idempotent: believed(hints.idempotent, true),
            open_world: believed(hints.open_world, false).or(Some(true)),
        }
    }
}

/// The id of the tool with which a model proposes an improvised action.
pub(crate) const IMPROVISE: &str = "improvise";

/// The id of the tool that performs a request after a person has approved it.
pub(crate) const RUN_APPROVED: &str = "run_approved";

/// The ids by which oneact finds something else than the tool of a server.
const OWN: [&str; 3] = [APPLY_FILE_PLAN, IMPROVISE, RUN_APPROVED];

/// The names that a catalog has.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) servers: BTreeSet<String>,
    /// Ids and aliases, in lower case, and the ids of oneact itself.
    ids: BTreeSet<String>,
}

impl Default for Known {
    fn default() -> Self {
        let own = OWN.iter().chain(&TAKEN);
        Self {
            servers: BTreeSet::new(),
            ids: own.map(|id| (*id).to_owned()).collect(),
        }
    }
}

impl Known {
    pub(crate) fn of(tables: &Tables<'_>) -> Result<Self, CatalogError> {
        let names = tables.names("server")?.into_iter().map(str::to_owned);
        let mut known = Self {
            servers: names.collect(),
            ..Self::default()
        };
        for id in tables.entries()? {
            known.ids.insert(id.to_lowercase());
            if let Ok(Some(capability)) = compile(tables, id) {
                let aliases = capability.common().aliases.iter();
                known.ids.extend(aliases.map(|alias| alias.to_lowercase()));
            }
        }
        Ok(known)
    }

    /// The text of a server and of its tools, with the names of the tools and the ids of their entries. Of several tools with one name, the first one
    /// counts.
    pub(crate) fn add(
        &mut self,
        (name, command): (&str, &Command),
        tools: &[Tool],
        trust: Trust,
    ) -> (String, Vec<(String, String)>) {
        self.servers.insert(name.to_owned());
        let mut text = format!("\n{}", command.table(name));
        let (mut entries, mut seen) = (Vec::new(), BTreeSet::new());
        for tool in tools {
            if !seen.insert(&tool.name) {
                continue;
            }
            let id = id(name, &tool.name, &self.ids);
            self.ids.insert(id.clone());
            text += &entry(&id, name, tool, trust);
            entries.push((tool.name.clone(), id));
        }
        (text, entries)
    }
}

/// The longest time until a server is ready that is started for the first time.
const FIRST_START: Duration = Duration::from_secs(90);

/// The entry of a server as the catalog reads it, with the secrets for its first start.
pub(crate) fn server(name: &str, command: &Command) -> Result<Server, String> {
    let text = format!("catalog = 1\n\n{}", command.table(name));
    let place = Utf8Path::new("the entry");
    let catalog = Catalog::from_bytes(place, text.into_bytes());
    let read = catalog.and_then(|catalog| server::named(&catalog.tables()?, name));
    let mut server = read
        .map_err(|error| error.to_string())?
        .ok_or("it has no entry")?;
    // `npx` and `uvx` may have to download the package first.
    server.startup_timeout = server.startup_timeout.max(FIRST_START);
    server.env_pass.clear();
    match &mut server.remote {
        Some(remote) => remote.give(&command.secrets),
        None => server.env.extend(command.secrets.iter().cloned()),
    }
    Ok(server)
}

/// The longest schema that an entry contains, in bytes. A longer one would hide the other entries from a reader; the run
/// then checks the parameters against the schema of the server, which is the same.
const SCHEMA: usize = 8 * 1024;

/// `[capability.ID]`
fn entry(id: &str, server: &str, tool: &Tool, trust: Trust) -> String {
    let effects = |effects: Effects| {
        let pairs = [
            ("read_only", effects.read_only),
            ("destructive", effects.destructive),
            ("idempotent", effects.idempotent),
            ("open_world", effects.open_world),
        ];
        let said = pairs.into_iter();
        let said = said.filter_map(|(key, said)| Some((key.to_owned(), said?.into())));
        toml(&Value::Object(said.collect()))
    };
    let (said, hinted) = (tool.effects(trust), tool.effects(Trust::Hints));
    let description = described_as(&tool.name, &tool.description);
    let [description, server, name] =
        [&description, server, &tool.name].map(|text: &str| toml(&text.into()));
    let mut text = vec![format!(
        "\n[capability.{id}]\ndescription = {description}\n"
    )];
    if said != hinted {
        let hinted = effects(hinted);
        text.push(format!("# hinted by the server, not confirmed: {hinted}\n"));
    }
    text.push(format!("effects = {}\n", effects(said)));
    // A wrong word of the server could only make a call that was asked for twice happen twice.
    if hinted.read_only == Some(true) && said.read_only != Some(true) {
        text.push("on_duplicate = { mode = \"repeat\" }\n".to_owned());
    }
    let pin = &tool.pin;
    text.push(format!(
        "mcp = {{ server = {server}, tool = {name} }}\npin = \"{pin}\"\n"
    ));
    let schema = tool.schema.as_ref().map(|said| match tool.schema_form {
        SchemaForm::Whole => schema(id, said),
        SchemaForm::Cut => Err("a part of its schema looks like a secret"),
    });
    text.extend(schema.map(|schema| {
        schema.unwrap_or_else(|why| {
            format!(
                "# without parameter_schema_for_action: {why}; a run uses the schema of the server\n"
            )
        })
    }));
    text.concat()
}

/// The table with the schema of the parameters, one line for each parameter, or why there is none.
fn schema(id: &str, schema: &Value) -> Result<String, &'static str> {
    let mut schema = schema.clone();
    without_null_defaults(&mut schema);
    let Value::Object(keywords) = &schema else {
        return Err("its schema is no object");
    };
    if readable(&schema, Author::Operator).is_err() {
        return Err("oneact cannot read its schema");
    }
    let mut text = format!("\n[capability.{id}.parameter_schema_for_action]\n");
    for (keyword, value) in keywords {
        match value {
            Value::Object(members) if keyword == "properties" && !members.is_empty() => {
                for (name, member) in members {
                    text.extend([format!("properties.{} = {}\n", key(name), toml(member))]);
                }
            }
            value => text.extend([format!("{} = {}\n", key(keyword), toml(value))]),
        }
    }
    if text.len() > SCHEMA {
        return Err("its schema is long");
    }
    // TOML has no null, and fewer numbers.
    let read: Option<toml::Table> = text.parse().ok();
    let read = read.and_then(|read| {
        let table = read.get("capability")?.get(id)?;
        serde_json::to_value(table.get("parameter_schema_for_action")?).ok()
    });
    let same = read.is_some_and(|read| canonical(&read).ok() == canonical(&schema).ok());
    if same {
        Ok(text)
    } else {
        Err("TOML cannot express a value of its schema")
    }
}

/// Removes `default: null`, which says nothing about what fits.
fn without_null_defaults(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.get("default").is_some_and(Value::is_null) {
                members.shift_remove("default");
            }
            members.values_mut().for_each(without_null_defaults);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null_defaults),
        _ => {}
    }
}

/// The beginning of a catalog that does not exist yet.
pub(crate) const BEGINNING: &str = "\
# The catalog of oneact for this directory: its tool servers, and an entry for each tool that a task can name.
# `oneact tools` lists the tools, `oneact catalog check` checks this file. docs/catalog.md of oneact describes every key.
# To complete keys in an editor: `oneact schema catalog > catalog.schema.json`, and the first line
#   #:schema ./catalog.schema.json
catalog = 1
";

/// Appends text to a catalog, unless the new catalog then has an error that the old one does not have.
pub(crate) fn appended(
    (path, before): (&Utf8Path, &[u8]),
    text: &str,
) -> Result<Vec<u8>, Box<dyn Error>> {
    let old = Catalog::from_bytes(path, before.to_vec())?;
    let newline: &[u8] = if before.ends_with(b"\n") { b"" } else { b"\n" };
    let catalog = [before, newline, text.as_bytes()].concat();
    let new = Catalog::from_bytes(path, catalog.clone())?;
    let added = new.tables().and_then(|new| errors(&new))?;
    if let Some(error) = added.difference(&errors(&old.tables()?)?).next() {
        return Err(error.clone().into());
    }
    Ok(catalog)
}

fn errors(tables: &Tables<'_>) -> Result<HashSet<String>, CatalogError> {
    let (mut findings, _) = lint(tables, &|_| false)?;
    findings.retain(|each| each.level == Level::Error);
    Ok(findings.into_iter().map(|each| each.text).collect())
}
