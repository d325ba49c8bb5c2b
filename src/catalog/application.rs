//! The tables of an application document (000 §Step 3.1, §Step 4.2): which tool and server each capability is mapped
//! to, and the default parameters of each tool (R-000-59, R-000-63).

use std::collections::HashMap;

use camino::Utf8Path;
use serde_json::{Map, Value};

use super::{
    check::Wrong,
    code::Code,
    compile::{Capability, compile},
    document::{CatalogError, Place, Tables},
    lint::Finding,
};

/// The columns of the two tables, in lower case.
const MAPPING: [&str; 4] = ["capability id", "mcp server", "tool", "parameters"];
const DEFAULTS: [&str; 2] = ["tool", "default parameters"];

/// What a cell says if there is nothing.
const NOTHING: [&str; 5] = ["", "-", "–", "—", "none"];

/// What a document or a catalog maps.
#[derive(Debug, PartialEq)]
pub(crate) struct Application {
    rows: Vec<Mapped>,
}

/// One capability with its tool.
#[derive(Debug)]
struct Mapped {
    place: Place,
    id: String,
    server: String,
    tool: String,
    parameters: Vec<String>,
    defaults: Map<String, Value>,
}

/// Two rows are equal if they say the same, wherever.
impl PartialEq for Mapped {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.differences(other).is_empty()
    }
}

impl Application {
    /// Reads the tables of a Markdown document. Everything else in it is ignored.
    pub(crate) fn read(path: &Utf8Path, text: &str) -> Result<Self, CatalogError> {
        let mut rows: Vec<Mapped> = Vec::new();
        let mut defaults = Vec::new();
        let (mut table, mut fenced) = (None, false);
        for (at, line) in text.lines().enumerate() {
            let place = Place {
                path: path.to_owned(),
                line: at + 1,
            };
            let line = line.trim();
            fenced ^= line.starts_with("```");
            let Some(row) = line.strip_prefix('|').filter(|_| !fenced) else {
                table = None;
                continue;
            };
            let cells = cells(row);
            match &table {
                None => table = Some(Columns::of(&cells)),
                Some(_) if is_rule(&cells) => {}
                Some(Columns::Mapping(at)) => {
                    let [id, server, tool, parameters] = pick(at, &cells);
                    if rows.iter().any(|row| row.id == id) {
                        return Err(wrong(&place, format!("{id} is mapped twice; remove a row")));
                    }
                    if [&id, &server, &tool].iter().any(|name| name.is_empty()) {
                        let problem = "the row lacks a capability id, a server or a tool; add it";
                        return Err(wrong(&place, problem.to_owned()));
                    }
                    rows.push(Mapped {
                        place,
                        id,
                        server,
                        tool,
                        parameters: names(&parameters),
                        defaults: Map::new(),
                    });
                }
                Some(Columns::Defaults(at)) => {
                    let [tool, said] = pick(at, &cells);
                    let values = values(&said).map_err(|problem| wrong(&place, problem))?;
                    defaults.push((place, tool, values));
                }
                Some(Columns::Others) => {}
            }
        }
        if rows.is_empty() {
            let problem = "there is no table with the columns Capability ID, MCP Server, Tool and Parameters; add one";
            let path = path.to_owned();
            return Err(wrong(&Place { path, line: 1 }, problem.to_owned()));
        }
        for (place, name, values) in defaults {
            let mut known = false;
            for row in rows
                .iter_mut()
                .filter(|row| row.tool == name || row.id == name)
            {
                row.defaults.extend(values.clone());
                known = true;
            }
            if !known {
                let problem = format!(
                    "`{name}` has defaults, but no capability is mapped to it; correct the name"
                );
                return Err(wrong(&place, problem));
            }
        }
        Ok(Self { rows })
    }

    /// What the catalog maps. An entry that does not compile is left out, because it is an error already.
    pub(crate) fn of(tables: &Tables<'_>) -> Result<Self, CatalogError> {
        let ids = tables.names("capability")?.into_iter();
        let tools = ids.filter_map(|id| match compile(tables, id) {
            Ok(Some(Capability::Tool(entry))) => Some(*entry),
            Ok(Some(Capability::FilePlan(_) | Capability::Workflow(_)) | None) | Err(_) => None,
        });
        let rows = tools.map(|entry| Mapped {
            parameters: entry
                .schema
                .iter()
                .flat_map(|schema| schema.properties().cloned())
                .collect(),
            place: entry.place,
            id: entry.id,
            server: entry.server,
            tool: entry.tool,
            defaults: entry.defaults,
        });
        Ok(Self {
            rows: rows.collect(),
        })
    }

