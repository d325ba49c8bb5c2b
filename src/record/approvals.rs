//! Approvals during a run: what has to be approved, whether it was, and what the answer says while it is not.

use std::time::Duration;

use camino::Utf8Path;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    Project,
    approvers::{signers, wait_for},
    effective::{Seen, intended},
    grants,
};
use crate::{
    catalog::ApprovalSettings,
    executor::{self, Context, Executed, FileOrder, FileWork, Hidden, Work},
    host::{self, Moment, Program},
    ledger::{Approval, Ask, Intended, Ledger, LedgerError, Note, Passage, Running, Signer},
    task::{
        Admission, ApprovalRule, Elicitation, Failure, Fault, IMPROVISED, Need, Outcome, Phase,
        Policy, Preview, Risk, Sanction, State, Waiting, WaitingApproval, abridge,
    },
};

/// How long the program that is told of a request may take.
const NOTIFIED: Duration = Duration::from_secs(4);

/// Why a plan waits although the policy of its entry does not say so.
const OF_PLAN: &str = "the plan changes protected files, or asks for an approval itself";

/// The rules for the approvals of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Approvals {
    /// One for each entry of the task.
    pub(crate) rules: Vec<ApprovalRule>,
    pub(super) settings: ApprovalSettings,
    /// How long the run itself waits for people (`--wait`).
    pub(crate) wait: Option<Duration>,
}

/// What a run does after its request was claimed.
pub(super) enum Pass {
    Go,
    /// Nothing is performed: this is the answer, and what its link says about the approval.
    Held(Box<Outcome>, Option<Box<Asks>>),
}

/// A request for an approval, or what becomes of one, to be recorded with the answer.
pub(super) struct Asks {
    pub(super) note: Note,
    /// The request as the row keeps it, if the answer asks.
    pub(super) request: Option<String>,
    /// What is sent to the program that is told of requests.
    told: Option<Value>,
}

impl Asks {
    /// If a step of an improvised action waits, the approval of the action is used again when the action goes on.
    pub(super) fn kept(
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
            .case(ask, running, Some(&grants::root(context)))
            .ok()??;
        Some(Box::new(Self {
            note: Note::Keeps { id: case.id },
            request: None,
            told: None,
        }))
    }
}

impl Approvals {
    pub(super) fn policy(&self, admission: Option<&Admission>) -> Policy {
        let (risk, because) = admission.map_or((Risk::default(), Vec::new()), |admission| {
            (admission.risk, admission.because.clone())
        });
        Policy::of(self.rules.iter(), risk, &because)
    }

    /// Whose signatures count. A file that cannot be read lists nobody.
    pub(super) fn signers(&self, root: &Utf8Path) -> Vec<Signer> {
        signers(&self.settings, root)
    }

