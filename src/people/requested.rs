//! A call that waits for an approval, as people see it, and their decision about it.

use serde_json::{Map, Value};

use super::{
    approval::{AboutRequest, allowed_signers, approvers},
    opening::OpenError,
    reading::Reading,
};
use crate::{
    approval::{Approval, Gesture, Kept, Voted},
    evidence::Signer,
    host::{self, Host},
    ledger::{Row, Wish},
    record::Project,
    task::{Answer, Failure, Fault, IMPROVISED},
};

/// A request, with the parameters that its sealed row holds.
pub(crate) struct RequestedCall {
    pub(crate) case: Approval,
    pub(crate) about: AboutRequest,
    pub(crate) action: String,
    /// The entries whose rules say who may approve, joined by `+`.
    entries: String,
    /// The parameters in the order in which they are shown.
    pub(crate) parameters: Map<String, Value>,
    /// How many persons have approved.
    persons: u32,
}

impl RequestedCall {
    /// None if the row was changed: then nobody knows what was requested.
    fn of(case: Approval, row: Option<&Row>, signers: &[Signer]) -> Option<Self> {
        let about = AboutRequest::of(row)?;
        let row = row?;
        let mut request: Value = serde_json::from_str(row.request.as_deref()?).ok()?;
        let args = request.get_mut("args").map(Value::take);
        let mut args = args.and_then(|args| Some(args.as_object()?.clone()));
        let action = row.action_type.clone().unwrap_or_default();
        let granted = args
            .as_ref()
            .and_then(|args| args.get("entries")?.as_array());
        let granted = granted.filter(|_| action == IMPROVISED);
        let entries = granted.map_or_else(
            || action.clone(),
            |ids| {
                let ids: Vec<&str> = ids.iter().filter_map(Value::as_str).collect();
                ids.join("+")
            },
        );
        // Those that the entry shows first, then the others.
        let args = args.get_or_insert_default();
        let first = about.show.iter();
        let first: Vec<_> = first.filter_map(|name| args.remove_entry(name)).collect();
        let parameters = first.into_iter().chain(std::mem::take(args));
        Some(Self {
            parameters: parameters.collect(),
            persons: case.persons(signers),
            case,
            about,
            action,
            entries,
        })
    }

    /// Whether `run --approved` can perform it.
    pub(crate) fn is_stored(&self) -> bool {
        matches!(self.about.kept, Some(Kept::Task { .. }))
    }

    /// Whether the user of this process has approved, without a signature and not as the user of a host.
    pub(crate) fn is_approved_by_us(&self) -> bool {
        let us = format!("uid:{}", host::user_id());
        let mut approvals = self.case.approvals();
        approvals.any(|vote| vote.signature.is_none() && vote.host.is_none() && vote.actor == us)
    }

    pub(crate) fn state(&self, host: &Host) -> &'static str {
        let case = &self.case;
        if case.used.is_some() {
            "used"
        } else if case.denial().is_some() {
            "denied"
        } else if case.ended.is_some() {
            "closed"
        } else if host.timestamp() >= case.expires() {
            "expired"
        } else if u64::from(self.persons) >= self.about.quorum.max(1) {
            "approved"
        } else {
            "waiting"
        }
    }

    /// Records a decision about the request as it was shown.
    pub(crate) fn decide(
        &self,
        (answer, gesture): (Answer, Gesture<'_>),
        why: Option<&str>,
        project: &Project,
        host: &Host,
    ) -> Result<Voted, Failure> {
        let who = approvers(project, &self.entries)?;
        let unusable = |error: OpenError| Failure::new(Fault::LedgerUnavailable, error.to_string());
        let (mut ledger, _) = project.open(Wish::Decide, host).map_err(unusable)?;
        ledger.vote(&self.case, answer, gesture, who, why)
    }
}

impl Reading {
    /// All requests whose rows are unchanged, the newest first.
    pub(crate) fn requested(&mut self, project: &Project) -> Result<Vec<RequestedCall>, OpenError> {
        let signers = allowed_signers(project);
        let cases = self.approvals()?.into_iter();
        let requests =
            cases.filter_map(|(case, row)| RequestedCall::of(case, row.as_ref(), &signers));
        Ok(requests.collect())
    }

    /// The request whose id begins with this text.
    pub(crate) fn requested_as(
        &mut self,
        text: &str,
        project: &Project,
    ) -> Result<RequestedCall, Failure> {
        let (case, row) = self.approval(text)?;
        let id = case.id.clone();
        let signers = allowed_signers(project);
        RequestedCall::of(case, row.as_ref(), &signers).ok_or_else(|| {
            let message = format!(
                "the row of {id} was changed, so its parameters cannot be believed; see `oneact verify`"
            );
            Failure::new(Fault::ApprovalMismatch, message)
        })
    }
}
