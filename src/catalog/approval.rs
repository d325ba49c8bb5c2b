//! What people decide about an entry: `approval` of an entry and of `[defaults]`, `[approval]` (who is told of a request,
//! and whose signatures count), and `review` (R-003-32, R-003-33).

use std::time::Duration;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::task::{
    ApprovalRule, Approver, Blocks, Elicitation, Policy, ReviewRule, Risk, SelfApproval, When,
    hexadecimal, review_timeout,
};

use super::{
    document::{CatalogError, Named, Tables},
    entry::Access,
    raw::{RawApproval, RawCapability, RawDefaults, RawWay},
};

/// `[approval]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ApprovalSettings {
    /// The argv of a program that gets each new request, and each plan that is escalated, as JSON on its standard input.
    /// Empty: none.
    pub(crate) notify: Vec<String>,
    /// A file of allowed signers (`man ssh-keygen`); a relative path starts at the root.
    pub(crate) allowed_signers: Option<String>,
}

pub(crate) fn approval_settings(tables: &Tables<'_>) -> Result<ApprovalSettings, CatalogError> {
    Ok(tables.get("approval")?.unwrap_or_default())
}

/// The rule of `[defaults]`.
pub(super) fn of_defaults(
    tables: &Tables<'_>,
    defaults: &RawDefaults,
) -> Result<ApprovalRule, CatalogError> {
    let named = tables.defaults("approval");
    named.approval(ApprovalRule::default(), defaults.approval.as_ref())
}

/// The beginning of a hash of everything of an entry that a grant depends on: all its keys, its server, and who must
/// approve.
pub(crate) fn seal(access: &Access) -> String {
    let terms = Policy::of([&access.approval].into_iter(), Risk::default(), &[]).terms();
    let hash = Sha256::new()
        .chain_update(&access.whole)
        .chain_update(terms)
        .finalize();
    hexadecimal(
        hash.first_chunk::<8>()
            .map_or(&[], |bytes| bytes.as_slice()),
    )
}

impl Named<'_> {
    /// The rule of an entry, on top of that of `[defaults]`.
    pub(super) fn approval(
        &self,
        base: ApprovalRule,
        raw: Option<&RawApproval>,
    ) -> Result<ApprovalRule, CatalogError> {
        let Some(raw) = raw else { return Ok(base) };
        let mut rule = base;
        if let Some(text) = &raw.when {
            let wrong = |why| self.wrong_at(text.span().start, &format!("`approval.when` {why}"));
            rule.when = text.get_ref().parse::<When>().map_err(wrong)?;
        }
        if let Some(names) = &raw.approvers {
            let wrong = |why: String| {
                self.wrong_at(names.span().start, &format!("`approval.approvers`: {why}"))
            };
            let approvers = names.get_ref().iter().map(|name| name.parse::<Approver>());
            rule.approvers = approvers.collect::<Result<_, _>>().map_err(wrong)?;
            if rule.approvers.is_empty() {
                return Err(wrong("the list is empty, so nobody could approve; leave it out to let everybody approve".to_owned()));
            }
        }
        if let Some(expires) = &raw.expires {
            rule.expires = self.duration(expires)?;
            if rule.expires > ApprovalRule::MOST {
                let problem = "`approval.expires` is more than a day; write \"24h\" or less";
                return Err(self.wrong_at(expires.span().start, problem));
            }
        }
        if let Some(quorum) = &raw.quorum {
            rule.quorum = *quorum.get_ref();
            let group = |approver: &Approver| matches!(approver, Approver::Group(_));
            let most = match rule.approvers.len() {
                0 => usize::MAX,
                _ if rule.approvers.iter().any(group) => usize::MAX,
                named => named,
            };
            if rule.quorum == 0 || usize::try_from(rule.quorum).unwrap_or(usize::MAX) > most {
                let problem =
                    "`approval.quorum` must be at least 1, and at most the number of `approvers`";
                return Err(self.wrong_at(quorum.span().start, problem));
            }
        }
        match raw.prevent_self {
            Some(true) => rule.own = SelfApproval::Prevented,
            Some(false) => rule.own = SelfApproval::Allowed,
            None => {}
        }
        if let Some(by) = &raw.by {
            rule.elicitation = match by.get_ref().as_slice() {
                [] => Elicitation::Off,
                [RawWay::Elicitation, ..] => Elicitation::Allowed,
            };
        }
        if (rule.elicitation, rule.own) == (Elicitation::Allowed, SelfApproval::Prevented) {
            let problem = "has `approval.by`, which allows the host to answer for the user who asks, and \
                           `prevent_self = true`, which forbids it; remove one of them";
            return Err(self.wrong(problem));
        }
        if let Some(show) = &raw.show {
            rule.show.clone_from(show);
        }
        Ok(rule)
    }
}

/// The time for a review if the entry does not say it.
const REVIEW_TIMEOUT: Duration = Duration::from_hours(72);

/// The rule by which a person reviews the results of an entry.
pub(super) fn review(
    named: Named<'_>,
    raw: &RawCapability,
) -> Result<Option<ReviewRule>, CatalogError> {
    let review = match (raw.requires_post_review, &raw.review) {
        (Some(true), review) => review,
        (Some(false) | None, None) => return Ok(None),
        (Some(false) | None, Some(review)) => {
            return Err(named.wrong_at(
                review.span().start,
                "`review` has an effect only with `requires_post_review = true`; add that key, or remove `review`",
            ));
        }
    };
    let review = review.as_ref().map(toml::Spanned::get_ref);
    let timeout = review.and_then(|review| review.timeout.as_ref());
    let timeout = timeout.map(|text| {
        review_timeout(text.get_ref())
            .map_err(|problem| named.wrong_at(text.span().start, &problem))
    });
    Ok(Some(ReviewRule {
        blocks: review.map_or(Blocks::No, |review| review.blocks),
        timeout: timeout.transpose()?.unwrap_or(REVIEW_TIMEOUT),
    }))
}