    /// Dispatches the request, or holds it back because it needs an approval that it does not have.
    pub(super) fn pass(
        &self,
        ledger: &mut Ledger<'_>,
        (ask, running): (&Ask<'_>, &Running),
        work: &mut Work,
        (admission, hidden): (Option<&Admission>, &Hidden),
        context: &Context<'_>,
    ) -> Result<Pass, LedgerError> {
        if matches!(&*work, Work::Tools(ready) if ready.job.is_several() && !ready.job.is_improvised())
        {
            // Each step waits for its own approval.
            return Ok(went(ledger.dispatch(ask, running, None)?));
        }
        let policy = self.policy(admission);
        let mut policy = match (&ask.under, &*work) {
            (Some(_), _) => grants::covered(policy),
            (None, Work::Grant(grant)) => {
                let apart = grant.apart.iter().map(|(id, risk)| (id.as_str(), *risk));
                grants::asked(policy, apart)
            }
            (None, Work::Tools(ready)) if ready.job.is_improvised() => {
                grants::asked(policy, grants::apart(&ready.job))
            }
            (None, Work::Tools(_) | Work::Files(_) | Work::Said(_)) => policy,
        };
        policy.root = Some(grants::root(context));
        // A plan turns out to need an approval only when it is checked. Then it was requested by an earlier run.
        let known = match work {
            Work::Files(_) if policy.need == Need::None => ledger
                .case(ask, running, policy.root.as_deref())?
                .is_some_and(|case| case.used.is_none() && case.ended.is_none()),
            _ => false,
        };
        if policy.need == Need::None && !known {
            return Ok(went(ledger.dispatch(ask, running, None)?));
        }
        if policy.need == Need::None {
            policy.because.push(OF_PLAN.to_owned());
        }
        let signers = self.signers(context.root);
        let mut preview = None;
        let (intent_hash, seen) = match work {
            Work::Tools(ready) => intended(ledger, ask, ready, hidden, context)?,
            Work::Files(files) => match executor::foresee(files, context) {
                Ok(foreseen) => {
                    let hash = foreseen.hash.clone();
                    preview = Some(foreseen);
                    (hash, Seen::of_plan(ask))
                }
                Err(outcome) => return Ok(Pass::Held(outcome, None)),
            },
            Work::Grant(_) | Work::Said(_) => (
                ledger.intent(ask, ask.asked.clone(), &[Value::Null])?,
                Seen::of_grant(ask, hidden),
            ),
        };
        let intended = Intended {
            policy,
            intent_hash,
            preview_hash: preview.as_ref().map(|preview| preview.hash.clone()),
            signers,
        };
        let passage = ledger.dispatch(ask, running, Some(&intended))?;
        if let (Passage::Dispatched, Some(preview), Work::Files(files)) =
            (&passage, &preview, &mut *work)
        {
            sanction(files, &preview.hash);
        }
        Ok(match passage {
            Passage::Dispatched => Pass::Go,
            Passage::Ask => {
                let now = context.host.timestamp();
                Self::ask((ask, &intended), seen, preview, now, context)
            }
            Passage::Wait(case) => {
                Pass::Held(Box::new(waits(&case, &intended.policy, context)), None)
            }
            Passage::Ungranted(failure) => ungranted(failure),
            Passage::Refused { fault, why, case } => {
                let again = match fault {
                    Fault::ApprovalDenied => {
                        "Send it with another `salt` to request an approval again."
                    }
                    _ => "Send it again to request a new approval.",
                };
                let reason = case.denial().and_then(|vote| vote.note.as_ref());
                let reason = reason.map_or_else(String::new, |note| format!(" ({note})"));
                let message = format!(
                    "approval {}: {why}{reason}; nothing was performed. {again}",
                    case.id
                );
                let outcome = Outcome::nothing_done(
                    State::Rejected,
                    Phase::Inputs,
                    Some(Failure::new(fault, message)),
                );
                let ends = (fault != Fault::ApprovalDenied).then(|| {
                    Box::new(Asks {
                        note: Note::Ends {
                            id: case.id.clone(),
                        },
                        request: None,
                        told: None,
                    })
                });
                Pass::Held(Box::new(outcome), ends)
            }
        })
    }

    /// Requests an approval: the answer, and what is recorded.
    fn ask(
        (ask, intended): (&Ask<'_>, &Intended),
        seen: Seen,
        preview: Option<Preview>,
        now: Timestamp,
        context: &Context<'_>,
    ) -> Pass {
        let note = Note::request(
            context.operation_id,
            intended,
            now,
            context.host.random_bytes(),
        );
        let Note::Requests { id, asked } = &note else {
            return Pass::Go;
        };
        let policy = &intended.policy;
        let mut request: Value = serde_json::from_str(&ask.request).unwrap_or_default();
        if let Some(request) = request.as_object_mut() {
            request.insert("args".to_owned(), seen.parameters);
        }
        let diff = preview.as_ref().map(|preview| preview.diff.clone());
        if let Some(around) = request.get_mut("context").and_then(Value::as_object_mut) {
            let approval = json!({
                "approval_id": id, "risk": policy.risk.name(), "why": why(policy), "show": policy.show,
                "quorum": policy.quorum, "root": context.root.as_str(), "diff": diff,
                "input_responses": seen.answers, "hidden": seen.unseen,
            });
            around.insert("approval".to_owned(), approval);
        }
        let outcome = Outcome {
            preview,
            ..pending(
                id,
                (&asked.intent_hash, asked.preview_hash.as_deref()),
                &asked.expires_at,
                0,
                policy,
                context,
            )
        };
        let mut told = json!({
            "kind": "approval", "approval_id": id, "session_id": ask.who.session_id, "task_id": ask.who.task_id,
            "intent_hash": asked.intent_hash, "preview_hash": asked.preview_hash, "expires_at": asked.expires_at,
            "risk": policy.risk.name(), "why": why(policy), "quorum": policy.quorum,
            "root": context.root.as_str(), "action": request.get("actionId"), "parameters": request.get("args"),
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

    /// The request of a plan that was refused because it needs an approval; none if the plan was not.
    pub(super) fn of_plan(
        &self,
        outcome: &Outcome,
        ask: &Ask<'_>,
        admission: Option<&Admission>,
        context: &Context<'_>,
    ) -> Option<Pass> {
        let needed = outcome
            .failure
            .as_ref()
            .filter(|failure| failure.fault == Fault::ApprovalRequired)?;
        let preview = outcome.preview.clone()?;
        let mut policy = self.policy(admission);
        policy.because.push(OF_PLAN.to_owned());
        policy.root = Some(grants::root(context));
        let mut shown = policy.clone();
        shown.because.push(needed.message.clone());
        let intended = Intended {
            policy,
            intent_hash: preview.hash.clone(),
            preview_hash: Some(preview.hash.clone()),
            signers: Vec::new(),
        };
        let now = context.host.timestamp();
        let mut pass = Self::ask(
            (ask, &intended),
            Seen::of_plan(ask),
            Some(preview),
            now,
            context,
        );
        if let Pass::Held(held, _) = &mut pass
            && let Some(Waiting::Approval(waiting)) = &mut held.waiting
        {
            waiting.why = why(&shown);
        }
        Some(pass)
    }

    /// Waits for a decision about this answer's request, if the operator wants the run to wait. Returns whether the
    /// request may be begun again.
    pub(super) fn decided(
        &self,
        executed: &Executed,
        begun: Moment,
        project: &Project,
        context: &Context<'_>,
    ) -> bool {
        let (Some(wait), Some(Waiting::Approval(waiting))) = (self.wait, &executed.outcome.waiting)
        else {
            return false;
        };
        let left = wait.saturating_sub(begun.passed());
        let case = || {
            let mut reading = project.reading(context.host).ok()?;
            let found = reading.approval(&waiting.approval_id).ok();
            found.map(|(case, _)| case)
        };
        wait_for(case, waiting.votes, left, context)
    }

    /// Tells the operator's program of a new request. Its failure is a note.
    pub(super) fn tell(&self, asks: &Asks, context: &Context<'_>) -> Option<String> {
        self.notify(asks.told.as_ref()?, "request", context)
    }

    /// Tells the operator's program, in one line of JSON, of a `subject`. Its failure is a note.
    pub(super) fn notify(
        &self,
        told: &Value,
        subject: &str,
        context: &Context<'_>,
    ) -> Option<String> {
        if self.settings.notify.is_empty() {
            return None;
        }
        let program = Program::new(
            self.settings.notify.clone(),
            context.root.to_owned(),
            host::plain_environment(),
        );
        let told = format!("{told}\n").into_bytes();
        let told = host::tell(&program, told, NOTIFIED, context.host.interrupts());
        let why = told.err()?;
        let note =
            format!("The program of `[approval] notify` was not told of the {subject}: {why}.");
        tracing::warn!("{note}");
        Some(note)
    }
}

/// What follows from the dispatch of a request that needs no approval.
fn went(passage: Passage) -> Pass {
    match passage {
        Passage::Ungranted(failure) => ungranted(failure),
        _ => Pass::Go,
    }
}

/// The answer to a call that its grant does not cover.
fn ungranted(failure: Failure) -> Pass {
    let outcome = Outcome::nothing_done(State::Rejected, Phase::Inputs, Some(failure));
    Pass::Held(Box::new(outcome), None)
}

/// Lets the plan change what the approved preview shows, and nothing else.
fn sanction(files: &mut FileWork, hash: &str) {
    if let FileOrder::Plan { sanction, .. } | FileOrder::Rollback { sanction, .. } =
        &mut files.order
    {
        *sanction = Sanction::Approved(hash.to_owned());
    }
}

fn why(policy: &Policy) -> Vec<String> {
    if policy.because.is_empty() {
        return vec!["the catalog says so (`approval.when`)".to_owned()];
    }
    policy.because.clone()
}

/// The answer while people have not decided about a request that was made before.
fn waits(case: &Approval, policy: &Policy, context: &Context<'_>) -> Outcome {
    let asked = &case.asked;
    let hashes = (asked.intent_hash.as_str(), asked.preview_hash.as_deref());
    let votes = case.votes.len();
    pending(&case.id, hashes, &asked.expires_at, votes, policy, context)
}

fn pending(
    id: &str,
    (intent_hash, preview_hash): (&str, Option<&str>),
    expires_at: &str,
    votes: usize,
    policy: &Policy,
    context: &Context<'_>,
) -> Outcome {
    let expires = expires_at.parse::<Timestamp>().unwrap_or_default();
    let local = context.host.local(expires);
    let message = format!(
        "approval {id} is required ({} risk) until {}; nothing was performed. `oneact approve {id}` approves, then send \
         the same task again",
        policy.risk,
        local.strftime("%H:%M")
    );
    Outcome {
        waiting: Some(Waiting::Approval(WaitingApproval {
            approval_id: id.to_owned(),
            risk: policy.risk.name(),
            why: why(policy),
            intent_hash: intent_hash.to_owned(),
            preview_hash: preview_hash.map(ToOwned::to_owned),
            expires_at: local.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string(),
            approve: format!("oneact approve {id}"),
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
