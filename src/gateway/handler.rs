//! Answers requests: `tools/list` from the catalog, `tools/call` by a supervisor.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, Implementation, InitializeRequestParams,
        InitializeResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
        ServerConfig, SubscriptionFilter, Tool,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::json;
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval, sleep},
};

use crate::{
    catalog::Listed,
    task::{Answer, Failure, Fault},
};

use super::{
    answer::{Answered, answered, refused},
    caller::Caller,
    elicit::{Asked, Resumed, Way, call, way},
    offer::{Offer, Version},
    order::{Order, approved, order},
    settings::Gateway,
    supervisor::{Begun, Supervisors},
    told::{SILENCE, Told},
};

/// How often the file of the catalog is looked at, apart from each request.
const LOOK: Duration = Duration::from_secs(2);

const INSTRUCTIONS: &str = "Each tool is an action of the catalog of this project. A call is checked, performed at most \
                            once and recorded. A result with isError states the class of the failure, and what the \
                            call waits for.";

/// Answers one client: the only one on stdio; over HTTP one session, or one request of a client without a session.
#[derive(Clone)]
pub(super) struct Handler {
    shared: Arc<Shared>,
    caller: Arc<Caller>,
}

/// What all clients of this process share.
pub(super) struct Shared {
    pub(super) gateway: Gateway,
    /// The current offer. Receivers learn of each change of the tools.
    offer: watch::Sender<Arc<Offer>>,
    /// The last version of the catalog that could not be used.
    unusable: Mutex<Option<Version>>,
    supervisors: Arc<Supervisors>,
    client_gone: watch::Receiver<()>,
}

impl Handler {
    pub(super) fn new(shared: Arc<Shared>, caller: Arc<Caller>) -> Self {
        Self { shared, caller }
    }

