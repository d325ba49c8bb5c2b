//! What a run that died left of a file plan, as the journals show it.

use crate::{
    executor::{self, Context, Executed, Fate, FileOrder, FileWork, Work},
    ledger::{Ask, Ledger, LedgerError, Running},
    task::{Effect, Outcome, Phase, PlanName, State, decided},
};

/// What a run that died left of a file plan.
pub(super) enum Left {
    /// The whole plan was performed: this is its answer, which is not recorded yet.
    Made(Running, Box<Executed>),
    Nothing,
    Unknown,
}

/// Reads from the journals how a plan ended whose outcome the ledger does not know.
pub(super) fn left_behind(
    ledger: &mut Ledger<'_>,
    ask: &Ask<'_>,
    operation: &str,
    (context, settled): (&Context<'_>, &mut Vec<String>),
) -> Result<Left, LedgerError> {
    // The journals of another root say nothing about it.
    let home = ledger.home_of(operation)?;
    if home.is_none() || home != ask.home {
        return Ok(Left::Unknown);
    }
    let fate = executor::fate(context.desk(), operation, settled).map_err(LedgerError::Stopped)?;
    let running = match (&fate, ledger.take_up(ask, operation)?) {
        (Fate::Unknown, _) | (_, None) => return Ok(Left::Unknown),
        (_, Some(running)) => running,
    };
    let Fate::Made { directory, changed } = fate else {
        ledger.no_change_remains(ask, &running)?;
        return Ok(Left::Nothing);
    };
    let status = Work::Files(Box::new(FileWork {
        order: FileOrder::Status(PlanName::Path(directory)),
        reasoning: vec![decided(format!(
            "{operation} had applied the plan before it ended without an answer, as the journal of the plan shows."
        ))],
    }));
    let mut executed = executor::perform(status, context);
    if let Some(failure) = executed.outcome.failure.take() {
        // The journal is enough to know that the plan was applied.
        let note = format!("The report of the plan cannot be read: {}", failure.message);
        executed = Executed::from(Outcome::nothing_done(State::Done, Phase::Complete, None));
        executed.outcome.notes.push(note);
    }
    executed.outcome.changed = changed.iter().map(ToString::to_string).collect();
    executed.outcome.effect = Effect::Done;
    Ok(Left::Made(running, Box::new(executed)))
}
