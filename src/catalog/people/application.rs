//! The tables of an application document (000 §Step 3.1, §Step 4.2): which tool and server each capability is mapped
//! to, and the default parameters of each tool (R-000-59, R-000-63).

mod page;

use std::collections::{HashMap, HashSet};

use camino::Utf8Path;
use serde_json::{Map, Value};

use crate::task::{visible, visible_json_line};

use crate::catalog::entry::compile::{Capability, compile};
use crate::catalog::file::code::{Code, FileLine, Wrong};
use crate::catalog::file::document::{Catalog, CatalogError, Tables};
use crate::catalog::file::toml_text::{key, toml};
use crate::catalog::people::finding::Finding;
use crate::catalog::people::listing::{Listed, pipelines};
use page::Row;

/// The largest size of the defaults of all capabilities together, in bytes of their cells. A catalog of them would be too
/// large.
const MOST_DEFAULTS: usize = 8 << 20;

/// What a document or a catalog maps.
#[derive(Debug, PartialEq)]
pub(crate) struct Application {
    rows: Vec<Mapped>,
    /// The names of the pipelines, what they do, and their parameters. A document does not map them.
    pipelines: Vec<[String; 3]>,
}

/// One capability with its tool.
#[derive(Debug)]
struct Mapped {
    place: FileLine,
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
        let (mut rows, mut defaults): (Vec<Mapped>, _) = (Vec::new(), Vec::new());
        let mut ids = HashSet::new();
        for (line, row) in page::rows(text) {
            let place = FileLine {
                path: path.to_owned(),
                line,
            };
            match row {
                Row::Mapping([id, server, tool, parameters]) => {
                    if !ids.insert(id.clone()) {
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
                        parameters: page::names(&parameters),
                        defaults: Map::new(),
                    });
                }
                Row::Defaults([tool, said]) => {
                    let values = page::values(&said).map_err(|problem| wrong(&place, problem))?;
                    defaults.push((place, tool, values, said.len()));
                }
            }
        }
        if rows.is_empty() {
            let problem = "there is no table with the columns Capability ID, MCP Server, Tool and Parameters; add one";
            let path = path.to_owned();
            return Err(wrong(&FileLine { path, line: 1 }, problem.to_owned()));
        }
        let mut named: HashMap<String, Vec<&mut Mapped>> = HashMap::new();
        let names = defaults.iter().map(|(_, name, _, _)| name);
        let of_ids: HashSet<String> = names.filter(|name| ids.contains(*name)).cloned().collect();
        for row in &mut rows {
            let by_id = of_ids.contains(&row.id);
            let name = if by_id { &row.id } else { &row.tool };
            named.entry(name.clone()).or_default().push(row);
        }
        let mut size = 0;
        for (place, name, values, length) in defaults {
            let Some(rows) = named.get_mut(&name) else {
                let problem = format!(
                    "`{name}` has defaults, but no capability is mapped to it; correct the name"
                );
                return Err(wrong(&place, problem));
            };
            size += length * rows.len();
            if size > MOST_DEFAULTS {
                let problem = format!(
                    "with the defaults of `{name}` for {} capabilities, all defaults together have more than \
                     {MOST_DEFAULTS} bytes; shorten them",
                    rows.len()
                );
                return Err(wrong(&place, problem));
            }
            for row in rows {
                row.defaults.extend(values.clone());
            }
        }
        Ok(Self {
            rows,
            pipelines: Vec::new(),
        })
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
        let names = |pipeline: &Listed| {
            let names: Vec<&str> = pipeline
                .parameters
                .iter()
                .map(|each| each.name.as_str())
                .collect();
            names.join(", ")
        };
        let pipelines = pipelines(tables).unwrap_or_default().into_iter();
        let pipelines = pipelines.map(|each| {
            [
                each.id.clone(),
                each.common.description.clone(),
                names(&each),
            ]
        });
        Ok(Self {
            rows: rows.collect(),
            pipelines: pipelines.collect(),
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
        let mut of_tools: HashMap<&str, Option<&Map<String, Value>>> = HashMap::new();
        for row in &self.rows {
            let common = of_tools.entry(&row.tool).or_insert(Some(&row.defaults));
            *common = common.filter(|defaults| **defaults == row.defaults);
        }
        let mut told: HashSet<&str> = HashSet::new();
        for row in self.rows.iter().filter(|row| !row.defaults.is_empty()) {
            let same = of_tools.get(row.tool.as_str()).is_some_and(Option::is_some);
            let name = if same { &row.tool } else { &row.id };
            if told.insert(name) {
                // With JSON's escapes, an unseen character stays the same when the document is shown and read again.
                let defaults = row.defaults.iter().map(|(name, value)| {
                    format!("{name}: {}", visible_json_line(&value.to_string()))
                });
                text += &line(&[name, &defaults.collect::<Vec<_>>().join(", ")]);
            }
        }
        if !self.pipelines.is_empty() {
            text += PIPELINES_TABLE;
        }
        for row in &self.pipelines {
            text += &line(
                &row.each_ref()
                    .map(|cell| visible(cell))
                    .each_ref()
                    .map(AsRef::as_ref),
            );
        }
        text
    }

    /// A catalog with these entries. `command` is the command of a server. An error if oneact could not read the catalog.
    pub(crate) fn to_catalog(
        &self,
        command: &dyn Fn(&str) -> Vec<String>,
    ) -> Result<String, CatalogError> {
        let path = self.rows.first().map_or("", |row| row.place.path.as_str());
        let mut text = vec![format!(
            "catalog = 1\napplication = {}\n",
            toml(&path.into())
        )];
        let mut servers: HashSet<&str> = HashSet::new();
        for Mapped { server, .. } in &self.rows {
            if servers.insert(server) {
                let command = toml(&command(server).into());
                text.push(format!("\n[server.{}]\ncommand = {command}\n", key(server)));
            }
        }
        for row in &self.rows {
            let (id, server, tool) = (
                key(&row.id),
                toml(&row.server.as_str().into()),
                toml(&row.tool.as_str().into()),
            );
            text.push(format!(
                "\n[capability.{id}]\nmcp = {{ server = {server}, tool = {tool} }}\n"
            ));
            if !row.defaults.is_empty() {
                text.push(format!(
                    "defaults = {}\n",
                    toml(&row.defaults.clone().into())
                ));
            }
            let properties: Map<_, _> = row
                .parameters
                .iter()
                .map(|name| (name.clone(), Value::Object(Map::new())))
                .collect();
            text.push(format!(
                "parameter_schema_for_action = {{ type = \"object\", properties = {} }}\n",
                toml(&properties.into())
            ));
        }
        let text = text.concat();
        let name = Utf8Path::new("the printed catalog");
        Catalog::from_bytes(name, text.clone().into_bytes())?.whole()?;
        Ok(text)
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

const PIPELINES_TABLE: &str = "
### Pipelines of plans

| Pipeline | What it does | Parameters |
|---|---|---|
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

fn finding(place: Option<&FileLine>, problem: String) -> Finding {
    Finding::of(about(place, problem))
}

fn wrong(place: &FileLine, problem: String) -> CatalogError {
    CatalogError::Invalid(about(Some(place), problem))
}

fn about(place: Option<&FileLine>, problem: String) -> Wrong {
    Wrong {
        code: Code::CAT091,
        place: place.cloned(),
        problem,
    }
}

fn line(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}
