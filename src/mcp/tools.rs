//! The tools of a server: `tools/list`, page by page.

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    answer,
    bounds::{self, LIST_BYTES, TOOL_BYTES},
    error::CallError,
    message::{LIST, members},
    raw::Raw,
    session::Session,
};
use crate::task::{Effects, Pin, nearest};

/// A server with more pages of tools than this is assumed to repeat them.
const MAX_PAGES: usize = 100;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    next_cursor: Option<String>,
}

/// A tool of which only the name is read.
#[derive(Deserialize)]
struct Named {
    name: String,
}

/// A tool as its server lists it (MCP, Tools).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolListing {
    pub(crate) name: String,
    description: Option<Value>,
    pub(crate) input_schema: Option<Value>,
    pub(crate) output_schema: Option<Value>,
    #[serde(default)]
    annotations: Option<Hints>,
    #[serde(default, rename = "_meta")]
    meta: Option<Value>,
}

/// The key of a tool's `_meta` that lists the programs that the tool starts from the server's `PATH`. The built-in
/// servers use it.
const PROGRAMS: &str = "oneact/programs";

impl ToolListing {
    pub(crate) fn programs(&self) -> impl Iterator<Item = &str> {
        let named = self.meta.as_ref().and_then(|meta| meta.get(PROGRAMS));
        let named = named.and_then(Value::as_array).into_iter().flatten();
        named.filter_map(Value::as_str)
    }

    /// The description; empty if there is none.
    pub(crate) fn description(&self) -> &str {
        let said = self.description.as_ref().and_then(Value::as_str);
        said.unwrap_or_default()
    }

    /// What the server says about the effects of the tool; `None` for what it does not say, or what has no meaning.
    pub(crate) fn hints(&self) -> Effects {
        let said = self.annotations.unwrap_or_default();
        // MCP defines the two others only for tools that are not read-only (`ToolAnnotations`).
        let writes = said.read_only != Some(true);
        let destroys = (said.destructive == Some(true)).then_some(false);
        Effects {
            read_only: said.read_only.or(destroys),
            destructive: said.destructive.filter(|_| writes),
            idempotent: said.idempotent.filter(|_| writes),
            open_world: said.open_world,
        }
    }

    pub(crate) fn pin(&self) -> Pin {
        Pin::of(
            &self.name,
            self.input_schema.as_ref(),
            self.output_schema.as_ref(),
            self.description.as_ref(),
        )
    }
}

/// What the server says about the effects of its tool (MCP, `ToolAnnotations`). These are hints, not promises.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
struct Hints {
    #[serde(rename = "readOnlyHint")]
    read_only: Option<bool>,
    #[serde(rename = "destructiveHint")]
    destructive: Option<bool>,
    #[serde(rename = "idempotentHint")]
    idempotent: Option<bool>,
    #[serde(rename = "openWorldHint")]
    open_world: Option<bool>,
}

/// All tools, in the server's order.
pub(super) async fn all(session: &mut Session) -> Result<Vec<ToolListing>, CallError> {
    let mut pages = Pages::new(session);
    let mut tools = Vec::new();
    while let Some(page) = pages.next().await? {
        for tool in page {
            tools.push(pages.read(&tool)?);
        }
    }
    Ok(tools)
}

/// The tool of that name, from the first page that lists it. Only the names of the other tools are read.
pub(super) async fn find(session: &mut Session, name: &str) -> Result<ToolListing, CallError> {
    let mut pages = Pages::new(session);
    let mut available = Vec::new();
    while let Some(page) = pages.next().await? {
        for tool in page {
            let named: Named = pages.parsed(&tool)?;
            if named.name == name {
                return pages.read(&tool);
            }
            available.push(named.name);
        }
    }
    let spec = &session.spec;
    let cut = |name: &String| session.link.wire.secrets.cut(name);
    let near = nearest(name, available.iter().map(String::as_str));
    Err(CallError::UnknownTool {
        server: spec.name.clone(),
        tool: name.to_owned(),
        near: near.map(|near| cut(&near.to_owned())),
        available: available.iter().map(cut).collect(),
    })
}

struct Pages<'a> {
    session: &'a mut Session,
    /// The parameters that request the next page.
    next: Option<Map<String, Value>>,
    count: usize,
    bytes: usize,
}

impl<'a> Pages<'a> {
    fn new(session: &'a mut Session) -> Self {
        Self {
            session,
            next: Some(Map::new()),
            count: 0,
            bytes: 0,
        }
    }

    /// The texts of the tools on the next page.
    async fn next(&mut self) -> Result<Option<Vec<Raw>>, CallError> {
        let Some(params) = self.next.take() else {
            return Ok(None);
        };
        if self.count == MAX_PAGES {
            let problem = format!("its list of tools has more than {MAX_PAGES} pages");
            return Err(self.malformed(&problem));
        }
        self.count += 1;
        let answer = self.session.exchange(LIST, params).await;
        let answer = answer.map_err(|halt| self.session.error(halt, LIST))?;
        let raw = answer::result(self.session, LIST, answer)?;
        self.bytes += raw.get().len();
        if self.bytes > LIST_BYTES {
            let problem = bounds::too_long("its list of tools", self.bytes, LIST_BYTES);
            return Err(self.malformed(&problem));
        }
        let page: Page<'_> = self.parsed(&raw)?;
        let tools = page.tools.into_iter().map(|tool| raw.part(tool)).collect();
        let cursor = page.next_cursor;
        self.next = cursor.map(|cursor| members([("cursor", cursor.into())]));
        Ok(Some(tools))
    }

    /// A tool of a page, with its schemas.
    fn read(&self, tool: &Raw) -> Result<ToolListing, CallError> {
        let bytes = tool.get().len();
        if bytes > TOOL_BYTES {
            let named: Named = self.parsed(tool)?;
            let what = format!("what it says of its tool `{}`", bounds::name(&named.name));
            return Err(self.malformed(&bounds::too_long(&what, bytes, TOOL_BYTES)));
        }
        self.parsed(tool)
    }

    fn parsed<'t, T: Deserialize<'t>>(&self, raw: &'t Raw) -> Result<T, CallError> {
        serde_json::from_str(raw.get()).map_err(|error| self.malformed(&error.to_string()))
    }

    fn malformed(&self, reason: &str) -> CallError {
        self.session.malformed(LIST, reason)
    }
}
