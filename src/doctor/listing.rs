//! The tools of a server, for people who want to see or import them: the server is started, asked and ended.

use std::{io, time::Duration};

use camino::Utf8Path;
use tempfile::TempDir;

use crate::{
    catalog::{SchemaForm, Server, Tool},
    host::{Host, Interrupt},
    mcp::{CallError, ToolListing, inspect},
    task::{Secrets, redact_presigned, redact_value},
};

use super::{
    Finding,
    server::{last, of_it, startable},
};

#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) tools: Vec<Tool>,
    /// The tools that are left out because their names contain a secret, by their number among the tools of the server,
    /// from 1.
    pub(crate) unnamed: Vec<usize>,
    /// The name and the version that the server states.
    pub(crate) server: Option<String>,
    pub(crate) ready_after: Option<Duration>,
}

/// Why a server could not be asked.
#[derive(Debug)]
pub(crate) struct Unlisted {
    /// With the last lines of its stderr.
    pub(crate) why: String,
    pub(crate) interrupted: Option<Interrupt>,
}

/// Why a tool is left out whose name cannot be shown.
pub(crate) fn unnamed(number: usize) -> String {
    format!(
        "tool {number} of its list is left out, because its name contains the value of a secret"
    )
}

/// Starts a server and lists its tools, without the values of `secrets`. Its temporary directory is outside the root, so
/// that nothing is written there.
pub(crate) fn list_tools(
    server: &Server,
    secrets: impl IntoIterator<Item = String>,
    root: &Utf8Path,
    host: &Host,
) -> Result<Listing, Unlisted> {
    let unlisted = |why: String| Unlisted {
        why,
        interrupted: host.interrupts().caught(),
    };
    let no_scratch = |error| {
        let why = format!("no temporary directory can be made for it: {error}");
        unlisted(why)
    };
    let dir = TempDir::with_prefix("oneact-").map_err(no_scratch)?;
    let scratch = Utf8Path::from_path(dir.path());
    let scratch = scratch.ok_or_else(|| no_scratch(io::Error::other("its path is not UTF-8")))?;
    let secrets = Secrets::new(secrets);
    let (mut spec, _) = startable(server, root, scratch).map_err(|findings| {
        let each = findings
            .into_iter()
            .map(|finding| finding.without(&secrets));
        let each = each.map(|Finding { what, remedy, .. }| {
            [vec![what], Vec::from_iter(remedy)].concat().join("; ")
        });
        unlisted(each.collect::<Vec<_>>().join(". "))
    })?;
    spec.secrets = Secrets::all([spec.secrets, secrets]);
    let seen = inspect(&spec, host);
    let secrets = seen.secrets.clone();
    let shown = |text: &str| secrets.shown(&redact_presigned(text));
    let listed = seen.result.map_err(|error| {
        let why = match error {
            CallError::Cancelled { .. } => "interrupted".to_owned(),
            error => shown(&of_it(&error.to_string(), &server.name)),
        };
        let detail = last(&seen.report.stderr_tail);
        let detail = detail.iter().map(|line| shown(line));
        let detail = detail.filter(|line| !why.contains(line.trim()));
        let detail = detail.map(|line| format!(" | {line}"));
        unlisted([why.clone()].into_iter().chain(detail).collect())
    })?;
    let tool = |tool: ToolListing| {
        let mut schema = tool
            .input_schema
            .as_ref()
            .map(|schema| secrets.cut_value(schema.clone()));
        schema.iter_mut().for_each(redact_value);
        let schema_form = if schema == tool.input_schema {
            SchemaForm::Whole
        } else {
            SchemaForm::Cut
        };
        Tool {
            description: shown(tool.description()),
            schema,
            schema_form,
            hints: tool.hints(),
            pin: tool.pin(),
            name: tool.name,
        }
    };
    let info = seen.report.server_info;
    let (mut tools, mut unnamed) = (Vec::new(), Vec::new());
    for (each, number) in listed.into_iter().zip(1..) {
        if shown(&each.name) == each.name {
            tools.push(tool(each));
        } else {
            unnamed.push(number);
        }
    }
    Ok(Listing {
        tools,
        unnamed,
        server: info.map(|(name, version)| shown(&format!("{name} {version}"))),
        ready_after: seen.ready_after,
    })
}
