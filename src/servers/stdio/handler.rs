//! Answers requests: `tools/list` from the definitions, `tools/call` by the tools.
//!
//! An unknown tool is a JSON-RPC error. Every other failure of a call (invalid arguments, a tool that fails or
//! panics) is a result with `isError: true`, so that the caller can read it (SEP-1303).

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jsonschema::Validator;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
        ListToolsResult, MetaObject, PaginatedRequestParams, ProgressNotificationParam,
        ProgressToken, ServerCapabilities, ServerConfig, Tool as ListedTool, ToolAnnotations,
    },
    service::{Peer, RequestContext},
};
use serde_json::{Map, Value};
use tokio::{
    sync::watch,
    task::JoinError,
    time::{MissedTickBehavior, interval},
};

use crate::servers::tool::{Effect, Progress, Run, Tool, ToolError, World};

/// The shortest time between two progress notifications of a call.
const PROGRESS_PERIOD: Duration = Duration::from_millis(100);

/// The key in the `_meta` of a listed tool that names the programs which the tool starts from the server's `PATH`.
const PROGRAMS: &str = "oneact/programs";

/// The largest number of problems of the arguments that an answer names.
const PROBLEMS_SHOWN: usize = 8;

pub(super) struct Handler {
    name: &'static str,
    tools: Vec<Served>,
    client_gone: watch::Receiver<()>,
}

/// A tool with its validator and its entry of `tools/list`.
struct Served {
    tool: Arc<Tool>,
    listed: ListedTool,
    arguments: Validator,
}

impl Handler {
    /// `client_gone` closes when the client closes its end. An error means that the definition of a tool is wrong.
    pub(super) fn new(
        name: &'static str,
        tools: Vec<Tool>,
        client_gone: watch::Receiver<()>,
    ) -> Result<Self, String> {
        let tools = tools
            .into_iter()
            .map(Served::new)
            .collect::<Result<_, _>>()?;
        Ok(Self {
            name,
            tools,
            client_gone,
        })
    }

    /// Runs the tool on a separate thread and forwards progress and cancellation until it returns.
    async fn run(
        &self,
        tool: Arc<Tool>,
        arguments: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Result<Value, ToolError>, JoinError> {
        let cancelled = Arc::new(AtomicBool::new(false));
        let (latest, progress) = watch::channel(None);
        let flag = Arc::clone(&cancelled);
        let mut work = tokio::task::spawn_blocking(move || {
            let report = |progress| {
                latest.send_replace(Some(progress));
            };
            let run = Run {
                cancelled: &flag,
                report: &report,
            };
            (tool.call)(&arguments, &run)
        });
        let mut reporter = context.meta.get_progress_token().map(|token| Reporter {
            token,
            peer: &context.peer,
            progress,
            reported: f64::NEG_INFINITY,
        });
        let mut gone = self.client_gone.clone();
        let mut tick = interval(PROGRESS_PERIOD);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let asked = cancelled.load(Ordering::Relaxed);
            tokio::select! {
                result = &mut work => {
                    if let Some(reporter) = &mut reporter {
                        reporter.report().await;
                    }
                    return result;
                }
                () = context.ct.cancelled(), if !asked => cancelled.store(true, Ordering::Relaxed),
                _ = gone.changed(), if !asked => cancelled.store(true, Ordering::Relaxed),
                _ = tick.tick() => if let Some(reporter) = &mut reporter {
                    reporter.report().await;
                }
            }
        }
    }
}

/// Sends the progress of a call to a client that asked for it.
struct Reporter<'a> {
    token: ProgressToken,
    peer: &'a Peer<RoleServer>,
    progress: watch::Receiver<Option<Progress>>,
    reported: f64,
}

