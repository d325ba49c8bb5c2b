//! Which entries wait for a person's approval, and who may give it (specification 003, design of the gate).

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Effects, Hazards, Risk, assess, canonical};

/// When a run of an entry waits for an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Always,
    Never,
    /// At that risk and above.
    From(Risk),
}

impl When {
    /// Whether a run at this risk waits.
    pub fn holds(self, risk: Risk) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::From(least) => risk >= least,
        }
    }
}

/// What the gate knows of a tool before it is called.
#[derive(Debug, Clone)]
pub struct RiskRule {
    pub hazards: Hazards,
    pub when: When,
}

impl RiskRule {
    /// Whether a run waits at this risk, although it does not wait at the risk that the entry declares.
    pub fn waits_only_at(&self, risk: Risk) -> bool {
        self.when.holds(risk) && !self.when.holds(assess(&self.hazards).risk)
    }

    /// Whether the hints of the server can decide that a run should have waited.
    pub fn depends_on_hints(&self) -> bool {
        let raised = self.hazards.raised(Effects::WORST);
        raised.is_some_and(|raised| self.waits_only_at(raised.risk))
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "always" => Ok(Self::Always),
            "never" => Ok(Self::Never),
            _ => {
                let least = text.strip_prefix("risk").map(str::trim_start);
                let least = least
                    .and_then(|rest| rest.strip_prefix(">="))
                    .map(str::trim);
                let risks = Risk::ALL.into_iter().filter(|risk| *risk > Risk::Low);
                let found = risks.clone().find(|risk| Some(risk.name()) == least);
                found.map(Self::From).ok_or_else(|| {
                    let risks: Vec<_> = risks.map(Risk::name).collect();
                    format!(
                        "must be \"always\", \"never\" or \"risk >= RISK\", where RISK is one of: {}",
                        risks.join(", ")
                    )
                })
            }
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("always"),
            Self::Never => f.write_str("never"),
            Self::From(risk) => write!(f, "risk >= {risk}"),
        }
    }
}

/// Who may approve.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approver {
    Uid(u32),
    /// A name of the system's users, or of the file of allowed signers.
    User(String),
    Group(String),
    /// The holder of a key, by its fingerprint: `SHA256:…`.
    Key(String),
}

impl FromStr for Approver {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        let found = match text.split_once(':') {
            Some(("uid", number)) => number.parse().ok().map(Self::Uid),
            Some(("user", name)) => named(name).map(Self::User),
            Some(("group", name)) => named(name).map(Self::Group),
            Some(("ssh", print)) if print.starts_with("SHA256:") => named(print).map(Self::Key),
            _ => None,
        };
        found.ok_or_else(|| {
            format!(
                "{text:?} names no approver; write \"uid:1000\", \"user:NAME\", \"group:NAME\" or \"ssh:SHA256:…\", as \
                 `ssh-keygen -l` prints the fingerprint"
            )
        })
    }
}

impl fmt::Display for Approver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uid(uid) => write!(f, "uid:{uid}"),
            Self::User(name) => write!(f, "user:{name}"),
            Self::Group(name) => write!(f, "group:{name}"),
            Self::Key(print) => write!(f, "ssh:{print}"),
        }
    }
}

/// Whether the user who asked may approve without a signature.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SelfApproval {
    #[default]
    Allowed,
    /// `prevent_self = true`.
    Prevented,
}

/// Whether the host of `oneact serve catalog` may ask its user, and tell what the user decided (`by`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Elicitation {
    #[default]
    Off,
    Allowed,
}

/// `approval` of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRule {
    pub when: When,
    /// Empty: everybody.
    pub approvers: Vec<Approver>,
    pub quorum: u32,
    pub own: SelfApproval,
    pub elicitation: Elicitation,
    /// How long an approval can be waited for and used.
    pub expires: Duration,
    /// The parameters that are shown first.
    pub show: Vec<String>,
}

impl ApprovalRule {
    pub const MOST: Duration = Duration::from_hours(24);
}

impl Default for ApprovalRule {
    fn default() -> Self {
        Self {
            when: When::From(Risk::Critical),
            approvers: Vec::new(),
            quorum: 1,
            own: SelfApproval::Allowed,
            elicitation: Elicitation::Off,
            expires: Duration::from_mins(15),
            show: Vec::new(),
        }
    }
}

/// The rules of all entries of a task, and the risk of the task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    pub need: Need,
    pub risk: Risk,
    pub because: Vec<String>,
    /// The name of the root in which the call is made, if it needs an approval.
    pub root: Option<String>,
    /// One list for each entry that names approvers: an approver must be in all of them.
    pub approvers: Vec<Vec<Approver>>,
    pub quorum: u32,
    pub own: SelfApproval,
    /// Allowed only if every rule allows it.
    pub elicitation: Elicitation,
    pub expires: Duration,
    pub show: Vec<String>,
}

/// Whether the rules demand an approval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Need {
    #[default]
    None,
    Approval,
}

