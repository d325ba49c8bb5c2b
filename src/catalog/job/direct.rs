//! A tool without an entry: `SERVER.TOOL`, which only the command line of an operator may name. Its call has the rules
//! of an entry that states the worst effects and nothing else. If entries call the tool, their rules hold: nobody goes
//! round a context, an approval or a pin.

use crate::{
    catalog::{
        entry::{
            common::Common,
            compile::{Capability, compile},
            server::{self, Server},
            tool::{self, Entry, ToolKeys},
        },
        file::document::{CatalogError, Tables},
    },
    task::{Effects, Failure, Fault},
};

/// The entry of a tool that no entry of the catalog calls; `None` if `name` is no `SERVER.TOOL`.
pub(crate) fn entry(tables: &Tables<'_>, name: &str) -> Result<Option<Entry>, Failure> {
    let Some((server, tool)) = parted(tables, name)? else {
        return Ok(None);
    };
    let callers = callers(tables, server, tool)?;
    if !callers.is_empty() {
        return Err(several_entries(name, &callers));
    }
    Ok(unlisted(tables, name, server, tool)?)
}

/// The id as a server of the catalog and the name of a tool.
pub(crate) fn parted<'n>(
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
pub(crate) fn callers(
    tables: &Tables<'_>,
    server: &str,
    tool: &str,
) -> Result<Vec<String>, Failure> {
    let ours = server::existing(tables, server)?;
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

pub(crate) fn several_entries(name: &str, callers: &[String]) -> Failure {
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
) -> Result<Option<Entry>, CatalogError> {
    let Some(mut named) = tables.named("server", server)? else {
        return Ok(None);
    };
    // Errors name the place of the server.
    (named.group, named.name) = ("tool", name);
    let common = Common {
        effects: Some(Effects::WORST),
        ..Common::default()
    };
    tool::compile(&named, common, ToolKeys::of(server, tool)).map(Some)
}
