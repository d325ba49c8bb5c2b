//! How much harm an action may do: one vocabulary, and one table of rules (specification 003, C-30).
//!
//! The risk is a maximum over everything that is known about an action. No statement lowers it.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Effects;

/// The harm that an action may do. Plans write it in capitals (001 §3.3); `LOW` by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Risk {
    #[default]
    Low,
    Medium,
    High,
    Critical,
}

impl Risk {
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Critical];

    /// The word of 001 §3.3, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a person can undo the action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reversibility {
    Reversible,
    Partial,
    Irreversible,
}

/// How much a person may regret the action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Regret {
    Low,
    Medium,
    High,
}

/// `intrinsic_amplifiers` of an entry: what its author states about the harm (R-003-30).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Amplifiers {
    pub reversibility: Option<Reversibility>,
    pub regret: Option<Regret>,
    /// Spellings of other programs that were accepted, each with the words of this vocabulary.
    pub respelled: Vec<String>,
}

const REVERSIBILITY: [(&str, Reversibility); 3] = [
    ("reversible", Reversibility::Reversible),
    ("partial", Reversibility::Partial),
    ("irreversible", Reversibility::Irreversible),
];
const IRREVERSIBILITY: [(&str, Reversibility); 3] = [
    ("low", Reversibility::Reversible),
    ("medium", Reversibility::Partial),
    ("high", Reversibility::Irreversible),
];
const REGRET: [(&str, Regret); 3] = [
    ("low", Regret::Low),
    ("medium", Regret::Medium),
    ("high", Regret::High),
];

/// The word of a closed list. The error names the words.
fn word<T: Copy>(key: &str, value: &Value, words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| value == word);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let words: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        format!("`{key}` is {value}; it must be {}", words.join(", "))
    })
}

impl Amplifiers {
    /// Reads the table of an entry, or what a proposal states. The error says what is wrong.
    pub fn read(table: &Map<String, Value>) -> Result<Self, String> {
        let mut amplifiers = Self::default();
        for (key, value) in table {
            let spelling = match (key.as_str(), value) {
                ("reversibility", _) => {
                    amplifiers.reversibility = Some(word(key, value, &REVERSIBILITY)?);
                    None
                }
                ("regret_potential", Value::String(text)) if text == "moderate" => {
                    amplifiers.regret = Some(Regret::Medium);
                    Some("`regret_potential = \"medium\"`")
                }
                ("regret_potential", _) => {
                    amplifiers.regret = Some(word(key, value, &REGRET)?);
                    None
                }
                ("irreversibility", _) => {
                    amplifiers.reversibility = Some(word(key, value, &IRREVERSIBILITY)?);
                    Some("`reversibility` with `reversible`, `partial` or `irreversible`")
                }
                ("reversible", Value::Bool(reversible)) => {
                    amplifiers.reversibility = Some(if *reversible {
                        Reversibility::Reversible
                    } else {
                        Reversibility::Irreversible
                    });
                    Some("`reversibility` with `reversible` or `irreversible`")
                }
                _ => {
                    return Err(format!(
                        "`intrinsic_amplifiers` has the unknown key `{key}`; it has `reversibility` and `regret_potential`"
                    ));
                }
            };
            let respelled = spelling.map(|ours| format!("`{key} = {value}` is read as {ours}"));
            amplifiers.respelled.extend(respelled);
        }
        if table.keys().filter(|key| key.contains("revers")).count() > 1 {
            return Err(
                "`intrinsic_amplifiers` states the reversibility twice; keep `reversibility`"
                    .to_owned(),
            );
        }
        Ok(amplifiers)
    }
}

impl Amplifiers {
    /// The risk of an action of which nothing else is known.
    pub fn risk(&self) -> Risk {
        let hazards = Hazards {
            effects: Effects {
                read_only: Some(true),
                ..Effects::default()
            },
            amplifiers: self.clone(),
            backup: Backup::Kept,
        };
        assess(&hazards).risk
    }
}

/// Everything about an action that its risk depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hazards {
    pub effects: Effects,
    pub amplifiers: Amplifiers,
    pub backup: Backup,
}

/// Whether the content that an action removes is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Backup {
    #[default]
    Unknown,
    Kept,
}

/// What makes an action risky. A hint that is missing counts as MCP's default, which is the worst.
struct RiskFactor {
    risk: Risk,
    because: &'static str,
    holds: fn(&Hazards) -> bool,
}