impl Policy {
    /// The strictest of these rules at this risk.
    pub fn of<'r>(
        rules: impl Iterator<Item = &'r ApprovalRule>,
        risk: Risk,
        because: &[String],
    ) -> Self {
        let rules: Vec<&ApprovalRule> = rules.collect();
        let waits = rules.iter().any(|rule| rule.when.holds(risk));
        let named = rules.iter().map(|rule| &rule.approvers);
        let elicitation = rules.iter().map(|rule| rule.elicitation).min();
        let expires = rules.iter().map(|rule| rule.expires).min();
        Self {
            need: if waits { Need::Approval } else { Need::None },
            risk,
            because: because.to_vec(),
            root: None,
            approvers: named.filter(|list| !list.is_empty()).cloned().collect(),
            quorum: rules.iter().map(|rule| rule.quorum).max().unwrap_or(1),
            own: rules.iter().map(|rule| rule.own).max().unwrap_or_default(),
            elicitation: elicitation.unwrap_or_default(),
            expires: expires.unwrap_or_default(),
            show: rules.iter().flat_map(|rule| rule.show.clone()).collect(),
        }
    }

    /// The policy as a canonical text: an approval is used only under the policy under which it was requested.
    pub fn terms(&self) -> String {
        let names = |list: &Vec<Approver>| {
            let mut names: Vec<String> = list.iter().map(ToString::to_string).collect();
            names.sort();
            names
        };
        let approvers: Vec<_> = self.approvers.iter().map(names).collect();
        let terms: Value = json!({
            "risk": self.risk.name(), "because": self.because, "approvers": approvers,
            "quorum": self.quorum,
            "prevent_self": self.own == SelfApproval::Prevented,
            "elicitation": self.elicitation == Elicitation::Allowed, "expires_s": self.expires.as_secs(),
        });
        canonical(&terms).unwrap_or_default()
    }
}

/// What a person decides about a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Approved,
    #[default]
    Denied,
}

/// What a signature covers: the request, and the decision. It is the same text each time it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Statement<'a> {
    pub approval_id: &'a str,
    pub intent_hash: &'a str,
    pub preview_hash: Option<&'a str>,
    pub nonce: &'a str,
    pub decision: Answer,
    /// When the approval was requested.
    pub at: &'a str,
}

impl Statement<'_> {
    /// One line of canonical JSON (RFC 8785), without a newline.
    pub fn text(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        canonical(&value).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_waits_from_the_risk_that_it_names() {
        for (text, waits) in [
            ("always", [true; 4]),
            ("never", [false; 4]),
            ("risk >= medium", [false, true, true, true]),
            ("risk>=high", [false, false, true, true]),
            ("risk >= critical", [false, false, false, true]),
        ] {
            let when: When = text.parse().unwrap();
            assert_eq!(Risk::ALL.map(|risk| when.holds(risk)), waits, "{text}");
            assert_eq!(when.to_string().parse(), Ok(when));
        }
        for text in [
            "",
            "sometimes",
            "risk",
            "risk >= low",
            "risk > high",
            "risk >= severe",
            "Always",
        ] {
            let error = text.parse::<When>().unwrap_err();
            assert!(error.ends_with(": medium, high, critical"), "{error}");
        }
    }

    #[test]
    fn the_tools_are_listed_for_their_hints_only_if_a_hint_can_decide_that_a_run_waits() {
        let rule = |when: &str, destructive| RiskRule {
            hazards: Hazards {
                effects: Effects {
                    destructive: Some(destructive),
                    ..Effects::default()
                },
                ..Hazards::default()
            },
            when: when.parse().unwrap(),
        };
        for (when, destructive, depends) in [
            ("risk >= critical", false, false),
            ("risk >= high", false, true),
            ("risk >= high", true, false),
            ("always", false, false),
            ("never", false, false),
        ] {
            let found = rule(when, destructive).depends_on_hints();
            assert_eq!(found, depends, "{when} {destructive}");
        }
    }

    #[test]
    fn an_approver_is_a_user_a_group_or_a_key() {
        for text in ["uid:1000", "user:alice", "group:comms", "ssh:SHA256:2kq"] {
            assert_eq!(text.parse::<Approver>().unwrap().to_string(), text);
        }
        for text in [
            "alice", "uid:", "uid:-1", "user:", "group:", "ssh:2kq", "ssh:", "key:x",
        ] {
            assert!(text.parse::<Approver>().is_err(), "{text}");
        }
    }

    #[test]
    fn several_entries_are_as_strict_as_the_strictest() {
        let one = ApprovalRule {
            when: When::Never,
            approvers: vec![Approver::Uid(1)],
            quorum: 2,
            ..ApprovalRule::default()
        };
        let other = ApprovalRule {
            when: When::Always,
            own: SelfApproval::Prevented,
            expires: Duration::from_secs(5),
            ..ApprovalRule::default()
        };
        let policy = Policy::of([&one, &other].into_iter(), Risk::Low, &[]);
        assert_eq!((policy.need, policy.quorum), (Need::Approval, 2));
        assert_eq!(
            (policy.own, policy.expires.as_secs()),
            (SelfApproval::Prevented, 5)
        );
        assert_eq!(policy.approvers, [[Approver::Uid(1)]]);
        let calm = Policy::of([&one].into_iter(), Risk::Critical, &[]);
        assert_eq!(calm.need, Need::None);
        assert_ne!(policy.terms(), calm.terms());
    }
}
