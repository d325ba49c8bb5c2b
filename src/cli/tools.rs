//! `oneact tools`: the tools of the servers in the catalog, also of servers without an entry. Each server is started and
//! asked; no tool is called.

mod signature;

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{
    ended::{Stop, json_line, printed, stop},
    printing::{columns, counted},
    settings::PlaceArgs,
    terminal::hanging,
};
use crate::{
    catalog::{About, Catalog, Checked, Offered, Tool, ToolForm, check, offered_tools, one_line},
    doctor::{Listing, list_tools, unnamed},
    host::{Host, Interrupts},
    task::visible,
};
use signature::{call, signature};

#[derive(Debug, Args)]
pub(super) struct ToolsArgs {
    /// Only the tools of these servers, with whole descriptions [default: all servers of the catalog]
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// The form of the list
    #[arg(long, value_enum, value_name = "FORM", default_value_t = ToolListForm::Text)]
    format: ToolListForm,
    /// Print whole descriptions, not only their first sentences
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    places: PlaceArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ToolListForm {
    /// For people
    Text,
    /// The tools of MCP
    Mcp,
    #[value(help = "The tools of OpenAI's chat completions")]
    Openai,
    /// The tools of Anthropic's messages
    Anthropic,
    /// One JSON document with everything that the servers say
    Json,
}

pub(super) fn run(args: &ToolsArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let project = args.places.project()?;
    let catalog = Catalog::load(&project.catalog).map_err(stop(2))?;
    let tables = catalog.tables().map_err(stop(2))?;
    let checked = check(&tables, &[]);
    let all = tables.names("server").map_err(stop(2))?;
    if all.is_empty() {
        let why = format!(
            "{} has no server; `oneact import` adds those of an MCP configuration, and `oneact add NAME -- COMMAND` one",
            project.catalog
        );
        return Err(stop(2)(why));
    }
    if let Some(unknown) = args
        .servers
        .iter()
        .find(|name| !all.contains(&name.as_str()))
    {
        let why = format!(
            "the catalog has no [server.{unknown}]; its servers: {}",
            all.join(", ")
        );
        return Err(stop(2)(why));
    }
    let wanted =
        |name: &str| args.servers.is_empty() || args.servers.iter().any(|each| each == name);
    let mut code = 0;
    for problem in &checked.problems {
        if let About::Server(name) = &problem.about
            && wanted(name)
        {
            tracing::error!("{}", visible(&problem.text));
            code = 1;
        }
    }
    let host = Host::new(None, None, interrupts);
    let mut asked = Vec::new();
    for server in checked.servers.iter().filter(|server| wanted(&server.name)) {
        match list_tools(server, [], &project.root, &host) {
            Ok(listing) => {
                for number in &listing.unnamed {
                    tracing::error!("{}: {}", server.name, unnamed(*number));
                    code = 1;
                }
                asked.push((server.name.as_str(), listing));
            }
            Err(unlisted) => {
                tracing::error!("{}: {}", server.name, visible(&unlisted.why));
                if let Some(signal) = unlisted.interrupted {
                    return Ok(ExitCode::from(128 + signal.number()));
                }
                code = 1;
            }
        }
    }
    let catalog = CatalogTools {
        checked: &checked,
        asked: &asked,
    };
    let text = match args.format {
        ToolListForm::Text => {
            let whole = args.full || !args.servers.is_empty();
            let servers = asked.iter();
            let servers = servers.map(|(name, listing)| catalog.shown(name, listing, whole));
            servers.collect::<Vec<_>>().join("\n")
        }
        ToolListForm::Json => catalog.document(),
        ToolListForm::Mcp => catalog.offered(ToolForm::Mcp),
        ToolListForm::Openai => catalog.offered(ToolForm::OpenAi),
        ToolListForm::Anthropic => catalog.offered(ToolForm::Anthropic),
    };
    Ok(printed(text, code))
}

/// The tools that were listed, and what the catalog says of them.
struct CatalogTools<'a> {
    checked: &'a Checked,
    asked: &'a [(&'a str, Listing)],
}

