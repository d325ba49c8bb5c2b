//! The tools of this directory by rmcp. The example `rmcp_tools` of this package, so that every `cargo test` builds it.

use std::{error::Error, thread, time::Duration};

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};
use serde_json::{Map, Value, json};

const TOOLS: [&str; 13] = [
    "raises",
    "refuses",
    "times_out",
    "nan",
    "no_rows",
    "one_row",
    "three_rows",
    "records",
    "number",
    "empty_text",
    "beside",
    "size",
    "prints",
];

struct Tools;

fn texts(texts: &[&str]) -> CallToolResult {
    CallToolResult::success(texts.iter().map(|text| ContentBlock::text(*text)).collect())
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = Map::from_iter([("type".to_owned(), json!("object"))]);
        let tools = TOOLS.map(|name| Tool::new(name, name, schema.clone()));
        Ok(ListToolsResult::with_all_items(tools.into()))
    }

    #[expect(clippy::print_stdout, reason = "a tool that prints is a situation")]
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let result = match &*request.name {
            "raises" => return Err(ErrorData::internal_error("", None)),
            "refuses" => return Err(ErrorData::internal_error("the account is closed", None)),
            "times_out" => {
                let late = tokio::time::sleep(Duration::from_mins(1));
                let late = tokio::time::timeout(Duration::from_millis(10), late).await;
                late.map_or_else(
                    |late| CallToolResult::error(vec![ContentBlock::text(late.to_string())]),
                    |()| texts(&[]),
                )
            }
            "nan" => CallToolResult::structured(json!({"success": true, "mean": f64::NAN})),
            "no_rows" => texts(&[]),
            "one_row" => texts(&["a"]),
            "three_rows" => texts(&["a", "b", "c"]),
            "records" => texts(&[r#"{"id": 1}"#, r#"{"id": 2}"#]),
            "number" => CallToolResult::structured(json!(42)),
            "empty_text" => texts(&[""]),
            "beside" => texts(&["saved", r#"{"success": true}"#]),
            "size" => {
                let arguments = request.arguments.unwrap_or_default();
                let size = arguments.get("text").and_then(Value::as_str).map(str::len);
                CallToolResult::structured(json!({"result": size}))
            }
            "prints" => {
                println!("working …");
                texts(&[r#"{"success": true}"#])
            }
            name => {
                return Err(ErrorData::invalid_params(
                    format!("unknown tool {name}"),
                    None,
                ));
            }
        };
        Ok(result.into())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the environment tells how long the start takes"
)]
fn start() -> Option<Duration> {
    let takes = std::env::var("START_TAKES").ok()?;
    takes.parse().ok().map(Duration::from_secs)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    thread::sleep(start().unwrap_or_default());
    let served = Tools
        .serve((tokio::io::stdin(), tokio::io::stdout()))
        .await?;
    served.waiting().await?;
    Ok(())
}
