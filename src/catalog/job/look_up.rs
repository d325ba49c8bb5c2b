//! Finds the capability of an id.

use super::direct;
use crate::{
    catalog::{
        entry::compile::{Capability, compile},
        file::document::Tables,
    },
    task::{Failure, Fault, nearest},
};

/// The ids of capabilities that only the reasoning agent has (R-000-111).
pub(crate) const SYNTHESIS: &str = "CAP-SYN-";

/// The capability of that id; errors as in R-000-105 … R-000-107, R-000-110, R-000-111.
pub(crate) fn look_up(tables: &Tables<'_>, id: &str) -> Result<Capability, Failure> {
    if id.starts_with(SYNTHESIS) {
        let message = format!(
            "misrouted task: {id} is a synthesis capability and should go to reasoning_agent"
        );
        return Err(Failure::new(Fault::MisroutedSynthesis, message));
    }
    if let Some(capability) = compile(tables, id)? {
        match &capability {
            Capability::Tool(entry) => tracing::info!(
                "{id} is the tool {} of server {} ({}).",
                entry.tool,
                entry.server,
                entry.place
            ),
            Capability::FilePlan(_) => tracing::info!("{id} applies file plans."),
            Capability::Workflow(workflow) => {
                tracing::info!("{id} is a workflow of {} steps.", workflow.steps.len());
            }
        }
        return Ok(capability);
    }
    Err(unknown(id, tables.entries()?))
}

/// The same, or the tool of that name, which has no entry.
pub(crate) fn look_up_any(tables: &Tables<'_>, id: &str) -> Result<Capability, Failure> {
    if !tables.entries()?.contains(&id)
        && let Some(entry) = direct::entry(tables, id)?
    {
        tracing::info!(
            "{id} is the tool {} of server {}; it has no entry.",
            entry.tool,
            entry.server
        );
        return Ok(Capability::Tool(Box::new(entry)));
    }
    look_up(tables, id)
}

pub(crate) fn unknown<'a>(id: &str, known: impl IntoIterator<Item = &'a str>) -> Failure {
    let hint = match nearest(id, known) {
        Some(near) => format!("; did you mean {near}?"),
        None => "; the catalog maps no tool to it".to_owned(),
    };
    Failure::new(
        Fault::UnknownCapability,
        format!("unknown capability {id:?}{hint}"),
    )
}