    /// How the catalog differs from this document, as findings.
    pub(crate) fn drift(&self, catalog: &Self) -> Vec<Finding> {
        let ours: HashMap<&str, &Mapped> = catalog
            .rows
            .iter()
            .map(|row| (row.id.as_str(), row))
            .collect();
        let theirs: HashMap<&str, &Mapped> =
            self.rows.iter().map(|row| (row.id.as_str(), row)).collect();
        let of_document = self
            .rows
            .iter()
            .flat_map(|row| match ours.get(row.id.as_str()) {
                Some(ours) => row.differences(ours),
                None => vec![finding(
                    None,
                    format!(
                        "{}: {} maps it to {} of {}, but the catalog has no such entry",
                        row.id, row.place, row.tool, row.server
                    ),
                )],
            });
        let only_ours = catalog
            .rows
            .iter()
            .filter(|row| !theirs.contains_key(row.id.as_str()));
        let path = self
            .rows
            .first()
            .map_or("the document", |row| row.place.path.as_str());
        let only_ours = only_ours.map(|row| {
            finding(
                Some(&row.place),
                format!("{}: {path} does not map it; add a row", row.id),
            )
        });
        of_document.chain(only_ours).collect()
    }

    /// The document as Markdown.
    pub(crate) fn to_markdown(&self) -> String {
        let mut text = PAGE.to_owned();
        for row in &self.rows {
            text += &line(&[&row.id, &row.server, &row.tool, &row.parameters.join(", ")]);
        }
        text += DEFAULTS_TABLE;
        let mut told: Vec<&str> = Vec::new();
        for row in self.rows.iter().filter(|row| !row.defaults.is_empty()) {
            let of_tool = |other: &&Mapped| other.tool == row.tool;
            let same = self
                .rows
                .iter()
                .filter(of_tool)
                .all(|other| other.defaults == row.defaults);
            let name = if same { &row.tool } else { &row.id };
            if !told.contains(&name.as_str()) {
                told.push(name);
                let defaults = row
                    .defaults
                    .iter()
                    .map(|(name, value)| format!("{name}: {value}"));
                text += &line(&[name, &defaults.collect::<Vec<_>>().join(", ")]);
            }
        }
        text
    }

    /// A catalog with these entries. `command` is the command of a server.
    pub(crate) fn to_catalog(&self, command: &dyn Fn(&str) -> Vec<String>) -> String {
        let path = self.rows.first().map_or("", |row| row.place.path.as_str());
        let mut text = format!("catalog = 1\napplication = {}\n", toml(&path.into()));
        let mut servers: Vec<&str> = Vec::new();
        for Mapped { server, .. } in &self.rows {
            if !servers.contains(&server.as_str()) {
                servers.push(server);
                let command = toml(&command(server).into());
                text += &format!("\n[server.{}]\ncommand = {command}\n", key(server));
            }
        }
        for row in &self.rows {
            let (id, server, tool) = (
                key(&row.id),
                toml(&row.server.as_str().into()),
                toml(&row.tool.as_str().into()),
            );
            text += &format!("\n[capability.{id}]\nmcp = {{ server = {server}, tool = {tool} }}\n");
            if !row.defaults.is_empty() {
                text += &format!("defaults = {}\n", toml(&row.defaults.clone().into()));
            }
            let properties: Map<_, _> = row
                .parameters
                .iter()
                .map(|name| (name.clone(), Value::Object(Map::new())))
                .collect();
            text += &format!(
                "parameter_schema_for_action = {{ type = \"object\", properties = {} }}\n",
                toml(&properties.into())
            );
        }
        text
    }
}

const PAGE: &str = "\
# The application

The capabilities of this application, as catalog.toml maps them to tools. `oneact catalog render --as application`
prints this page, and `oneact catalog check --against` compares it with the catalog.

## 6.10 Tools of the capabilities

### Capability-to-Tool Mapping

| Capability ID | MCP Server | Tool | Parameters |
|---|---|---|---|
";
const DEFAULTS_TABLE: &str = "
### Default Execution Parameters

| Tool | Default Parameters |
|---|---|
";

impl Mapped {
    /// What the entry of the catalog says otherwise.
    fn differences(&self, ours: &Self) -> Vec<Finding> {
        let sorted = |names: &[String]| {
            let mut names = names.to_vec();
            names.sort();
            names.join(", ")
        };
        let defaults = |row: &Self| {
            let mut defaults: Vec<String> = row
                .defaults
                .iter()
                .map(|(name, value)| format!("{name} = {value}"))
                .collect();
            defaults.sort();
            defaults.join(", ")
        };
        let said = [
            ("server", self.server.clone(), ours.server.clone()),
            ("tool", self.tool.clone(), ours.tool.clone()),
            (
                "parameters",
                sorted(&self.parameters),
                sorted(&ours.parameters),
            ),
            ("defaults", defaults(self), defaults(ours)),
        ];
        let differ = said.into_iter().filter(|(_, theirs, ours)| theirs != ours);
        let text = |(what, theirs, our)| {
            let none = |text: String| {
                if text.is_empty() {
                    "none".to_owned()
                } else {
                    text
                }
            };
            let text = format!(
                "{}: {what}: {} says {}, but the catalog says {}",
                self.id,
                self.place,
                none(theirs),
                none(our)
            );
            finding(Some(&ours.place), text)
        };
        differ.map(text).collect()
    }
}

