//! The ledger's view of the world: whether files have changed, the time, and what a run that died left of a file plan.

use camino::Utf8Path;
use jiff::{SignedDuration, Timestamp, civil::DateTime, tz::TimeZone};

use crate::{
    assets::print::{GoOn, still},
    envelope::Received,
    executor::{self, Context, Fate, FileOrder, FileWork, Hidden, Work},
    host::Host,
    ledger::{Ask, Ledger, LedgerError, World},
    task::{Effect, Links, Outcome, Phase, PlanName, Print, Sight, State, Still, Uri},
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
}

impl World for Here<'_> {
    fn still(&self, uri: &str, seen: &Print, links: Links) -> Still {
        let Ok(uri) = Uri::parse(uri) else {
            return Still::Unknown;
        };
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

/// Settles the claim of a run that died during a file plan, as the journal of the plan shows it: with the answer of that
/// run, or with the fact that no change remains. If no journal tells, the claim stays. `told` gets a sentence for each
/// plan that was settled.
pub(super) fn settle_dead(
    ledger: &mut Ledger<'_>,
    (ask, operation): (&Ask<'_>, &str),
    (received, hidden): (&Received, &Hidden),
    (context, told): (&Context<'_>, &mut Vec<String>),
) -> Result<(), LedgerError> {
    // The journals of another root say nothing about it.
    let home = ledger.home_of(operation)?;
    if home.is_none() || home != ask.home {
        return Ok(());
    }
    let fate = executor::fate(context.desk(), operation, told).map_err(LedgerError::Stopped)?;
    // Another run may have settled it meanwhile.
    let Some(dead) = ledger.dead(ask, operation)? else {
        return Ok(());
    };
    let (directory, changed) = match fate {
        Fate::Unknown => return Ok(()),
        Fate::NotMade => return ledger.settle_as_undone(ask, &dead),
        Fate::Made { directory, changed } => (directory, changed),
    };
    let status = Work::Files(Box::new(FileWork {
        order: FileOrder::Status(PlanName::Path(directory)),
        reasoning: Vec::new(),
    }));
    let mut outcome = executor::perform(status, context).outcome;
    told.push(format!(
        "{operation} had applied the plan before it ended without an answer, as the journal of the plan shows."
    ));
    if let Some(failure) = outcome.failure.take() {
        // The journal is enough to know that the plan was applied.
        let note = format!("The report of the plan cannot be read: {}", failure.message);
        told.push(note);
        outcome = Outcome::nothing_done(State::Done, Phase::Complete, None);
    }
    outcome.changed = changed.iter().map(ToString::to_string).collect();
    outcome.effect = Effect::Done;
    review::open(
        &mut outcome,
        ask.review,
        operation,
        context.host.timestamp(),
    );
    let received = Received {
        task_id: dead.task_id().unwrap_or_default().to_owned(),
        ..received.clone()
    };
    let inputs = Before::default();
    let ended = ended::of(&outcome, &received, inputs, ask, hidden, context);
    ledger.settle_as_made(ask, &dead, ended)
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
