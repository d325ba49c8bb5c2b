//! Approvals during a run: what has to be approved, whether it was, and what the answer says while it is not.

mod terms;
mod waits;

use std::{thread, time::Duration};

use camino::Utf8Path;
use jiff::SignedDuration;
use serde_json::Value;

use super::{
    differs::Compared,
    effective::{Approvable, intended},
    improvised,
    request::{Approval, Intended, Passage},
    stored::Approved,
};
use crate::{
    catalog::ApprovalSettings,
    evidence::{Purpose, Signer, signers_for},
    executor::{self, Context, Executed, FileOrder, FileWork, Work},
    host::Moment,
    ledger::{ApprovalNote, Ask, Ledger, LedgerError, Running},
    task::{Failure, Fault, Need, Outcome, Phase, Preview, Sanction, State, Waiting},
};

pub use terms::Through;
pub(crate) use terms::{Approvals, Asks, Pass, SentTask};
use waits::{compared, unlike, why};

/// The pause between two looks at a request that waits.
const PAUSE: Duration = Duration::from_millis(200);

/// Why a plan waits although the policy of its entry does not say so.
const OF_PLAN: &str = "the plan changes protected files, or asks for an approval itself";

impl Approvals {
    /// Dispatches the request, or holds it back because it needs an approval that it does not have.
    pub(crate) fn pass(
        &self,
        ledger: &mut Ledger<'_>,
        (ask, running): (&Ask<'_>, &Running),
        work: &mut Work,
        sent: SentTask<'_>,
        context: &Context<'_>,
    ) -> Result<Pass, LedgerError> {
        let hidden = sent.hidden;
        if matches!(&*work, Work::Tools(ready) if ready.job.is_several() && !ready.job.is_improvised())
        {
            // Each step waits for its own approval.
            return Ok(went(ledger.dispatch(ask, running, None)?));
        }
        let policy = self.policy();
        let mut policy = match (&ask.under, &*work) {
            (Some(_), _) => improvised::covered(policy),
            (None, Work::Grant(grant)) => {
                let apart = grant.apart.iter().map(|(id, risk)| (id.as_str(), *risk));
                improvised::asked(policy, apart)
            }
            (None, Work::Tools(ready)) if ready.job.is_improvised() => {
                improvised::asked(policy, improvised::apart(&ready.job))
            }
            (None, Work::Tools(_) | Work::Files(_) | Work::Said(_)) => policy,
        };
        policy.root = Some(improvised::root(context));
        let exactly = self.approved.as_ref().filter(|approved| approved.is_whole);
        // A plan turns out to need an approval only when it is checked. Then it was requested by an earlier run.
        let known = match work {
            // The request that `--approved` names is performed with its approval or not at all.
            _ if exactly.is_some() => true,
            Work::Files(_) if policy.need == Need::None => ledger
                .case(ask, running, policy.root.as_deref())?
                .is_some_and(|case| case.used.is_none() && case.ended.is_none()),
            _ => false,
        };
        if policy.need == Need::None && !known {
            return Ok(went(ledger.dispatch(ask, running, None)?));
        }
        if let (Need::None, Work::Files(_)) = (policy.need, &*work) {
            policy.because.push(OF_PLAN.to_owned());
        }
        let signers = signers(&self.settings, context.desk.root);
        let mut preview = None;
        let (intent_hash, seen) = match work {
            Work::Tools(ready) => intended(ledger, ask, ready, hidden, context)?,
            Work::Files(files) => match executor::foresee(files, context) {
                Ok(foreseen) => {
                    let hash = foreseen.hash.clone();
                    preview = Some(foreseen);
                    (hash, Approvable::of_plan(ask))
                }
                Err(outcome) => return Ok(Pass::Held(outcome, None)),
            },
            Work::Grant(_) | Work::Said(_) => {
                let (hash, call) = ledger.intent(ask, ask.asked.clone(), &[Value::Null])?;
                let seen = Approvable::of_grant(ask, hidden);
                (hash, Approvable { call, ..seen })
            }
        };
        let intended = Intended {
            policy,
            intent_hash,
            preview_hash: preview.as_ref().map(|preview| preview.hash.clone()),
            signers,
        };
        if context.desk.host.standing().is_some() {
            let case = ledger.case(ask, running, intended.policy.root.as_deref())?;
            if let Some(case) = case.filter(|case| !case.votes.is_empty() && case.used.is_none()) {
                return Ok(under_clock(&case));
            }
        }
        let passage = ledger.dispatch(ask, running, Some(&intended))?;
        if let (Passage::Dispatched, Some(preview), Work::Files(files)) =
            (&passage, &preview, &mut *work)
        {
            sanction(files, &preview.hash);
        }
        let now = of(&seen, ask, preview.as_ref());
        Ok(match passage {
            Passage::Dispatched => Pass::Go,
            Passage::Ask => {
                if let Some(approved) = exactly {
                    return Ok(not_it(ledger, ask, (approved, &now)));
                }
                let unlike = unlike(ledger, (ask, self.through), &now, context);
                self.request((ask, &intended, sent), (seen, unlike), preview, context)
            }
            Passage::Wait(case) => {
                let unlike = unlike(ledger, (ask, self.through), &now, context);
                let about = (&*case, unlike);
                let waits = self.waits((ask, sent), about, &intended.policy, context);
                Pass::Held(Box::new(waits), None)
            }
            Passage::Ungranted(failure) => rejected(failure, None),
            Passage::Refused { fault, why, case } => refused(ledger, (fault, &why), &case, &now),
        })
    }

    /// The request of a plan that was refused because it needs an approval; none if the plan was not.
    pub(crate) fn of_plan(
        &self,
        outcome: &Outcome,
        (ledger, ask): (&mut Ledger<'_>, &Ask<'_>),
        sent: SentTask<'_>,
        context: &Context<'_>,
    ) -> Option<Pass> {
        let needed = outcome
            .failure
            .as_ref()
            .filter(|failure| failure.fault == Fault::ApprovalRequired)?;
        let preview = outcome.preview.clone()?;
        let mut policy = self.policy();
        policy.because.push(OF_PLAN.to_owned());
        policy.root = Some(improvised::root(context));
        let mut shown = policy.clone();
        shown.because.push(needed.message.clone());
        let intended = Intended {
            policy,
            intent_hash: preview.hash.clone(),
            preview_hash: Some(preview.hash.clone()),
            signers: Vec::new(),
        };
        let seen = Approvable::of_plan(ask);
        let now = of(&seen, ask, Some(&preview));
        let unlike = unlike(ledger, (ask, self.through), &now, context);
        let mut pass = self.request(
            (ask, &intended, sent),
            (seen, unlike),
            Some(preview),
            context,
        );
        if let Pass::Held(held, _) = &mut pass
            && let Some(Waiting::Approval(waiting)) = &mut held.waiting
        {
            waiting.why = why(&shown);
        }
        Some(pass)
    }

    /// Waits until a person decides about this answer's request, it expires, or the time is over, if the operator wants
    /// the run to wait. Returns whether it is worth beginning the request again. `case` reads the request of that id.
    pub(crate) fn decided(
        &self,
        executed: &Executed,
        begun: Moment,
        case: impl Fn(&str) -> Option<Approval>,
        context: &Context<'_>,
    ) -> bool {
        let (Some(wait), Some(Waiting::Approval(waiting))) = (self.wait, &executed.outcome.waiting)
        else {
            return false;
        };
        let left = wait.saturating_sub(begun.passed());
        let most = SignedDuration::from_secs(left.as_secs().try_into().unwrap_or(i64::MAX));
        tracing::warn!(
            "approval_required: this run waits for {} at most {most:#}; `{}` approves it",
            waiting.approval_id,
            waiting.approve
        );
        while context.go_on().is_ok() {
            // If the ledger cannot be read now, the next look may succeed. A decision that was made before the first
            // look counts, too.
            let news = case(&waiting.approval_id).is_some_and(|case| {
                case.votes.len() != waiting.votes || context.desk.host.timestamp() >= case.expires()
            });
            let left = wait.saturating_sub(begun.passed());
            if news || left.is_zero() {
                return news;
            }
            thread::sleep(PAUSE.min(left));
        }
        false
    }
}

/// Whose signatures count. A file that cannot be read lists nobody.
pub(crate) fn signers(settings: &ApprovalSettings, root: &Utf8Path) -> Vec<Signer> {
    let Some(file) = &settings.allowed_signers else {
        return Vec::new();
    };
    signers_for(&root.join(file), Purpose::Approval).unwrap_or_else(|error| {
        tracing::warn!("No signature counts: {error}");
        Vec::new()
    })
}

/// The answer if the stored call is not the approved one any more.
fn not_it(ledger: &mut Ledger<'_>, ask: &Ask<'_>, (approved, now): (&Approved, &Compared)) -> Pass {
    let id = &approved.joined.id;
    let open = ledger.open_requests(&ask.who, |case| case.id == *id);
    let case = open.ok().and_then(|open| open.into_iter().next());
    let fields = case.map_or_else(String::new, |case| fields(ledger, &case, now));
    let message = format!(
        "approval {id}: what would be performed now is not what was approved{fields}; nothing was performed. Send the \
         task again to request a new approval"
    );
    rejected(Failure::new(Fault::ApprovalMismatch, message), None)
}

/// The answer if the approval cannot be used, with the end of the request in the ledger.
fn refused(
    ledger: &mut Ledger<'_>,
    (fault, why): (Fault, &str),
    case: &Approval,
    now: &Compared,
) -> Pass {
    let fields = match fault {
        Fault::ApprovalMismatch => fields(ledger, case, now),
        _ => String::new(),
    };
    let again = match fault {
        Fault::ApprovalDenied => "Send it with another `salt` to request an approval again.",
        _ => "Send it again to request a new approval.",
    };
    let reason = case.denial().and_then(|vote| vote.note.as_ref());
    let reason = reason.map_or_else(String::new, |note| format!(" ({note})"));
    let id = case.id.clone();
    let message = format!("approval {id}: {why}{fields}{reason}; nothing was performed. {again}");
    let ends = (fault != Fault::ApprovalDenied).then(|| {
        Box::new(Asks {
            note: ApprovalNote::Ends { id },
            request: None,
            told: None,
        })
    });
    rejected(Failure::new(fault, message), ends)
}

/// What this call can be compared by.
fn of(seen: &Approvable, ask: &Ask<'_>, preview: Option<&Preview>) -> Compared {
    Compared {
        call: Compared::call(seen.call.clone(), &ask.asked),
        args: seen.parameters.clone(),
        diff: preview.map(|preview| preview.diff.clone()),
    }
}

/// The fields in which the approved call differs from this one, as the end of a sentence.
fn fields(ledger: &mut Ledger<'_>, case: &Approval, now: &Compared) -> String {
    let row = ledger.asked_row(case).ok().flatten();
    let fields = row.and_then(|row| compared(&row)?.from(now));
    fields.map_or_else(String::new, |fields| format!("; it differs in {fields}"))
}

/// The real time decides when an approval expires, so a run with another time does not use it.
fn under_clock(case: &Approval) -> Pass {
    let message = format!(
        "{} is not used under --clock, because the real time decides when it expires; send the task without --clock",
        case.id
    );
    rejected(Failure::new(Fault::ApprovalMismatch, message), None)
}

/// What follows from the dispatch of a request that needs no approval.
fn went(passage: Passage) -> Pass {
    match passage {
        Passage::Ungranted(failure) => rejected(failure, None),
        _ => Pass::Go,
    }
}

/// The answer to a call that its approval or its grant does not cover, with what its link says about the approval.
fn rejected(failure: Failure, asks: Option<Box<Asks>>) -> Pass {
    let outcome = Outcome::nothing_done(State::Rejected, Phase::Inputs, Some(failure));
    Pass::Held(Box::new(outcome), asks)
}

/// Lets the plan change what the approved preview shows, and nothing else.
fn sanction(files: &mut FileWork, hash: &str) {
    if let FileOrder::Plan { sanction, .. } | FileOrder::Rollback { sanction, .. } =
        &mut files.order
    {
        *sanction = Sanction::Approved(hash.to_owned());
    }
}
