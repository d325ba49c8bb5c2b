//! The tools of tests/suite/remote.rs over HTTP by rmcp: `rmcp_http PORT`. An example of this package, so that every
//! `cargo test` builds it.

use std::{error::Error, fs, process, sync::Arc, time::Duration};

use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest,
        ElicitRequestParams, ElicitationSchema, InputRequest, InputRequiredResult, ListToolsResult,
        PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::{Map, Value, json};
use tokio::{net::TcpListener, time::sleep};

struct Tools;

fn text(text: &str) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

async fn tell(context: &RequestContext<RoleServer>, done: f64) {
    if let Some(token) = context.meta.get_progress_token() {
        let progress = ProgressNotificationParam::new(token, done).with_total(3.0);
        let _ = context.peer.notify_progress(progress).await;
    }
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
        let names = ["echo", "fails", "slow", "counts", "dies", "asks"];
        let tools = names.map(|name| Tool::new(name, name, schema.clone()));
        Ok(ListToolsResult::with_all_items(tools.into()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let given = |name: &str| {
            arguments
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        Ok(match &*request.name {
            "echo" => text(given("text")),
            "fails" => {
                CallToolResult::error(vec![ContentBlock::text("the account is closed")]).into()
            }
            "slow" => {
                tell(&context, 1.0).await;
                let _ = fs::write(given("file"), "started");
                tokio::select! {
                    () = context.ct.cancelled() => { let _ = fs::write(given("file"), "cancelled"); }
                    () = sleep(Duration::from_mins(1)) => {}
                }
                text("late")
            }
            "counts" => {
                for done in [1.0, 2.0, 3.0] {
                    tell(&context, done).await;
                    sleep(Duration::from_millis(50)).await;
                }
                text("counted")
            }
            "dies" => process::abort(),
            "asks" => match request.input_responses {
                None => {
                    let schema = ElicitationSchema::builder().required_bool("ok").build();
                    let question = ElicitRequestParams::FormElicitationParams {
                        meta: None,
                        message: "Go on?".to_owned(),
                        requested_schema: schema
                            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?,
                    };
                    let question = InputRequest::Elicitation(ElicitRequest::new(question));
                    InputRequiredResult::new(Some([("answer".to_owned(), question)].into()), None)
                        .into()
                }
                Some(_) => text("answered True"),
            },
            name => {
                return Err(ErrorData::invalid_params(
                    format!("unknown tool {name}"),
                    None,
                ));
            }
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "the argument is the port")]
fn port() -> Option<u16> {
    std::env::args().nth(1)?.parse().ok()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(
        || Ok(Tools),
        sessions,
        StreamableHttpServerConfig::default(),
    );
    let listener = TcpListener::bind(("127.0.0.1", port().ok_or("no port")?)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
