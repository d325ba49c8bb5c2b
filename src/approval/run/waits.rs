//! The answer of a run that waits for an approval, and the request that is recorded with it.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    super::{
        differs::Compared,
        effective::Approvable,
        improvised,
        request::{Approval, Intended},
        stored::{KEPT, Kept, about},
    },
    terms::{Approvals, Asks, Pass, SentTask, Through},
};
use crate::{
    executor::Context,
    ledger::{ApprovalNote, Ask, AskedApproval, Bound, Ledger, Row, Running},
    task::{
        Elicitation, Failure, Fault, IMPROVISED, Outcome, Phase, Policy, Preview, State, Waiting,
        WaitingApproval, abridge,
    },
};

impl Asks {
    /// If a step of an improvised action waits, the approval of the action is used again when the action goes on.
    pub(crate) fn kept(
        outcome: &Outcome,
        ledger: &mut Ledger<'_>,
        (ask, running): (&Ask<'_>, &Running),
        context: &Context<'_>,
    ) -> Option<Box<Self>> {
        let mut steps = ask.asked.steps.iter();
        if outcome.state != State::Pending || !steps.any(|step| step.entry == IMPROVISED) {
            return None;
        }
        // Without the note, a person has to approve again.
        let case = ledger
            .case(ask, running, Some(&improvised::root(context)))
            .ok()??;
        Some(Box::new(Self {
            note: ApprovalNote::Keeps {
                id: case.request.id,
            },
            request: None,
            told: None,
        }))
    }
}

impl Approvals {
    /// Requests an approval: the answer, and what is recorded.
    pub(super) fn request(
        &self,
        (ask, intended, sent): (&Ask<'_>, &Intended, SentTask<'_>),
        (seen, unlike): (Approvable, Option<String>),
        preview: Option<Preview>,
        context: &Context<'_>,
    ) -> Pass {
        let now = context.desk.host.timestamp();
        let note = ApprovalNote::request(&ask.who, intended, now, context.desk.host.random_bytes());
        let ApprovalNote::Requests { id, asked } = &note else {
            return Pass::Go;
        };
        let policy = &intended.policy;
        let mut request: Value = serde_json::from_str(&ask.request).unwrap_or_default();
        if let Some(request) = request.as_object_mut() {
            request.insert("args".to_owned(), seen.parameters);
        }
        let diff = preview.as_ref().map(|preview| preview.diff.clone());
        let kept = Kept::of((sent.received, &ask.asked), sent.hidden, sent.caller);
        if let Some(around) = request.get_mut("context").and_then(Value::as_object_mut) {
            let approval = json!({
                "approval_id": id, "risk": policy.risk.name(), "why": why(policy), "show": policy.show,
                "quorum": policy.quorum, "root": context.desk.root.as_str(), "diff": diff,
                "input_responses": seen.answers, "hidden": seen.unseen, KEPT: kept,
                "call": Compared::call(seen.call, &ask.asked),
            });
            around.insert("approval".to_owned(), approval);
        }
        let outcome = Outcome {
            preview,
            ..self.pending((id, asked, 0), (&kept, unlike), policy, context)
        };
        let mut told = json!({
            "kind": "approval", "approval_id": id, "session_id": ask.who.session_id, "task_id": ask.who.task_id,
            "intent_hash": asked.intent_hash, "preview_hash": asked.preview_hash, "expires_at": asked.expires_at,
            "risk": policy.risk.name(), "why": why(policy), "quorum": policy.quorum,
            "root": context.desk.root.as_str(), "action": request.get("actionId"), "parameters": request.get("args"),
            "input_responses": seen.answers, "hidden": seen.unseen, "diff": diff, "approve": format!("oneact approve {id}"),
        });
        abridge(&mut told);
        Pass::Held(
            Box::new(outcome),
            Some(Box::new(Asks {
                note,
                request: Some(request.to_string()),
                told: Some(told),
            })),
        )
    }

    /// The answer while people have not decided about a request that was made before.
    pub(super) fn waits(
        &self,
        (ask, sent): (&Ask<'_>, SentTask<'_>),
        (case, unlike): (&Approval, Option<String>),
        policy: &Policy,
        context: &Context<'_>,
    ) -> Outcome {
        let kept = Kept::of((sent.received, &ask.asked), sent.hidden, sent.caller);
        let waiting = (case.id.as_str(), &case.asked, case.votes.len());
        self.pending(waiting, (&kept, unlike), policy, context)
    }

