//! The ledger's view of the world: whether files have changed, the time, and what a run that died left of a file plan.

use camino::Utf8Path;
use jiff::{SignedDuration, Timestamp, civil::DateTime, tz::TimeZone};
use serde_json::Value;

use crate::{
    assets::{
        Objects,
        print::{GoOn, still},
    },
    envelope::Received,
    executor::{self, Context, Fate, FileOrder, FileWork, Hidden, Work},
    host::Host,
    ledger::{Ask, Ledger, LedgerError, World},
    task::{
        Effect, Failure, Fault, Links, Outcome, Phase, PlanName, Print, Sight, State, Still, Uri,
    },
};

use super::{
    ended::{self, Before},
    review,
};

/// The world below a root.
pub(super) struct Here<'a> {
    pub(super) root: &'a Utf8Path,
    pub(super) host: &'a Host,
    /// Whether reading may continue.
    pub(super) go_on: GoOn<'a>,
    pub(super) objects: Option<Objects>,
}

impl World for Here<'_> {
    fn still(&self, uri: &str, seen: &Print, links: Links) -> Still {
        let Ok(uri) = Uri::parse(uri) else {
            return Still::Unknown;
        };
        let objects = self.objects.as_ref();
        if let Some(still) = objects.and_then(|objects| objects.still(seen, &uri, self.go_on)) {
            return still;
        }
        let still = still(seen, &uri, self.root, links, self.go_on);
        // An output below the root whose content was not recorded may have changed. Others cannot be examined.
        let is_local = links == Links::Refused && uri.local_path(self.root).is_some();
        match seen.sight {
            Sight::Unknown if is_local => Still::Other,
            _ => still,
        }
    }

    /// Presigned S3 URLs state when they were signed, and for how long.
    fn expires(&self, uri: &str) -> Option<Timestamp> {
        let pairs = uri.split_once('?')?.1.split('&');
        let pairs = pairs.filter_map(|pair| pair.split_once('='));
        let value = |name: &str| {
            let mut pairs = pairs.clone();
            Some(pairs.find(|(key, _)| key.eq_ignore_ascii_case(name))?.1)
        };
        let signed = DateTime::strptime("%Y%m%dT%H%M%SZ", value("X-Amz-Date")?).ok()?;
        let seconds = value("X-Amz-Expires")?.parse().ok()?;
        let signed = TimeZone::UTC.to_timestamp(signed).ok()?;
        signed.checked_add(SignedDuration::from_secs(seconds)).ok()
    }

    fn now(&self) -> Timestamp {
        self.host.timestamp()
    }
}

/// Settles an operation that left a file plan without an answer, as the journal of the plan shows it: with the answer of
/// that operation, or with the fact that no change remains. If no journal tells, it stays unsettled. `told` gets sentences
/// about the plans that were settled.
pub(super) fn settle(
    ledger: &mut Ledger<'_>,
    (ask, operation): (&Ask<'_>, &str),
    hidden: &Hidden,
    (context, told): (&Context<'_>, &mut Vec<String>),
) -> Result<(), LedgerError> {
    let Some(left) = ledger.left_unknown(ask, operation)? else {
        return Ok(());
    };
    // The journals of another root say nothing about it.
    if left.case.home.is_none() || left.case.home != ask.home {
        return Ok(());
    }
    let fate = executor::fate(context.desk, operation, told).map_err(LedgerError::Stopped)?;
    let (directory, changed) = match fate {
        Fate::Unknown => return Ok(()),
        Fate::NotMade => return ledger.settle_as_undone(&left),
        Fate::Made { directory, changed } => (directory, changed),
    };
    let mut outcome = by_report(directory, context);
    outcome.changed = changed.iter().map(ToString::to_string).collect();
    outcome.executed.extend(left.case.action.clone());
    let now = context.desk.host.timestamp();
    review::open(&mut outcome, ask.review, operation, now);
    let mut notes = vec![format!(
        "The journal of the plan shows that {operation} had applied it, so its answer is recorded."
    )];
    notes.append(&mut outcome.notes);
    let nobody = Failure::new(Fault::Internal, "");
    let received = Received {
        task_id: left.case.task_id.clone().unwrap_or_default(),
        ..Received::nobody(left.case.session_id.clone(), nobody)
    };
    let ended = ended::of(&outcome, &received, Before::default(), ask, hidden, context);
    if ledger.settle_as_made(&left, ask, ended)? {
        told.append(&mut notes);
    }
    Ok(())
}

/// The outcome of a plan that was applied, by its report. If the report cannot be read, it is a success without a report.
fn by_report(directory: String, context: &Context<'_>) -> Outcome {
    let status = Work::Files(Box::new(FileWork {
        order: FileOrder::Status(PlanName::Path(directory)),
        reasoning: Vec::new(),
    }));
    let mut outcome = executor::perform(status, context).outcome;
    if let Some(failure) = outcome.failure {
        let note = format!("The report of the plan cannot be read: {}", failure.message);
        outcome = Outcome::nothing_done(State::Done, Phase::Complete, None);
        outcome.notes.push(note);
    } else if let Some(failure) = outcome.execution_report.as_ref().and_then(first_failure) {
        outcome.failure = Some(failure);
        (outcome.state, outcome.phase) = (State::Partial, Phase::Plan);
    }
    outcome.effect = Effect::Done;
    outcome
}

/// The first failure that the report of a plan names, if the plan was applied in part.
fn first_failure(report: &Value) -> Option<Failure> {
    let error = report.pointer("/errors/0")?;
    let number = error.get("error_code")?.as_u64()?;
    let mut faults = Fault::ALL.iter().copied();
    let fault = faults.find(|fault| u64::from(fault.number()) == number);
    let message = error.get("message").and_then(Value::as_str);
    Some(Failure::new(
        fault.unwrap_or(Fault::Internal),
        message.unwrap_or_default(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Interrupts;

    #[test]
    fn a_presigned_link_says_when_it_ends() {
        let host = Host::new(None, Some(1), Interrupts::catch());
        let here = Here {
            root: Utf8Path::new("/"),
            host: &host,
            go_on: &|| true,
            objects: None,
        };
        let signed = "https://b.s3.amazonaws.com/a?X-Amz-Date=20260101T000000Z&X-Amz-Expires=900&X-Amz-Signature=00";
        let end: Timestamp = "2026-01-01T00:15:00Z".parse().unwrap();
        assert_eq!(here.expires(signed), Some(end));
        for plain in [
            "file:///a",
            "https://b/a?x=1",
            "https://b/a?X-Amz-Date=1&X-Amz-Expires=9",
        ] {
            assert_eq!(here.expires(plain), None, "{plain}");
        }
    }
}
