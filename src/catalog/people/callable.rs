//! What a name on the command line of `oneact call` means, and where the types of its parameters are stated.

use serde_json::{Value, json};

use crate::task::{Failure, nearest};

use crate::catalog::entry::compile::{Capability, compile};
use crate::catalog::entry::server::{self, Server};
use crate::catalog::file::document::{CatalogError, Tables};
use crate::catalog::job::direct::{callers, parted, several_entries};
use crate::catalog::job::look_up::{SYNTHESIS, look_up, unknown};

/// What a name on a command line means.
#[derive(Debug)]
pub(crate) struct Callable {
    /// The id that the task names.
    pub(crate) id: String,
    pub(crate) parameters: Parameters,
    /// What the caller may not expect.
    pub(crate) note: Option<String>,
}

/// Where the types of the parameters are stated.
#[derive(Debug)]
pub(crate) enum Parameters {
    /// The JSON Schema in the catalog.
    InCatalog(Value),
    /// The input schema of that tool, which its server lists.
    AtServer { server: Box<Server>, tool: String },
}

/// What `name` means: the id of an entry, or a tool of a server as `SERVER.TOOL`.
pub(crate) fn callable(tables: &Tables<'_>, name: &str) -> Result<Callable, Failure> {
    if tables.entries()?.contains(&name) || name.starts_with(SYNTHESIS) {
        look_up(tables, name)?;
        return of_entry(tables, name, None);
    }
    let Some((server, tool)) = parted(tables, name)? else {
        return Err(neither(tables, name)?);
    };
    match callers(tables, server, tool)?.as_slice() {
        [] => Ok(Callable {
            id: name.to_owned(),
            parameters: Parameters::AtServer {
                server: Box::new(server::existing(tables, server)?),
                tool: tool.to_owned(),
            },
            note: None,
        }),
        [id] => {
            let note = format!("{name} is called by the rules of its entry {id}.");
            of_entry(tables, id, Some(note))
        }
        several => Err(several_entries(name, several)),
    }
}

fn of_entry(tables: &Tables<'_>, id: &str, note: Option<String>) -> Result<Callable, Failure> {
    let parameters = match compile(tables, id)? {
        Some(Capability::Tool(entry)) => match entry.schema {
            Some(schema) => Parameters::InCatalog(schema.value),
            None => Parameters::AtServer {
                server: Box::new(server::of(tables, &entry)?),
                tool: entry.tool,
            },
        },
        Some(Capability::Workflow(workflow)) => Parameters::InCatalog(workflow.schema.value),
        Some(Capability::FilePlan(_)) | None => Parameters::InCatalog(json!({"properties": {
            "plan": {"type": "object"}, "protocol_validation": {"type": "boolean"}, "system_config": {},
        }})),
    };
    Ok(Callable {
        id: id.to_owned(),
        parameters,
        note,
    })
}

/// The failure of a name that is neither an entry nor a tool of a server.
fn neither(tables: &Tables<'_>, name: &str) -> Result<Failure, CatalogError> {
    let server = name.split_once('.').and_then(|(server, tool)| {
        let known = tables.names("server").unwrap_or_default();
        Some(format!("{}.{tool}", nearest(server, known)?))
    });
    let names = tables.entries()?.into_iter().chain(server.as_deref());
    let failure = unknown(name, names);
    if failure.message.ends_with('?') {
        return Ok(failure);
    }
    let message = format!(
        "{}; `oneact catalog list` lists the entries, and a tool without an entry is named SERVER.TOOL",
        failure.message
    );
    Ok(Failure { message, ..failure })
}
