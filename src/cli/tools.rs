//! `oneact tools`: the tools of the servers in the catalog, also of servers without an entry. Each server is started and
//! asked; no tool is called.

mod signature;

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{
    Stop, printed,
    printing::{columns, json::line},
    settings::PlaceArgs,
    stop,
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
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Form::Text)]
    format: Form,
    /// Print whole descriptions, not only their first sentences
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    places: PlaceArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
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

/// A server that was asked.
struct Asked {
    name: String,
    listing: Listing,
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
                asked.push(Asked {
                    name: server.name.clone(),
                    listing,
                });
            }
            Err(unlisted) => {
                let detail = unlisted.detail.iter().map(|line| format!(" | {line}"));
                let detail: String = detail.collect();
                let why = format!("{}: {}{detail}", server.name, unlisted.why);
                tracing::error!("{}", visible(&why));
                if let Some(signal) = unlisted.interrupted {
                    return Ok(ExitCode::from(128 + signal.number()));
                }
                code = 1;
            }
        }
    }
    let entries = Entries { checked: &checked };
    let text = match args.format {
        Form::Text => {
            let whole = args.full || !args.servers.is_empty();
            let servers = asked.iter().map(|asked| shown(asked, &entries, whole));
            servers.collect::<Vec<_>>().join("\n")
        }
        Form::Json => document(&asked, &entries),
        Form::Mcp => offered(&asked, &entries, ToolForm::Mcp),
        Form::Openai => offered(&asked, &entries, ToolForm::OpenAi),
        Form::Anthropic => offered(&asked, &entries, ToolForm::Anthropic),
    };
    Ok(printed(text, code))
}

/// What the catalog says of tools.
struct Entries<'c> {
    checked: &'c Checked,
}

impl Entries<'_> {
    /// The ids of the entries that call the tool.
    fn of(&self, server: &str, tool: &str) -> Vec<&str> {
        let entries = self.checked.capabilities.iter();
        let entries = entries.filter(|entry| entry.server == server && entry.tool == tool);
        entries.map(|entry| entry.id.as_str()).collect()
    }

    /// The name by which a tool can be called: the id of its first entry, or `SERVER.TOOL`.
    fn name(&self, server: &str, tool: &str) -> String {
        let ids = self.of(server, tool);
        ids.first()
            .map_or_else(|| format!("{server}.{tool}"), |id| (*id).to_owned())
    }
}

/// The tools of one server, for people.
fn shown(Asked { name, listing }: &Asked, entries: &Entries<'_>, whole: bool) -> String {
    let count = match listing.tools.len() {
        1 => "1 tool".to_owned(),
        count => format!("{count} tools"),
    };
    let is = listing
        .server
        .as_deref()
        .unwrap_or("without a name of its own");
    let mut text = format!("{} · {} · {count}\n", visible(name), visible(is));
    for tool in &listing.tools {
        let ids = entries.of(name, &tool.name);
        let names = if ids.is_empty() {
            vec![format!("{name}.{}", tool.name)]
        } else {
            ids.into_iter().map(str::to_owned).collect()
        };
        let said = one_line(&tool.description);
        let first = said.split_inclusive(". ").next().unwrap_or_default();
        let said = if whole {
            said.as_str()
        } else {
            first.trim_end()
        };
        let hints = match tool.said() {
            none if none.is_empty() => none,
            hints => format!("hints: {hints}"),
        };
        let mut facts = vec![said.to_owned(), hints];
        facts.extend(names.iter().map(|name| call(name, tool)));
        let signature = hanging(&signature(tool), columns() - 2, 6);
        text.extend(["  ", &signature, "\n"]);
        for fact in facts.iter().filter(|fact| !fact.is_empty()) {
            text.extend(["      ", &hanging(fact, columns(), 6), "\n"]);
        }
    }
    text
}

fn document(asked: &[Asked], entries: &Entries<'_>) -> String {
    let tool = |server: &str, tool: &Tool| {
        json!({
            "name": tool.name, "signature": signature(tool), "description": tool.description,
            "input_schema": tool.schema, "hints": {
                "read_only": tool.hints.read_only, "destructive": tool.hints.destructive,
                "idempotent": tool.hints.idempotent, "open_world": tool.hints.open_world,
            },
            "entries": entries.of(server, &tool.name), "call": entries.name(server, &tool.name),
            "pin": tool.pin.to_string(),
        })
    };
    let server = |Asked { name, listing }: &Asked| {
        let tools: Vec<Value> = listing.tools.iter().map(|each| tool(name, each)).collect();
        json!({
            "name": name, "server": listing.server,
            "ready_after_ms": listing.ready_after.map(|time| time.as_millis()), "tools": tools,
        })
    };
    line(&json!({"servers": asked.iter().map(server).collect::<Vec<_>>()}))
}

/// The tools for a model. Names in the form of a model API have no other characters than letters, digits, `_` and `-`.
fn offered(asked: &[Asked], entries: &Entries<'_>, form: ToolForm) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let any = json!({"type": "object"});
    let named: Vec<(String, &Tool)> = asked
        .iter()
        .flat_map(|asked| asked.listing.tools.iter().map(move |tool| (asked, tool)))
        .map(|(asked, tool)| {
            let name = entries.name(&asked.name, &tool.name);
            let plain = name.chars().map(|c| if is_plain(c) { c } else { '_' });
            let name = if form == ToolForm::Mcp {
                name
            } else {
                plain.collect()
            };
            (name, tool)
        })
        .collect();
    let offered = named.iter().map(|(name, tool)| Offered {
        name,
        title: &tool.name,
        description: &tool.description,
        schema: tool.schema.as_ref().unwrap_or(&any),
        effects: tool.hints,
    });
    format!("{}\n", offered_tools(&offered.collect::<Vec<_>>(), form))
}
