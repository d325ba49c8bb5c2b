//! The keys that entries of every kind can have: what people and models read of an entry, who may use it, who must approve
//! a call or review its result, and what happens to a second call.

use std::{fmt, time::Duration};

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::{
    catalog::file::{
        code::Code,
        document::{CatalogError, Named, Tables},
    },
    task::{
        ALLOW_PRIVATE, Amplifiers, ApprovalRule, Approver, Blocks, Contexts, Effects, Elicitation,
        Ground, OnDuplicate, Policy, ReviewRule, Risk, SelfApproval, Unless, When, duration,
        hexadecimal, review_timeout,
    },
};

/// The names of these keys. None of them changes what a call does, so a request stays the same if they change.
pub(crate) const COMMON: [&str; 16] = [
    "name",
    "description",
    "version",
    "is_action",
    "aliases",
    "tags",
    "examples",
    "effects",
    "available_in",
    "intrinsic_amplifiers",
    "approval",
    "on_duplicate",
    "timeout",
    "timeout_max",
    // A review begins after the call. An answer from before these keys is under review by the entry of now
    // (`ledger::review`), so it is never given without the review that the entry demands.
    "requires_post_review",
    "review",
];

/// Those of them that a workflow cannot have, because its steps have them: from `approval` on.
pub(crate) const OF_STEPS: &[&str] = COMMON.split_at(10).1;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Common {
    pub(crate) name: Option<String>,
    pub(crate) description: String,
    /// A person raises it so that the same request is performed again.
    pub(crate) version: Option<u32>,
    /// Whether it is offered to models (R-003-01). Otherwise only programs name it, by its id.
    pub(crate) is_action: bool,
    pub(crate) aliases: Vec<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) examples: Vec<String>,
    pub(crate) effects: Option<Effects>,
    #[serde(deserialize_with = "contexts")]
    pub(crate) available_in: Option<Contexts>,
    #[serde(deserialize_with = "amplifiers")]
    pub(crate) intrinsic_amplifiers: Amplifiers,
    pub(crate) approval: ApprovalKeys,
    pub(crate) on_duplicate: Option<DuplicateKeys>,
    pub(crate) timeout: Option<Time>,
    pub(crate) timeout_max: Option<Time>,
    pub(crate) requires_post_review: bool,
    pub(crate) review: Option<ReviewKeys>,
}

fn contexts<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Contexts>, D::Error> {
    let contexts = Contexts::deserialize(from)?;
    let wrong = "`available_in` is empty, so nobody could use the entry; name at least one context";
    let contexts = (!contexts.is_empty()).then_some(Some(contexts));
    contexts.ok_or_else(|| D::Error::custom(wrong))
}

fn amplifiers<'de, D: Deserializer<'de>>(from: D) -> Result<Amplifiers, D::Error> {
    let table = Map::<String, Value>::deserialize(from)?;
    Amplifiers::read(&table).map_err(|why| D::Error::custom(Code::CAT020.with(why)))
}

/// A duration as the catalog writes it, such as `90s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Time(pub(crate) Duration);

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        duration(&text).map(Self)
    }
}

/// `approval` of an entry and of `[defaults]`. A key that is missing has the value of `[defaults]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a table, such as { when = \"always\" }"
)]
pub(crate) struct ApprovalKeys {
    #[serde(deserialize_with = "when")]
    when: Option<When>,
    #[serde(deserialize_with = "approvers")]
    approvers: Option<Vec<Approver>>,
    quorum: Option<u32>,
    prevent_self: Option<bool>,
    by: Option<Vec<ApprovalBy>>,
    expires: Option<Time>,
    show: Option<Vec<String>>,
}

/// `approval` of a pipeline. Who approves, and how, is said by the entry that applies the plan.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WhenKeys {
    #[serde(deserialize_with = "when")]
    pub(crate) when: Option<When>,
}

/// A way to approve that the operator has to allow.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ApprovalBy {
    Elicitation,
}

fn when<'de, D: Deserializer<'de>>(from: D) -> Result<Option<When>, D::Error> {
    let when = String::deserialize(from)?.parse();
    let wrong = |why: String| D::Error::custom(format!("`approval.when` {why}"));
    when.map(Some).map_err(wrong)
}