    /// The answer while a request waits, of which so many people have decided. `unlike` says how it differs from a call that
    /// was approved.
    fn pending(
        &self,
        (id, asked, votes): (&str, &AskedApproval, usize),
        (kept, unlike): (&Kept, Option<String>),
        policy: &Policy,
        context: &Context<'_>,
    ) -> Outcome {
        let expires = asked.expires_at.parse::<Timestamp>().unwrap_or_default();
        let local = context.desk.host.local(expires);
        let root = context.desk.root;
        let next = match (kept, self.through) {
            (Kept::Task { .. }, Through::Command) => format!(
                "`oneact approve {id} --run` approves and performs it; after `oneact approve {id}` alone, send the same \
                 task again"
            ),
            (Kept::Task { .. }, Through::Gateway) => format!(
                "a person approves it with `oneact approve {id}` in {root}; then call the tool `run_approved` with this \
                 `approval_id`, or this tool again with the same arguments"
            ),
            (Kept::Without(lack), Through::Command) => {
                format!("`oneact approve {id}` approves it, then send the same task again ({lack})")
            }
            (Kept::Without(lack), Through::Gateway) => format!(
                "a person approves it with `oneact approve {id}` in {root}; then call this tool again with the same \
                 arguments ({lack})"
            ),
        };
        let unlike = unlike.map_or_else(String::new, |unlike| format!(". {unlike}"));
        let message = format!(
            "approval {id} is required ({} risk) until {}; nothing was performed: {next}{unlike}",
            policy.risk,
            local.strftime("%H:%M")
        );
        Outcome {
            waiting: Some(Waiting::Approval(WaitingApproval {
                approval_id: id.to_owned(),
                risk: policy.risk.name(),
                why: why(policy),
                intent_hash: asked.intent_hash.clone(),
                preview_hash: asked.preview_hash.clone(),
                expires_at: local.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string(),
                approve: format!("oneact approve {id}"),
                perform: match kept {
                    Kept::Task { .. } => Some(format!("oneact run --approved {id}")),
                    Kept::Without(_) => None,
                },
                by: match policy.elicitation {
                    Elicitation::Off => Vec::new(),
                    Elicitation::Allowed => vec!["elicitation"],
                },
                votes,
            })),
            ..Outcome::nothing_done(
                State::Pending,
                Phase::Inputs,
                Some(Failure::new(Fault::ApprovalRequired, message)),
            )
        }
    }
}

/// How this call differs from the newest one of the same action in this root that was approved and not performed: an agent
/// may have reworded it.
pub(super) fn unlike(
    ledger: &mut Ledger<'_>,
    (ask, through): (&Ask<'_>, Through),
    now: &Compared,
    context: &Context<'_>,
) -> Option<String> {
    let root = improvised::root(context);
    let in_root = |case: &Approval| {
        let is_other = match case.asked.bound {
            Bound::Task => case.session_id == ask.who.session_id,
            Bound::Session | Bound::Call => true,
        };
        is_other && case.asked.root.as_ref() == Some(&root)
    };
    let open = ledger.open_requests(&ask.who, in_root).ok()?;
    let mut approved = open
        .into_iter()
        .filter(|case| case.denial().is_none() && case.approvals().next().is_some());
    let action: Vec<&str> = ask
        .asked
        .steps
        .iter()
        .map(|step| step.entry.as_str())
        .collect();
    let action = action.join("+");
    approved.find_map(|case| {
        let row = ledger.asked_row(&case).ok()??;
        if row.action_type.as_deref() != Some(&action) {
            return None;
        }
        let fields = compared(&row)?.from(now)?;
        let id = &case.id;
        let way = match through {
            Through::Command => format!("`oneact run --approved {id}`"),
            Through::Gateway => "the tool `run_approved`".to_owned(),
        };
        Some(format!(
            "It differs from {id}, which was approved, in {fields}; {way} performs that one"
        ))
    })
}

/// What the row of a request can be compared by. None if it was pruned.
pub(super) fn compared(row: &Row) -> Option<Compared> {
    let request: Value = serde_json::from_str(row.request.as_deref()?).ok()?;
    let about = about(Some(row))?;
    Some(Compared {
        call: about.get("call").cloned().unwrap_or_default(),
        args: request.get("args").cloned().unwrap_or_default(),
        diff: about
            .get("diff")
            .and_then(Value::as_str)
            .map(ToOwned::to_owned),
    })
}

pub(super) fn why(policy: &Policy) -> Vec<String> {
    if policy.because.is_empty() {
        return vec!["the catalog says so (`approval.when`)".to_owned()];
    }
    policy.because.clone()
}