fn finding(place: Option<&Place>, problem: String) -> Finding {
    Finding::of(Wrong {
        code: Code::CAT091,
        place: place.cloned(),
        problem,
    })
}

fn wrong(place: &Place, problem: String) -> CatalogError {
    CatalogError::Invalid {
        code: Code::CAT091,
        place: place.clone(),
        problem,
    }
}

/// The tables of a document, by the places of the columns that are read.
enum Columns {
    Mapping([usize; 4]),
    Defaults([usize; 2]),
    Others,
}

impl Columns {
    fn of(header: &[String]) -> Self {
        if let Some(at) = places(MAPPING, header) {
            return Self::Mapping(at);
        }
        places(DEFAULTS, header).map_or(Self::Others, Self::Defaults)
    }
}

fn places<const N: usize>(columns: [&str; N], header: &[String]) -> Option<[usize; N]> {
    let place = |column: &str| header.iter().position(|cell| cell.to_lowercase() == column);
    let places: Vec<usize> = columns.into_iter().map_while(place).collect();
    places.try_into().ok()
}

/// Those cells of a row; a missing one is empty.
fn pick<const N: usize>(at: &[usize; N], cells: &[String]) -> [String; N] {
    at.map(|at| cells.get(at).cloned().unwrap_or_default())
}

/// The cells of a row behind its first `|`.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut chars = row.strip_suffix('|').unwrap_or(row).chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.next_if_eq(&'|').is_some() => push(&mut cells, '|'),
            '|' => cells.push(String::new()),
            c => push(&mut cells, c),
        }
    }
    let plain = |cell: String| cell.trim().trim_matches(['`', '*']).to_owned();
    cells.into_iter().map(plain).collect()
}

fn push(cells: &mut [String], c: char) {
    if let Some(last) = cells.last_mut() {
        last.push(c);
    }
}

fn is_rule(cells: &[String]) -> bool {
    cells
        .iter()
        .all(|cell| cell.starts_with([':', '-']) && cell.chars().all(|c| matches!(c, ':' | '-')))
}

fn line(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn names(cell: &str) -> Vec<String> {
    if NOTHING.contains(&cell) {
        return Vec::new();
    }
    let names = cell
        .split(',')
        .map(|name| name.trim().trim_matches('`').to_owned());
    names.collect()
}

/// The values of a cell such as `output_format: "wav", sample_rate: 16000`.
fn values(cell: &str) -> Result<Map<String, Value>, String> {
    let mut values = Map::new();
    let mut rest = cell.replace('`', "");
    while !NOTHING.contains(&rest.trim()) {
        let (name, said) = rest
            .trim_start()
            .split_once([':', '=', ' '])
            .ok_or_else(|| format!("{rest:?} is no default; write e.g. sample_rate: 16000"))?;
        let said = said.trim_start_matches([':', '=', ' ']);
        let mut json = serde_json::Deserializer::from_str(said).into_iter::<Value>();
        let value = json
            .next()
            .and_then(Result::ok)
            .filter(|value| !value.is_null());
        let value = value.ok_or_else(|| {
            format!("the default of `{name}` is not JSON; write a number, true, false or a text in quotes")
        })?;
        let after = said
            .get(json.byte_offset()..)
            .unwrap_or_default()
            .trim_start();
        let after = after.strip_prefix(',').unwrap_or(after).to_owned();
        values.insert(name.to_owned(), value);
        rest = after;
    }
    Ok(values)
}

/// A value in the notation of TOML, on one line.
fn toml(value: &Value) -> String {
    match value {
        Value::Object(table) if table.is_empty() => "{}".to_owned(),
        Value::Object(table) => {
            let pairs: Vec<String> = table
                .iter()
                .map(|(name, value)| format!("{} = {}", key(name), toml(value)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml).collect();
            format!("[{}]", items.join(", "))
        }
        // JSON's escapes are also TOML's, except that TOML wants one for DEL.
        value => value.to_string().replace('\u{7f}', "\\u007f"),
    }
}

fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_bare) {
        name.to_owned()
    } else {
        toml(&name.into())
    }
}
