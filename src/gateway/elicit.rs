//! Asks the user of the host about a request for an approval (MCP: elicitation), where the catalog allows that. Only the
//! host says that it asked somebody, and the record of the decision says so.

use std::{fmt, sync::Arc};

use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, ElicitRequest, ElicitRequestParams, ElicitResult,
        ElicitationAction, ElicitationSchema, InputRequest, InputRequiredResult, ProtocolVersion,
        RequestStateCodec, SealOptions,
    },
    service::RequestContext,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::task::{Answer, ApprovalRule, Failure, Fault, canonical, visible};

/// The name of the only question, and of its only field.
const APPROVE: &str = "approve";

/// The longest name of a host that is recorded, in characters.
const MOST_NAME: usize = 100;

/// The requests for approvals of the project.
pub(crate) trait Requests: Send + Sync + fmt::Debug {
    /// What a person has to see before the decision.
    fn shown(&self, id: &str, intent_hash: &str) -> Result<String, String>;

    /// Records the decision about the request with this id, for the call with this hash.
    fn decide(&self, request: (&str, &str), answer: Answer, host: &str) -> Result<(), String>;
}

/// A request for an approval that the host may answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) approval_id: String,
    pub(super) intent_hash: String,
}

impl Asked {
    /// The request for which this envelope waits, if the catalog lets the host answer it.
    pub(super) fn of(waiting: &Value) -> Option<Self> {
        let by = waiting.get("by")?.as_array()?;
        by.contains(&json!("elicitation")).then_some(())?;
        Self::deserialize(waiting).ok()
    }
}

/// How a client can be asked.
pub(super) enum Way {
    /// By a request of the server (`elicitation/create`).
    Request,
    /// By the result of the call (`input_required`).
    Result,
}

/// None if the client has not said that it can show a form.
pub(super) fn way(context: &RequestContext<RoleServer>) -> Option<Way> {
    let can = context.client_capabilities()?.elicitation?;
    if can.form.is_none() && can.url.is_some() {
        return None;
    }
    let modern = context.protocol_version()? >= ProtocolVersion::V_2026_07_28;
    Some(if modern { Way::Result } else { Way::Request })
}

/// What the client sends back with the user's answer, unchanged.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    asked: Asked,
    /// The name of the delivery that waits: a request of the client has an id of its own each time.
    delivery: String,
}

/// An answer of the user to the question of an earlier result.
pub(super) struct Resumed {
    pub(super) asked: Asked,
    pub(super) delivery: String,
    /// None if the user did not decide.
    pub(super) answer: Option<Answer>,
}

/// Asks, and reads what the client sends back.
#[derive(Debug)]
pub(crate) struct Elicit {
    requests: Arc<dyn Requests>,
    codec: RequestStateCodec,
}

impl Elicit {
    /// With a random key, which authenticates what the client sends back.
    pub(crate) fn new(requests: Arc<dyn Requests>, key: Vec<u8>) -> Self {
        Self {
            requests,
            codec: RequestStateCodec::new_unchecked(key),
        }
    }

    /// The decision of the user, asked with a request of the server. None if there is none.
    pub(super) async fn ask(
        &self,
        asked: &Asked,
        context: &RequestContext<RoleServer>,
    ) -> Option<Answer> {
        let question = self.question(asked).await?;
        match context.peer.create_elicitation(question).await {
            Ok(result) => decision(&result),
            Err(error) => {
                tracing::warn!("The host's answer decides nothing: {error}");
                None
            }
        }
    }

    /// The result that makes the client ask its user and then call again.
    pub(super) async fn required(
        &self,
        asked: Asked,
        delivery: String,
        call: &[u8],
    ) -> Option<CallToolResponse> {
        let question = self.question(&asked).await?;
        let question = InputRequest::Elicitation(ElicitRequest::new(question));
        let state = State { asked, delivery };
        let options = SealOptions::new()
            .associated_data(call)
            .ttl(ApprovalRule::MOST);
        let state = self.codec.seal_json_with(&state, &options).ok()?;
        let questions = [(APPROVE.to_owned(), question)].into();
        Some(InputRequiredResult::new(Some(questions), Some(state)).into())
    }

    /// Reads what the client sends back with a call. The state must be one that this process made for the same call.
    pub(super) fn resumed(
        &self,
        request: &CallToolRequestParams,
        call: &[u8],
    ) -> Result<Option<Resumed>, Failure> {
        let Some(state) = &request.request_state else {
            return match &request.input_responses {
                None => Ok(None),
                Some(_) => Err(refused(
                    "`inputResponses` is given without `requestState`".to_owned(),
                )),
            };
        };
        let State { asked, delivery } = self.codec.open_json_with(state, call).map_err(|error| {
            refused(format!(
                "`requestState` belongs to another call or to another process of oneact ({error}); call the tool again \
                 without it"
            ))
        })?;
        let said = request
            .input_responses
            .as_ref()
            .and_then(|all| all.get(APPROVE));
        let said = said.map(ElicitResult::deserialize).transpose();
        let said = said.map_err(|error| {
            refused(format!("`inputResponses.{APPROVE}` is no answer: {error}"))
        })?;
        Ok(Some(Resumed {
            asked,
            delivery,
            answer: said.as_ref().and_then(decision),
        }))
    }

    /// Records the decision.
    pub(super) async fn decide(
        &self,
        asked: Asked,
        answer: Answer,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), Failure> {
        let client = context.client_info();
        let name = client.map_or_else(
            || "without a name".to_owned(),
            |client| format!("{} {}", client.name, client.version),
        );
        let name: String = visible(&name).chars().take(MOST_NAME).collect();
        let requests = Arc::clone(&self.requests);
        let recorded = spawn_blocking(move || {
            requests.decide((&asked.approval_id, &asked.intent_hash), answer, &name)
        });
        let recorded = recorded
            .await
            .unwrap_or_else(|error| Err(error.to_string()));
        recorded.map_err(|why| Failure::new(Fault::ApprovalMismatch, why))
    }

    /// The question, with everything that a person has to see.
    async fn question(&self, asked: &Asked) -> Option<ElicitRequestParams> {
        let (requests, asked) = (Arc::clone(&self.requests), asked.clone());
        let shown = spawn_blocking(move || requests.shown(&asked.approval_id, &asked.intent_hash));
        let message = match shown.await.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(text) => text,
            Err(why) => {
                tracing::warn!("The host cannot ask its user: {why}");
                return None;
            }
        };
        let schema = ElicitationSchema::builder().required_bool(APPROVE).build();
        Some(ElicitRequestParams::FormElicitationParams {
            meta: None,
            message,
            requested_schema: schema.ok()?,
        })
    }
}

/// What makes two calls the same call for the user's answer.
pub(super) fn call(request: &CallToolRequestParams) -> Vec<u8> {
    let call = json!([request.name, request.arguments]);
    canonical(&call).unwrap_or_default().into_bytes()
}

/// An accepted form says yes or no; a declined one says no. If it was closed, nothing was decided.
fn decision(result: &ElicitResult) -> Option<Answer> {
    match result.action {
        ElicitationAction::Accept => {
            let agrees = result.content.as_ref()?.get(APPROVE)?.as_bool()?;
            Some(if agrees {
                Answer::Approved
            } else {
                Answer::Denied
            })
        }
        ElicitationAction::Decline => Some(Answer::Denied),
        // Cancelled, or a word of a later version.
        _ => None,
    }
}

fn refused(why: String) -> Failure {
    Failure::new(Fault::InvalidShape, why)
}