    /// Performs a call. The failure says why its run gave no answer.
    async fn perform(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, Failed> {
        let shared = &self.shared;
        let offer = shared.current();
        let entry = if offer.performs_approved(&request.name) {
            None
        } else {
            Some(offer.find(&request.name).map_err(Failed::NotOffered)?)
        };
        let (elicit, call) = (&shared.gateway.elicit, call(&request));
        let resumed = elicit.resumed(&request, &call)?;
        let arguments = request.arguments.unwrap_or_default();
        let order = if let Some(entry) = entry {
            let known = self.caller.refs();
            let delivery = (&context.id, &*context.meta.0);
            let earlier = resumed.as_ref().map(|resumed| resumed.delivery.clone());
            order(
                entry,
                arguments,
                delivery,
                &known,
                (self.caller.session(), earlier),
            )?
        } else {
            approved(&arguments, &context.id, self.caller.session())?
        };
        let (first, way) = match resumed {
            None => (
                self.run((&offer, entry), order.clone(), context).await?,
                way(context),
            ),
            // The user was asked, and is not asked again.
            Some(Resumed { asked, answer, .. }) => {
                let decision = answer.map(|answer| (asked, answer));
                let first = self.decided(decision, (&offer, entry), order.clone(), context);
                (first.await?, None)
            }
        };
        let asked = first.approval.as_ref().and_then(Asked::of);
        let (Some(asked), Some(way)) = (asked, way) else {
            return Ok(first.result.into());
        };
        match way {
            Way::Result => {
                let required = elicit.required(asked, order.delivery, &call).await;
                Ok(required.unwrap_or_else(|| first.result.into()))
            }
            Way::Request => {
                let answer = tokio::select! {
                    answer = elicit.ask(&asked, context) => answer,
                    () = self.stop(context) => None,
                };
                let Some(answer) = answer else {
                    return Ok(first.result.into());
                };
                let decision = Some((asked, answer));
                let second = self.decided(decision, (&offer, entry), order, context);
                Ok(second.await?.result.into())
            }
        }
    }

    /// Records what the user decided, if anything, and performs the task of the call. If the decision cannot be recorded
    /// because an earlier run has used it, this run returns the recorded answer. If the call still waits, the result is
    /// the refusal.
    async fn decided(
        &self,
        decision: Option<(Asked, Answer)>,
        offered: (&Offer, Option<&Listed>),
        order: Order,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answered, Failed> {
        let mut refusal = None;
        if let Some((asked, answer)) = decision {
            let decided = self
                .shared
                .gateway
                .elicit
                .decide(asked, answer, context)
                .await;
            refusal = match answer {
                Answer::Approved => decided.err(),
                // If a denial cannot be recorded, nothing is performed.
                Answer::Denied => decided.map(|()| None)?,
            };
        }
        let answered = self.run(offered, order, context).await?;
        match refusal {
            Some(refusal) if answered.approval.is_some() => Err(Failed::Refused(refusal)),
            _ => Ok(answered),
        }
    }

    /// Is ready when the call is cancelled, or the client is gone.
    fn stop(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (cancelled, mut gone) = (context.ct.clone(), self.shared.client_gone.clone());
        async move {
            tokio::select! {
                () = cancelled.cancelled() => {}
                _ = gone.changed() => {}
            }
        }
    }

    /// Performs the task of a call with a process of its own, or with that of its server.
    async fn run(
        &self,
        (offer, entry): (&Offer, Option<&Listed>),
        mut order: Order,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answered, Failure> {
        let shared = &self.shared;
        let token = context.meta.get_progress_token();
        let kept = entry.and_then(|entry| offer.kept_server(entry));
        let verb = if kept.is_some() { "supervise" } else { "run" };
        let served = format!("--served={}", self.caller.session().served);
        let mut arguments = vec![verb.to_owned(), served];
        arguments.extend_from_slice(&shared.gateway.flags);
        arguments.append(&mut order.flags);
        if kept.is_none() && token.is_some() {
            arguments.push("--progress=jsonl".to_owned());
        }
        let stop = self.stop(context);
        let Begun {
            answer,
            mut progress,
        } = shared.supervisors.start(kept, arguments, order.task, stop);
        let mut answer = Box::pin(answer);
        let mut told = Told::default();
        let line = loop {
            let seen = tokio::select! {
                biased;
                Ok(()) = progress.changed() => progress.borrow_and_update().clone(),
                line = &mut answer => break line,
                () = sleep(SILENCE) => None,
            };
            let Some(token) = &token else {
                continue;
            };
            let param = told.next(token.clone(), seen);
            if let Err(error) = context.peer.notify_progress(param).await {
                tracing::debug!(%error, "progress not delivered");
            }
        };
        let internal = |problem: String| Failure::new(Fault::Internal, problem);
        let line =
            line.map_err(|_| internal("the supervisor of the call was lost".to_owned()))??;
        let answered = answered(&line).map_err(internal)?;
        self.caller.refs().extend(answered.refs.clone());
        Ok(answered)
    }
}

impl Shared {
    /// `client_gone` closes when the only client closes its end, or when this process ends.
    pub(super) fn new(
        gateway: Gateway,
        offer: Offer,
        supervisors: Arc<Supervisors>,
        client_gone: watch::Receiver<()>,
    ) -> Self {
        Self {
            gateway,
            offer: watch::Sender::new(Arc::new(offer)),
            unusable: Mutex::default(),
            supervisors,
            client_gone,
        }
    }

    /// The offer of the catalog as it is now. If the catalog has become unusable, the last offer stays: its calls are
    /// refused with the reason.
    fn current(&self) -> Arc<Offer> {
        let last = Arc::clone(&self.offer.borrow());
        let (catalog, profile) = (&self.gateway.catalog, self.gateway.profile.as_deref());
        let version = Version::of(catalog);
        let mut unusable = self.unusable.lock().unwrap_or_else(PoisonError::into_inner);
        if last.seen == version || *unusable == version {
            return last;
        }
        match Offer::load(catalog, profile) {
            Ok(new) => {
                let new = Arc::new(new);
                self.offer.send_if_modified(|offer| {
                    *offer = Arc::clone(&new);
                    new.tools != last.tools
                });
                new
            }
            Err(failure) => {
                tracing::warn!("the last tools stay offered: {}", failure.message);
                *unusable = version;
                last
            }
        }
    }

    /// Waits for the next change of the tools. None if the client is gone.
    async fn change(
        &self,
        changes: &mut watch::Receiver<Arc<Offer>>,
        closed: &(dyn Fn() -> bool + Sync),
    ) -> Option<()> {
        let mut gone = self.client_gone.clone();
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = gone.changed() => return None,
                _ = look.tick() => {
                    if closed() {
                        return None;
                    }
                    drop(self.current());
                }
                changed = changes.changed() => return changed.ok(),
            }
        }
    }
}

/// Why a call has no result of a run.
enum Failed {
    /// The client named a tool that it was not offered: an error of the protocol.
    NotOffered(Failure),
    Refused(Failure),
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self::Refused(failure)
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let tools = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed();
        let about = Implementation::new("oneact-catalog", env!("CARGO_PKG_VERSION"));
        let config = ServerConfig::new(tools.build()).with_server_info(about);
        config.with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            self.shared.current().tools.clone(),
        ))
    }

    /// For the headers that repeat arguments.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let offer = self.shared.current();
        offer.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match self.perform(request, &context).await {
            Ok(response) => Ok(response),
            Err(Failed::Refused(failure)) => Ok(refused(&failure).into()),
            Err(Failed::NotOffered(Failure { fault, message, .. })) => Err(
                ErrorData::invalid_params(message, Some(json!({"fault": fault.name()}))),
            ),
        }
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        // A client may call before it says that it is initialized.
        self.caller.begins_session();
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            let mut changes = shared.offer.subscribe();
            let closed = || context.peer.is_transport_closed();
            while shared.change(&mut changes, &closed).await.is_some() {
                if let Err(error) = context.peer.notify_tool_list_changed().await {
                    tracing::debug!(%error, "a change of the tools was not told");
                    break;
                }
            }
        });
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.shared.offer.subscribe();
        loop {
            let change = tokio::select! {
                () = subscription.cancelled() => None,
                change = self.shared.change(&mut changes, &|| false) => change,
            };
            if change.is_none()
                || subscription
                    .sink()
                    .notify_tool_list_changed()
                    .await
                    .is_err()
            {
                return Ok(());
            }
        }
    }
}
