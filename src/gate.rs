//! Decides who calls, and whether the caller may perform what the task names (specification 003).
//!
//! The launch decides the context: the profile, the user and the terminal. No task can change it (C-32).

use crate::{
    catalog::{CatalogTables, Gated, only_profile, profile},
    host,
    task::{Admission, Assessment, CallContext, Failure, Fault, assess, decided},
};

/// Who started this run, as far as the launch shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) context: CallContext,
    /// `None` if the context follows from the terminal alone.
    pub(crate) profile: Option<String>,
}

impl Caller {
    /// The caller in the profile that the operator named, or in the only profile of the catalog. Without either,
    /// a run whose input is a terminal was started by a person (R-003-35).
    pub(crate) fn of_launch(
        named: Option<&str>,
        tables: Option<&CatalogTables<'_>>,
    ) -> Result<Self, Failure> {
        let Some(tables) = tables else {
            return match named {
                Some(name) => Err(unusable(format!(
                    "--profile names `{name}`, but there is no catalog"
                ))),
                None => Ok(Self::without_profile()),
            };
        };
        let Some(name) = named.map_or_else(|| only_profile(tables), |name| Ok(Some(name)))? else {
            return Ok(Self::without_profile());
        };
        let profile = profile(tables, name)?;
        let us = host::user_id();
        if let Some(uid) = profile.uid.filter(|uid| *uid != us) {
            return Err(Failure::new(
                Fault::ContextDenied,
                format!(
                    "the profile `{name}` is only for user {uid}, but oneact runs as user {us}; choose another profile \
                     with --profile"
                ),
            ));
        }
        Ok(Self {
            context: profile.context,
            profile: Some(name.to_owned()),
        })
    }

    fn without_profile() -> Self {
        Self {
            context: if host::input_is_a_terminal() {
                CallContext::UserInvocation
            } else {
                CallContext::AgentAutonomous
            },
            profile: None,
        }
    }

    /// Admits these capabilities, or refuses the first one that is not available in the caller's context
    /// (R-003-29, R-003-36). The risk is that of the riskiest capability.
    pub(crate) fn admit<'a>(
        &self,
        capabilities: impl Iterator<Item = Gated<'a>>,
    ) -> Result<Admission, Failure> {
        let mut assessment = Assessment::default();
        for Gated {
            id,
            available_in,
            hazards,
            approval: _,
        } in capabilities
        {
            if !available_in.contain(self.context) {
                let context = self.context.name();
                return Err(Failure::new(
                    Fault::ContextDenied,
                    format!(
                        "{id} is not available in the context {context}; its `available_in` names {}. The launch \
                         decides the context: the operator can choose another profile with --profile",
                        available_in.names().join(", ")
                    ),
                ));
            }
            assessment = assessment.max(assess(&hazards));
        }
        let admission = Admission {
            context: self.context,
            profile: self.profile.clone(),
            risk: assessment.risk,
            because: assessment.because,
        };
        decided(format!(
            "The context {} may perform this; the risk is {}.",
            self.context.name(),
            admission.risk
        ));
        Ok(admission)
    }
}

fn unusable(problem: String) -> Failure {
    Failure::new(Fault::InvalidUsage, problem)
}