impl Reporter<'_> {
    /// Sends the latest progress, unless it is not greater than the last one that was sent.
    async fn report(&mut self) {
        let Some(Progress {
            done,
            total,
            message,
        }) = self.progress.borrow_and_update().clone()
        else {
            return;
        };
        if done <= self.reported {
            return;
        }
        self.reported = done;
        let mut param =
            ProgressNotificationParam::new(self.token.clone(), done).with_message(message);
        param.total = total;
        if let Err(error) = self.peer.notify_progress(param).await {
            tracing::debug!(%error, "progress not delivered");
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build()).with_server_info(
            Implementation::new(format!("oneact-{}", self.name), env!("CARGO_PKG_VERSION")),
        )
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            self.tools.iter().map(|each| each.listed.clone()).collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut tools = self.tools.iter();
        let Some(served) = tools.find(|each| each.tool.name == request.name) else {
            let known: Vec<_> = self.tools.iter().map(|each| each.tool.name).collect();
            let problem = format!(
                "unknown tool `{}`; this server has: {}",
                request.name,
                known.join(", ")
            );
            return Err(ErrorData::invalid_params(problem, None));
        };
        let arguments = request.arguments.unwrap_or_default();
        if let Some(problems) = served.problems(&arguments) {
            return Ok(failure(problems).into());
        }
        let arguments = served.integers(arguments);
        let result = match self
            .run(Arc::clone(&served.tool), arguments, &context)
            .await
        {
            Ok(Ok(answer)) => CallToolResult::structured(answer),
            Ok(Err(error)) => failure(error.to_string()),
            Err(panic) => {
                tracing::error!(tool = %request.name, %panic, "a tool panicked");
                failure(format!(
                    "tool `{}` panicked; this is a bug in oneact",
                    request.name
                ))
            }
        };
        Ok(result.into())
    }
}

impl Served {
    fn new(tool: Tool) -> Result<Self, String> {
        let name = tool.name;
        let arguments = jsonschema::validator_for(&tool.input).map_err(|error| {
            format!("the input schema of tool `{name}` does not compile: {error}")
        })?;
        // `servers::tests` checks that every schema is an object.
        let object = |schema: &Value| Arc::new(schema.as_object().cloned().unwrap_or_default());
        let hints = ToolAnnotations::with_title(tool.title)
            .read_only(tool.effect == Effect::ReadOnly)
            .destructive(tool.effect == Effect::Replacing)
            .idempotent(true)
            .open_world(tool.world == World::Open);
        let mut listed = ListedTool::new(name, tool.description, object(&tool.input))
            .with_title(tool.title)
            .with_raw_output_schema(object(&tool.output))
            .with_annotations(hints);
        if let World::Programs(programs) = tool.world {
            let mut meta = MetaObject::new();
            meta.0.insert(PROGRAMS.to_owned(), programs.into());
            listed = listed.with_meta(meta);
        }
        Ok(Self {
            tool: Arc::new(tool),
            listed,
            arguments,
        })
    }

    /// The problems of the arguments, each with its JSON Pointer. `None` if there are none.
    fn problems(&self, arguments: &Map<String, Value>) -> Option<String> {
        let arguments = Value::Object(arguments.clone());
        let problems: Vec<_> = self
            .arguments
            .iter_errors(&arguments)
            .take(PROBLEMS_SHOWN)
            .map(|error| match error.instance_path().as_str() {
                "" => error.to_string(),
                pointer => format!("{pointer}: {error}"),
            })
            .collect();
        (!problems.is_empty()).then(|| format!("invalid arguments: {}", problems.join("; ")))
    }

    /// With integers that are written with a decimal point or an exponent (`1.0`) as such. JSON Schema accepts them.
    fn integers(&self, mut arguments: Map<String, Value>) -> Map<String, Value> {
        let schemas = self.tool.input.get("properties");
        for (name, value) in &mut arguments {
            let kind = schemas.and_then(|schemas| schemas.get(name)?.get("type"));
            let is_integer = kind.is_some_and(|kind| kind == "integer");
            let float = value.as_f64().filter(|_| is_integer && value.is_f64());
            if let Some(integer) = float.and_then(|float| format!("{float:.0}").parse::<i64>().ok())
            {
                *value = integer.into();
            }
        }
        arguments
    }
}

fn failure(problem: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(problem)])
}