fn approvers<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Approver>>, D::Error> {
    let names = Vec::<String>::deserialize(from)?;
    let wrong = |why: String| D::Error::custom(format!("`approval.approvers`: {why}"));
    if names.is_empty() {
        return Err(wrong(
            "the list is empty, so nobody could approve; leave it out to let everybody approve"
                .to_owned(),
        ));
    }
    let approvers = names.iter().map(|name| name.parse());
    approvers.collect::<Result<_, _>>().map(Some).map_err(wrong)
}

impl ApprovalKeys {
    /// The rule, on top of that of `[defaults]`.
    pub(crate) fn on(
        &self,
        base: ApprovalRule,
        named: &Named<'_>,
    ) -> Result<ApprovalRule, CatalogError> {
        let rule = ApprovalRule {
            when: self.when.unwrap_or(base.when),
            approvers: self.approvers.clone().unwrap_or(base.approvers),
            quorum: self.quorum.unwrap_or(base.quorum),
            own: match self.prevent_self {
                Some(true) => SelfApproval::Prevented,
                Some(false) => SelfApproval::Allowed,
                None => base.own,
            },
            elicitation: match self.by.as_deref() {
                Some([]) => Elicitation::Off,
                Some([ApprovalBy::Elicitation, ..]) => Elicitation::Allowed,
                None => base.elicitation,
            },
            expires: self.expires.map_or(base.expires, |time| time.0),
            show: self.show.clone().unwrap_or(base.show),
        };
        let group = |approver: &Approver| matches!(approver, Approver::Group(_));
        let limited = !rule.approvers.is_empty() && !rule.approvers.iter().any(group);
        let most = rule.approvers.len();
        let quorum = usize::try_from(rule.quorum).unwrap_or(usize::MAX);
        if self.quorum.is_some() && (quorum == 0 || limited && quorum > most) {
            let problem =
                "`approval.quorum` must be at least 1, and at most the number of `approvers`";
            return Err(named.wrong_in("approval.quorum", problem));
        }
        if (rule.elicitation, rule.own) == (Elicitation::Allowed, SelfApproval::Prevented) {
            let problem = "has `approval.by`, which allows the host to answer for the user who asks, and \
                           `prevent_self = true`, which forbids it; remove one of them";
            return Err(named.wrong(problem));
        }
        Ok(rule)
    }
}

/// `[defaults]`: what entries inherit.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct DefaultKeys {
    timeout: Option<Time>,
    on_failure: Option<OnFailure>,
    approval: ApprovalKeys,
}

#[derive(Debug, Default)]
pub(crate) struct Defaults {
    pub(crate) timeout: Option<Time>,
    pub(crate) on_failure: OnFailure,
    pub(crate) approval: ApprovalRule,
}

impl Defaults {
    pub(crate) fn of(tables: &Tables<'_>) -> Result<Self, CatalogError> {
        let Some(named) = tables.top("defaults") else {
            return Ok(Self::default());
        };
        let keys: DefaultKeys = named.read()?;
        Ok(Self {
            timeout: keys.timeout,
            on_failure: keys.on_failure.unwrap_or_default(),
            approval: keys.approval.on(ApprovalRule::default(), &named)?,
        })
    }
}

/// Whether a failure that no rule recognises is recoverable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnFailure {
    Recoverable,
    #[default]
    NotRecoverable,
}

/// Where the timeout of a call is from, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeoutFrom {
    Entry,
    Defaults,
    Specification,
}

impl fmt::Display for TimeoutFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Entry => "`timeout` of the entry",
            Self::Defaults => "`timeout` of [defaults]",
            Self::Specification => "the default timeout",
        })
    }
}

/// Fails if no variable can have that name, or if it is one of oneact's `own`, which it sets itself.
pub(crate) fn check_variable(name: &str, own: &[&str]) -> Result<(), String> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(format!("no variable can have the name `{name}`; rename it"));
    }
    if own.contains(&name) {
        let instead = match name {
            ALLOW_PRIVATE => ", and write `allow_private = true`",
            _ => "",
        };
        return Err(format!(
            "oneact itself sets `{name}`; take it out of `env` or `env_pass`{instead}"
        ));
    }
    Ok(())
}

/// What the gate needs to know of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) available_in: Contexts,
    pub(crate) amplifiers: Amplifiers,
    pub(crate) approval: ApprovalRule,
    /// A hash of all keys of the entry and of its server.
    pub(crate) whole: String,
}