const RULES: [RiskFactor; 8] = [
    RiskFactor {
        risk: Risk::Medium,
        because: "it may change the open world (`open_world` is not false)",
        holds: |of| writes(of) && of.effects.open_world != Some(false),
    },
    RiskFactor {
        risk: Risk::Medium,
        because: "a repetition has a further effect (`idempotent` is not true)",
        holds: |of| writes(of) && of.effects.idempotent != Some(true),
    },
    RiskFactor {
        risk: Risk::Medium,
        because: "only a part of it can be undone (`reversibility` is partial)",
        holds: |of| of.amplifiers.reversibility == Some(Reversibility::Partial),
    },
    RiskFactor {
        risk: Risk::Medium,
        because: "`regret_potential` is medium",
        holds: |of| of.amplifiers.regret == Some(Regret::Medium),
    },
    RiskFactor {
        risk: Risk::High,
        because: "it may destroy something that has no backup (`destructive` is not false)",
        holds: |of| {
            writes(of) && of.effects.destructive != Some(false) && of.backup != Backup::Kept
        },
    },
    RiskFactor {
        risk: Risk::High,
        because: "it cannot be undone (`reversibility` is irreversible)",
        holds: |of| of.amplifiers.reversibility == Some(Reversibility::Irreversible),
    },
    RiskFactor {
        risk: Risk::High,
        because: "`regret_potential` is high",
        holds: |of| of.amplifiers.regret == Some(Regret::High),
    },
    RiskFactor {
        risk: Risk::Critical,
        because: "it cannot be undone, and `regret_potential` is high",
        holds: |of| {
            of.amplifiers.reversibility == Some(Reversibility::Irreversible)
                && of.amplifiers.regret == Some(Regret::High)
        },
    },
];

fn writes(of: &Hazards) -> bool {
    of.effects.read_only != Some(true)
}

/// A risk, and the rules that lead to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assessment {
    pub risk: Risk,
    pub because: Vec<String>,
}

/// The highest risk of all rules that hold, with the rules of that risk. Without any, the risk is low.
pub fn assess(hazards: &Hazards) -> Assessment {
    by(RULES.iter(), hazards)
}

fn by<'a>(rules: impl Iterator<Item = &'a RiskFactor> + Clone, hazards: &Hazards) -> Assessment {
    let holding = rules.filter(|rule| (rule.holds)(hazards));
    let risk = holding
        .clone()
        .map(|rule| rule.risk)
        .max()
        .unwrap_or_default();
    let because = holding.filter(|rule| rule.risk == risk);
    Assessment {
        risk,
        because: because.map(|rule| rule.because.to_owned()).collect(),
    }
}

/// The hints of a server that are worse than what an entry says: each key of `effects`, with the worse value.
pub fn worse(said: Effects, hints: Effects) -> Vec<(&'static str, bool)> {
    let pairs = [
        ("read_only", said.read_only, hints.read_only, false),
        ("destructive", said.destructive, hints.destructive, true),
        ("idempotent", said.idempotent, hints.idempotent, false),
        ("open_world", said.open_world, hints.open_world, true),
    ];
    let worse = pairs
        .into_iter()
        .filter(|(_, said, hint, bad)| *said == Some(!bad) && *hint == Some(*bad));
    worse.map(|(key, _, _, bad)| (key, bad)).collect()
}

impl Hazards {
    /// The risk with the hints of the server about its tool, if they raise it. They never lower it.
    pub fn raised(&self, hints: Effects) -> Option<Assessment> {
        let said = self.effects;
        let hinted = Self {
            effects: Effects {
                read_only: hints.read_only.or(said.read_only),
                destructive: hints.destructive.or(said.destructive),
                idempotent: hints.idempotent.or(said.idempotent),
                open_world: hints.open_world.or(said.open_world),
            },
            ..self.clone()
        };
        let mut found = assess(&hinted);
        for why in &mut found.because {
            *why = format!("by the hints of its server, {why}");
        }
        (found.risk > assess(self).risk).then_some(found)
    }
}

impl Assessment {
    /// A risk that the task itself states, e.g. the `risk_level` of an action of its plan.
    pub fn stated(risk: Risk) -> Self {
        let because = (risk > Risk::Low).then(|| format!("the task states a {risk} risk"));
        Self {
            risk,
            because: because.into_iter().collect(),
        }
    }

    /// The higher of two risks. Of equal risks, the reasons of both are kept.
    #[must_use]
    pub fn max(mut self, other: Self) -> Self {
        if other.risk > self.risk {
            return other;
        }
        if other.risk == self.risk {
            let new = other.because.into_iter();
            let new: Vec<_> = new.filter(|why| !self.because.contains(why)).collect();
            self.because.extend(new);
        }
        self
    }
}

#[cfg(test)]
mod tests;