impl CatalogTools<'_> {
    /// The ids of the entries that call the tool.
    fn entries(&self, server: &str, tool: &str) -> Vec<&str> {
        let entries = self.checked.capabilities.iter();
        let entries = entries.filter(|entry| entry.server == server && entry.tool == tool);
        entries.map(|entry| entry.id.as_str()).collect()
    }

    /// The names by which a tool can be called: the ids of its entries, or `SERVER.TOOL`.
    fn names(&self, server: &str, tool: &str) -> Vec<String> {
        match self.entries(server, tool).as_slice() {
            [] => vec![format!("{server}.{tool}")],
            ids => ids.iter().map(|id| (*id).to_owned()).collect(),
        }
    }

    fn name(&self, server: &str, tool: &str) -> String {
        self.names(server, tool).swap_remove(0)
    }

    /// The tools of one server, for people.
    fn shown(&self, name: &str, listing: &Listing, whole: bool) -> String {
        let count = counted(listing.tools.len() as u64, "tool");
        let is = listing.server.as_deref();
        let is = is.unwrap_or("without a name of its own");
        let mut text = format!("{} · {} · {count}\n", visible(name), visible(is));
        for tool in &listing.tools {
            let said = one_line(&tool.description);
            let first = said.split_inclusive(". ").next().unwrap_or_default();
            let said = if whole { &said } else { first.trim_end() };
            let hints = match tool.said() {
                none if none.is_empty() => none,
                hints => format!("hints: {hints}"),
            };
            let calls = self.names(name, &tool.name);
            let calls = calls.iter().map(|name| call(name, tool));
            let facts = [said.to_owned(), hints].into_iter().chain(calls);
            let signature = hanging(&signature(tool), columns() - 2, 6);
            text.extend(["  ", &signature, "\n"]);
            for fact in facts.filter(|fact| !fact.is_empty()) {
                text.extend(["      ", &hanging(&fact, columns(), 6), "\n"]);
            }
        }
        text
    }

    fn document(&self) -> String {
        let tool = |server: &str, tool: &Tool| {
            json!({
                "name": tool.name, "signature": signature(tool), "description": tool.description,
                "input_schema": tool.schema, "hints": {
                    "read_only": tool.hints.read_only, "destructive": tool.hints.destructive,
                    "idempotent": tool.hints.idempotent, "open_world": tool.hints.open_world,
                },
                "entries": self.entries(server, &tool.name), "call": self.name(server, &tool.name),
                "pin": tool.pin.to_string(),
            })
        };
        let servers = self.asked.iter().map(|(name, listing)| {
            let tools: Vec<Value> = listing.tools.iter().map(|each| tool(name, each)).collect();
            json!({
                "name": name, "server": listing.server,
                "ready_after_ms": listing.ready_after.map(|time| time.as_millis()), "tools": tools,
            })
        });
        json_line(&json!({"servers": servers.collect::<Vec<_>>()}))
    }

    /// The tools for a model. Names in the form of a model API have no other characters than letters, digits, `_` and `-`.
    fn offered(&self, form: ToolForm) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let any = json!({"type": "object"});
        let tools = self.asked.iter();
        let tools =
            tools.flat_map(|(name, listing)| listing.tools.iter().map(move |tool| (name, tool)));
        let named = tools.map(|(server, tool)| {
            let name = self.name(server, &tool.name);
            let name = match form {
                ToolForm::Mcp => name,
                _ => name.replace(|c| !is_plain(c), "_"),
            };
            (name, tool)
        });
        let named: Vec<(String, &Tool)> = named.collect();
        let offered = named.iter().map(|(name, tool)| Offered {
            name,
            title: &tool.name,
            description: &tool.description,
            schema: tool.schema.as_ref().unwrap_or(&any),
            effects: tool.hints,
        });
        format!("{}\n", offered_tools(&offered.collect::<Vec<_>>(), form))
    }
}
