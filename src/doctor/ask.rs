//! Asks a server for the input schema of one of its tools.

use serde_json::Value;

use crate::{
    assets::Staging,
    catalog::Server,
    executor,
    host::Host,
    mcp::{CallError, inspect, short_name},
    record::Project,
    task::{Failure, Fault, OperationId, few, nearest},
};

/// The most names of tools in a message.
const MOST: usize = 30;

/// Lists the tools of a server that is started for this and ended. `None` if the tool states no schema.
pub(crate) fn input_schema(
    server: &Server,
    tool: &str,
    project: &Project,
    host: &Host,
) -> Result<Option<Value>, Failure> {
    let operation = OperationId::new(host.timestamp(), host.random_bytes());
    let scratch = Staging::open(&project.state_dir, operation.as_str())?;
    let own = project.own_files();
    let spec = executor::launch(server, &project.root, scratch.dir(), &own)?;
    let tools = inspect(&spec, host).result.map_err(|error| {
        let fault = match &error {
            error if error.is_a_wrong_start() => Fault::ServerNotFound,
            CallError::NotFound { .. } => Fault::ServerNotFound,
            CallError::SpawnFailed { .. }
            | CallError::ExitedBeforeReady { .. }
            | CallError::Died { .. } => Fault::ServerUnreachable,
            CallError::StartupTimeout { .. } | CallError::TimedOut { .. } => Fault::ToolTimeout,
            CallError::Cancelled { .. } => Fault::Cancelled,
            CallError::Http { trouble, .. } => executor::of_http(*trouble),
            _ => Fault::ToolError,
        };
        Failure::new(fault, error.to_string())
    })?;
    let names = tools.iter();
    let names = names.map(|tool| short_name(&spec.secrets.shown(&tool.name)));
    let names: Vec<String> = names.collect();
    match tools.into_iter().find(|listed| listed.name == tool) {
        Some(tool) => Ok(tool.input_schema),
        None => Err(unknown(server, tool, &names)),
    }
}

fn unknown(server: &Server, tool: &str, names: &[String]) -> Failure {
    let meant = match nearest(tool, names.iter().map(String::as_str)) {
        None => format!("its tools are {}", few(names, MOST, ", ")),
        Some(near) => format!("did you mean {near}?"),
    };
    let name = &server.name;
    let message = format!(
        "server `{name}` has no tool `{tool}`; {meant} `oneact tools {name}` describes them"
    );
    Failure::new(Fault::UnknownCapability, message)
}
