//! The tables of an application document (000 §Step 3.1, §Step 4.2): which tool and server each capability is mapped
//! to, and the default parameters of each tool (R-000-59, R-000-63).

mod page;

use std::collections::{BTreeMap, HashMap, HashSet};

use camino::Utf8Path;
use serde_json::{Map, Value, json};

use crate::task::{visible, visible_json_line};

use crate::catalog::entry::compile::{Capability, compile};
use crate::catalog::entry::schema::Schema;
use crate::catalog::file::code::{Code, FileLine, Wrong};
use crate::catalog::file::document::{Catalog, CatalogError, Tables};
use crate::catalog::file::toml_text::{key, toml};
use crate::catalog::people::finding::Finding;
use crate::catalog::people::listing::pipelines;
use page::Row;

/// The largest size of the defaults of all capabilities together, in bytes of their cells. A catalog of them would be too
/// large.
const MOST_DEFAULTS: usize = 8 << 20;

/// What a document or a catalog maps.
#[derive(Debug)]
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

/// The defaults that a document states for a capability, or for all capabilities of a tool that have none of their own.
struct Defaults {
    place: FileLine,
    values: Map<String, Value>,
    length: usize,
}

impl Application {
    /// Reads the tables of a Markdown document. Everything else in it is ignored.
    pub(crate) fn read(path: &Utf8Path, text: &str) -> Result<Self, CatalogError> {
        let at = |line| FileLine {
            path: path.to_owned(),
            line,
        };
        let (mut rows, mut names): (Vec<Mapped>, _) = (Vec::new(), HashSet::new());
        let mut defaults: BTreeMap<String, Defaults> = BTreeMap::new();
        for (line, row) in page::rows(text) {
            let place = at(line);
            match row {
                Row::Mapping([id, server, tool, parameters]) => {
                    if !names.insert(id.clone()) {
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
                Row::Defaults([name, said]) => {
                    let values = page::values(&said).map_err(|problem| wrong(&place, problem))?;
                    let of_name = defaults.entry(name).or_insert(Defaults {
                        place,
                        values: Map::new(),
                        length: 0,
                    });
                    of_name.values.extend(values);
                    of_name.length += said.len();
                }
            }
        }
        if rows.is_empty() {
            let problem = "there is no table with the columns Capability ID, MCP Server, Tool and Parameters; add one";
            return Err(wrong(&at(1), problem.to_owned()));
        }
        names.extend(rows.iter().map(|row| row.tool.clone()));
        if let Some((name, of_name)) = defaults.iter().find(|(name, _)| !names.contains(*name)) {
            let problem = format!(
                "`{name}` has defaults, but no capability is mapped to it; correct the name"
            );
            return Err(wrong(&of_name.place, problem));
        }
        let mut size = 0;
        for row in &mut rows {
            let of_name = defaults.get(&row.id).or_else(|| defaults.get(&row.tool));
            if let Some(Defaults {
                place,
                values,
                length,
            }) = of_name
            {
                size += length;
                if size > MOST_DEFAULTS {
                    let problem = format!(
                        "with these of {}, all defaults together have more than {MOST_DEFAULTS} bytes; shorten them",
                        row.id
                    );
                    return Err(wrong(place, problem));
                }
                row.defaults.clone_from(values);
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
        let rows = tools.map(|entry| {
            let parameters = entry.schema.iter().flat_map(Schema::properties);
            Mapped {
                parameters: parameters.cloned().collect(),
                place: entry.place,
                id: entry.id,
                server: entry.server,
                tool: entry.tool,
                defaults: entry.defaults,
            }
        });
        let pipelines = pipelines(tables).unwrap_or_default().into_iter();
        let pipelines = pipelines.map(|each| {
            let names: Vec<_> = each.parameters.into_iter().map(|each| each.name).collect();
            [each.id, each.common.description, names.join(", ")]
        });
        Ok(Self {
            rows: rows.collect(),
            pipelines: pipelines.collect(),
        })
    }

    fn by_id(&self) -> HashMap<&str, &Mapped> {
        let rows = self.rows.iter();
        rows.map(|row| (row.id.as_str(), row)).collect()
    }

    /// How the catalog differs from this document, as findings.
    pub(crate) fn drift(&self, catalog: &Self) -> Vec<Finding> {
        let (theirs, ours) = (self.by_id(), catalog.by_id());
        let mut found = Vec::new();
        for row in &self.rows {
            match ours.get(row.id.as_str()) {
                Some(ours) => found.extend(row.differences(ours)),
                None => found.push(finding(
                    None,
                    format!(
                        "{}: {} maps it to {} of {}, but the catalog has no such entry",
                        row.id, row.place, row.tool, row.server
                    ),
                )),
            }
        }
        let path = self.rows.first().map(|row| row.place.path.as_str());
        let path = path.unwrap_or("the document");
        let unmapped = catalog.rows.iter();
        let unmapped = unmapped.filter(|row| !theirs.contains_key(row.id.as_str()));
        found.extend(unmapped.map(|row| {
            let problem = format!("{}: {path} does not map it; add a row", row.id);
            finding(Some(&row.place), problem)
        }));
        found
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
        for [name, description, parameters] in &self.pipelines {
            text += &line(&[&visible(name), &visible(description), &visible(parameters)]);
        }
        text
    }

    /// A catalog with these entries. `command` is the command of a server. An error if oneact could not read the catalog.
    pub(crate) fn to_catalog(
        &self,
        command: &dyn Fn(&str) -> Vec<String>,
    ) -> Result<String, CatalogError> {
        let written = |text: &str| toml(&text.into());
        let path = self.rows.first().map_or("", |row| row.place.path.as_str());
        let mut text = vec![format!("catalog = 1\napplication = {}\n", written(path))];
        let mut servers: HashSet<&str> = HashSet::new();
        for Mapped { server, .. } in &self.rows {
            if servers.insert(server) {
                let command = toml(&command(server).into());
                text.push(format!("\n[server.{}]\ncommand = {command}\n", key(server)));
            }
        }
        for row in &self.rows {
            let (id, server, tool) = (key(&row.id), written(&row.server), written(&row.tool));
            text.push(format!(
                "\n[capability.{id}]\nmcp = {{ server = {server}, tool = {tool} }}\n"
            ));
            if !row.defaults.is_empty() {
                let defaults = toml(&row.defaults.clone().into());
                text.push(format!("defaults = {defaults}\n"));
            }
            let names = row.parameters.iter();
            let properties: Map<_, _> = names.map(|name| (name.clone(), json!({}))).collect();
            let properties = toml(&properties.into());
            text.push(format!(
                "parameter_schema_for_action = {{ type = \"object\", properties = {properties} }}\n"
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
    fn differences(&self, ours: &Self) -> impl Iterator<Item = Finding> {
        let said = self.said().into_iter().zip(ours.said());
        let differ = said.filter(|(theirs, ours)| theirs != ours);
        differ.map(|((what, theirs), (_, our))| {
            let (id, place) = (&self.id, &self.place);
            let text = format!("{id}: {what}: {place} says {theirs}, but the catalog says {our}");
            finding(Some(&ours.place), text)
        })
    }

    /// What it says, whatever the order.
    fn said(&self) -> [(&'static str, String); 4] {
        let list = |mut items: Vec<String>| {
            items.sort();
            let text = items.join(", ");
            if text.is_empty() {
                "none".to_owned()
            } else {
                text
            }
        };
        let defaults = self.defaults.iter();
        let defaults = defaults.map(|(name, value)| format!("{name} = {value}"));
        [
            ("server", self.server.clone()),
            ("tool", self.tool.clone()),
            ("parameters", list(self.parameters.clone())),
            ("defaults", list(defaults.collect())),
        ]
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
