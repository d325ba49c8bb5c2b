//! What a server says of its tools: `tools/list`, page by page.

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams};
use serde::Deserialize;
use serde_json::Value;

use super::{
    alarm::Alarm,
    error::{CallError, Phase},
    raw::Answer,
    session::{Limits, Session},
};
use crate::task::Pin;

pub(super) const METHOD: &str = "tools/list";
/// A server with more pages of tools than this repeats itself.
const MAX_PAGES: usize = 100;
/// How alike a name must be to be offered instead (Jaro–Winkler), and how many are.
const ALIKE: f64 = 0.75;
const MAX_NEAR: usize = 3;

/// One page of `tools/list`, as far as we read it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tools: Vec<ToolListing>,
    next_cursor: Option<String>,
}

/// A tool as its server lists it (MCP, Tools).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolListing {
    pub(crate) name: String,
    pub(crate) input_schema: Option<Value>,
    pub(crate) output_schema: Option<Value>,
    #[serde(default)]
    pub(crate) annotations: Option<Hints>,
    #[serde(default, rename = "_meta")]
    meta: Option<Value>,
}

/// The key of a tool's `_meta` under which it names the programs it starts, as the built-in servers
/// do: strings, to be found on the server's `PATH`.
const PROGRAMS: &str = "oneact/programs";

impl ToolListing {
    /// The programs it says it starts.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &str> {
        let named = self.meta.as_ref().and_then(|meta| meta.get(PROGRAMS));
        let named = named.and_then(Value::as_array).into_iter().flatten();
        named.filter_map(Value::as_str)
    }

    /// What the tool is now.
    pub(crate) fn pin(&self) -> Pin {
        Pin::of(
            &self.name,
            self.input_schema.as_ref(),
            self.output_schema.as_ref(),
        )
    }
}

/// What the server says its tool does to the world. Hints, no promises.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Hints {
    #[serde(rename = "readOnlyHint")]
    pub(crate) read_only: Option<bool>,
    #[serde(rename = "destructiveHint")]
    pub(crate) destructive: Option<bool>,
    #[serde(rename = "idempotentHint")]
    pub(crate) idempotent: Option<bool>,
    #[serde(rename = "openWorldHint")]
    pub(crate) open_world: Option<bool>,
}

/// All tools, in the server's order.
pub(super) async fn all(
    session: &Session,
    limits: &Limits,
    alarm: &Alarm<'_>,
) -> Result<Vec<ToolListing>, CallError> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let listed = page(session, cursor, limits, alarm).await?;
        tools.extend(listed.tools);
        cursor = listed.next_cursor;
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err(endless(session))
}

fn endless(session: &Session) -> CallError {
    CallError::Malformed {
        server: session.server.clone(),
        method: METHOD,
        reason: format!("its list of tools has more than {MAX_PAGES} pages"),
    }
}

/// The tool of that name, from the first page that lists it.
pub(super) async fn find(
    session: &Session,
    name: &str,
    limits: &Limits,
    alarm: &Alarm<'_>,
) -> Result<ToolListing, CallError> {
    let mut available = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let listed = page(session, cursor, limits, alarm).await?;
        for tool in listed.tools {
            if tool.name == name {
                return Ok(tool);
            }
            available.push(tool.name);
        }
        cursor = listed.next_cursor;
        if cursor.is_none() {
            let cut = |name: &String| session.secrets.cut(name);
            let shown = |names: Vec<String>| names.iter().map(cut).collect();
            return Err(CallError::UnknownTool {
                server: session.server.clone(),
                tool: name.to_owned(),
                near: shown(near(name, &available)),
                available: shown(available),
            });
        }
    }
    Err(endless(session))
}

/// One page, from that cursor on.
async fn page(
    session: &Session,
    cursor: Option<String>,
    limits: &Limits,
    alarm: &Alarm<'_>,
) -> Result<Page, CallError> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
    let body = session
        .exchange(alarm, limits, request, &mut |_| ())
        .await
        .map_err(|halt| session.error(halt, Phase::ValidateArguments, METHOD))?;
    let reason = match body {
        Answer::Result(raw) => match serde_json::from_str(raw.get()) {
            Ok(page) => return Ok(page),
            Err(error) => error.to_string(),
        },
        Answer::Error(error) => return Err(super::answer::refused(session, METHOD, error)),
        Answer::Malformed(reason) => reason,
    };
    Err(CallError::Malformed {
        server: session.server.clone(),
        method: METHOD,
        reason: session.excerpt(&reason),
    })
}

/// The names most like `wanted`, the likest first.
pub(crate) fn near(wanted: &str, available: &[String]) -> Vec<String> {
    let mut scored: Vec<(f64, &String)> = available
        .iter()
        .map(|name| {
            (
                strsim::jaro_winkler(&wanted.to_lowercase(), &name.to_lowercase()),
                name,
            )
        })
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored
        .into_iter()
        .take(MAX_NEAR)
        .map(|(_, name)| name.clone())
        .collect()
}
