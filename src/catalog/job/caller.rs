//! Whether a caller may perform what the task names (specification 003), and how high its risk is. No task can change who
//! calls (C-32).

use crate::{
    catalog::entry::compile::Gated,
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
    /// Admits these capabilities, or refuses the first one that is not available in the caller's context
    /// (R-003-29, R-003-36). The risk is that of the riskiest capability.
    pub(crate) fn admit<'a>(
        &self,
        capabilities: impl Iterator<Item = Gated<'a>>,
    ) -> Result<Admission, Failure> {
        let context = self.context.name();
        let mut assessment = Assessment::default();
        for gated in capabilities {
            if !gated.available_in.contain(self.context) {
                let message = format!(
                    "{} is not available in the context {context}; its `available_in` names {}. The launch \
                     decides the context: the operator can choose another profile with --profile",
                    gated.id,
                    gated.available_in.names().join(", ")
                );
                return Err(Failure::new(Fault::ContextDenied, message));
            }
            assessment = assessment.max(assess(&gated.hazards));
        }
        let risk = assessment.risk;
        decided(format!(
            "The context {context} may perform this; the risk is {risk}."
        ));
        Ok(Admission {
            context: self.context,
            profile: self.profile.clone(),
            risk,
            because: assessment.because,
        })
    }
}
