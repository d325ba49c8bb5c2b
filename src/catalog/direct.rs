//! A tool without an entry: `SERVER.TOOL`, which only the command line of an operator may name. Its call has the rules
//! of an entry that states the worst effects and nothing else. If entries call the tool, their rules hold: nobody goes
//! round a context, an approval or a pin.

use serde_json::json;
use toml::Table;

use crate::task::{Effects, Failure, Fault, nearest};

use super::{
    code::{Code, Wrong},
    compile::{Capability, Compiler, compile},
    document::{CatalogError, Tables},
    entry::Entry,
    raw::RawCapability,
    server::{self, Server},
};

/// The entry of a tool that no entry of the catalog calls; `None` if `name` is no `SERVER.TOOL`.
pub(super) fn entry(tables: &Tables<'_>, name: &str) -> Result<Option<Entry>, Failure> {
    let Some((server, tool)) = parted(tables, name)? else {
        return Ok(None);
    };
    let callers = callers(tables, server, tool)?;
    if !callers.is_empty() {
        return Err(several_entries(name, &callers));
    }
    Ok(Some(unlisted(tables, name, server, tool)?))
}

/// The id as a server of the catalog and the name of a tool.
pub(super) fn parted<'n>(
    tables: &Tables<'_>,
    name: &'n str,
) -> Result<Option<(&'n str, &'n str)>, CatalogError> {
    let servers = tables.names("server")?;
    let mut points = name.match_indices('.');
    let parted = points.find_map(|(at, _)| {
        let (server, tool) = (name.get(..at)?, name.get(at + 1..)?);
        (servers.contains(&server) && !tool.is_empty()).then_some((server, tool))
    });
    Ok(parted)
}

/// The entries that call the tool, also by another server entry that starts the same program. An entry that cannot be
/// read is an error, because it may be one of them.
pub(super) fn callers(
    tables: &Tables<'_>,
    server: &str,
    tool: &str,
) -> Result<Vec<String>, Failure> {
    let ours = started(tables, server)?;
    let mut callers = Vec::new();
    for id in tables.names("capability")? {
        let Some(Capability::Tool(entry)) = compile(tables, id)? else {
            continue;
        };
        if entry.tool != tool {
            continue;
        }
        let theirs = server::named(tables, &entry.server)?;
        let same = |theirs: &Server| {
            program(&theirs.command) == program(&ours.command)
                && theirs.cwd == ours.cwd
                && theirs.remote.as_ref().map(|remote| &remote.url)
                    == ours.remote.as_ref().map(|remote| &remote.url)
        };
        if entry.server == server || theirs.as_ref().is_some_and(same) {
            callers.push(entry.id);
        }
    }
    Ok(callers)
}

/// The name of the program without its directory, and its arguments.
fn program(command: &[String]) -> Option<(&str, &[String])> {
    let (first, rest) = command.split_first()?;
    let name = first.rsplit('/').next().unwrap_or(first);
    Some((name, rest))
}

pub(super) fn started(tables: &Tables<'_>, server: &str) -> Result<Server, Failure> {
    server::named(tables, server)?.ok_or_else(|| {
        let known = tables.names("server").unwrap_or_default();
        let near = nearest(server, known).map(|near| format!("; did you mean {near}?"));
        let message = format!(
            "the catalog has no [server.{server}]{}",
            near.unwrap_or_default()
        );
        Failure::new(Fault::ServerNotFound, message)
    })
}

pub(super) fn several_entries(name: &str, callers: &[String]) -> Failure {
    let message = format!(
        "the tool {name} has entries in the catalog, whose rules hold for it; name one of them: {}",
        callers.join(", ")
    );
    Failure::new(Fault::UnknownCapability, message)
}

/// The entry `[capability."SERVER.TOOL"]`, as if the catalog had it with the worst effects.
fn unlisted(
    tables: &Tables<'_>,
    name: &str,
    server: &str,
    tool: &str,
) -> Result<Entry, CatalogError> {
    let unfit = |why: &str| {
        CatalogError::Invalid(Wrong {
            code: Code::default(),
            place: None,
            problem: format!("the tool {name} cannot be called: {why}"),
        })
    };
    // A string of JSON is one of TOML, too.
    let entry = format!(
        "mcp = {{ server = {}, tool = {} }}",
        json!(server),
        json!(tool)
    );
    let raw: RawCapability = toml::from_str(&entry).map_err(|error| unfit(error.message()))?;
    let Some((mut named, _)) = tables.entry::<Table>("server", server)? else {
        return Err(unfit("the catalog has no such server"));
    };
    // Errors name the place of the server.
    (named.group, named.name) = ("tool", name);
    let entry = Compiler(named).entry(RawCapability {
        effects: Some(Effects::WORST),
        ..raw
    })?;
    Ok(Entry {
        names_server_at: entry.place.clone(),
        ..entry
    })
}