impl Access {
    /// The beginning of a hash of everything of an entry that a grant depends on: all its keys, its server, and who must
    /// approve.
    pub(crate) fn seal(&self) -> String {
        let terms = Policy::of([&self.approval].into_iter(), Risk::default(), &[]).terms();
        let hash = Sha256::new()
            .chain_update(&self.whole)
            .chain_update(terms)
            .finalize();
        let hash = hexadecimal(&hash);
        hash.get(..16).unwrap_or(&hash).to_owned()
    }
}

/// What happens to a request that was performed before in the session (C-36).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DuplicateKeys {
    mode: DuplicateMode,
    ttl: Option<Time>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DuplicateMode {
    Reuse,
    Suppress,
    Repeat,
}

impl DuplicateKeys {
    pub(crate) fn rule(
        &self,
        effects: Effects,
        named: &Named<'_>,
    ) -> Result<OnDuplicate, CatalogError> {
        let wrong =
            |problem: &str| named.wrong_in("on_duplicate", &format!("`on_duplicate` {problem}"));
        let ttl = self.ttl.map(|time| time.0);
        match self.mode {
            // A missing hint counts as the worst.
            DuplicateMode::Reuse if !effects.is_harmless() && effects.read_only != Some(true) => {
                Err(wrong(
                    "cannot be `reuse` for a capability that may be destructive or may not be idempotent; \
                     write `suppress`, or declare its `effects`",
                )
                .coded(Code::CAT033))
            }
            DuplicateMode::Reuse if ttl.is_none() && effects.open_world != Some(false) => {
                Err(wrong(
                    "needs a `ttl`, because the open world changes; add e.g. ttl = \"5m\", or add open_world \
                     = false to `effects`",
                )
                .coded(Code::CAT032))
            }
            DuplicateMode::Reuse => Ok(OnDuplicate::Reuse {
                ttl,
                ground: Ground::Declared,
            }),
            DuplicateMode::Suppress | DuplicateMode::Repeat if ttl.is_some() => Err(wrong(
                "has a `ttl`, which is allowed only with `reuse`; remove it",
            )),
            DuplicateMode::Suppress => Ok(OnDuplicate::Suppress(Unless::InputsChanged)),
            DuplicateMode::Repeat => Ok(OnDuplicate::Repeat),
        }
    }
}

/// How a result is reviewed (R-003-33).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReviewKeys {
    blocks: Blocks,
    #[serde(deserialize_with = "review_time")]
    timeout: Option<Duration>,
    /// A missed review is never an approval, so there is only one value.
    on_timeout: OnReviewTimeout,
}

fn review_time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let time = review_timeout(&String::deserialize(from)?);
    time.map(Some).map_err(D::Error::custom)
}

/// What happens to a review that is open after its time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OnReviewTimeout {
    #[default]
    StayOpen,
}

/// The time for a review if the entry does not say it.
const REVIEW_TIMEOUT: Duration = Duration::from_hours(72);

impl Common {
    /// The keys of an action that no catalog contains.
    pub(crate) fn of_action(description: &str) -> Self {
        Self {
            description: description.to_owned(),
            is_action: true,
            ..Self::default()
        }
    }

    /// `available_in`, `intrinsic_amplifiers` and `approval`, and `whole`, a hash of the entry.
    pub(crate) fn access(
        &self,
        base: ApprovalRule,
        whole: String,
        named: &Named<'_>,
    ) -> Result<Access, CatalogError> {
        Ok(Access {
            available_in: self.available_in.clone().unwrap_or_default(),
            amplifiers: self.intrinsic_amplifiers.clone(),
            approval: self.approval.on(base, named)?,
            whole,
        })
    }

    /// The rule by which a person reviews the results of the entry.
    pub(crate) fn review(&self, named: &Named<'_>) -> Result<Option<ReviewRule>, CatalogError> {
        if self.review.is_some() && !self.requires_post_review {
            let problem = "`review` has an effect only with `requires_post_review = true`; add that key, or remove `review`";
            return Err(named.wrong_in("review", problem));
        }
        Ok(self.requires_post_review.then(|| {
            let review = self.review.clone().unwrap_or_default();
            let timeout = review.timeout.unwrap_or(REVIEW_TIMEOUT);
            ReviewRule {
                blocks: review.blocks,
                timeout,
            }
        }))
    }
}
