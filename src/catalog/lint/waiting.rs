//! Findings about approvals: who would never be asked, and who could approve what they ask for.

use super::{Subject, when};
use crate::task::{Risk, When};

pub(super) fn never(subject: &Subject<'_>) -> Vec<String> {
    let risk = subject.listed.assessment.risk;
    let never = subject.listed.approval.when == When::Never;
    when(
        never && risk >= Risk::High,
        &format!(
            "has a {risk} risk, but `approval.when` is \"never\"; write e.g. \"risk >= critical\""
        ),
    )
}

pub(super) fn approvers(subject: &Subject<'_>) -> Vec<String> {
    let rule = &subject.listed.approval;
    let waits = rule.when.holds(subject.listed.assessment.risk);
    when(
        waits
            && rule
                .approvers
                .iter()
                .all(|approver| (subject.reachable)(approver)),
        "waits for an approval that the user of the agent can give as well; name keys in `approval.approvers` \
         (ssh:SHA256:…), or other users",
    )
}
