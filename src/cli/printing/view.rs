//! The open ledger, and the flags and times with which it is printed.

use clap::Args;
use jiff::{Timestamp, Zoned, tz::TimeZone};

use super::words;
use crate::{
    cli::{
        ended::{Stop, stop},
        settings::{FormArgs, PlaceArgs, session_of_environment},
    },
    host::{Host, Interrupts},
    people::{Answers, Filter, Reading, Row, WholeAnswer},
    record::Project,
};

// Flags of the commands that print the ledger.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ReadArgs {
    /// Print times in UTC instead of the local time zone
    #[arg(long)]
    pub(crate) utc: bool,
    #[command(flatten)]
    pub(crate) form: FormArgs,
}

impl ReadArgs {
    /// Opens the ledger for all sessions.
    pub(crate) fn open(&self, interrupts: Interrupts) -> Result<LedgerView, Stop> {
        let zone = self.utc.then_some(TimeZone::UTC);
        LedgerView::open(&self.form.places, zone, interrupts)
    }
}

// The same with a session.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// The session [default: `$ONEACT_SESSION`, or the one that was used last]
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

impl SessionArgs {
    /// Opens the ledger for the session that the flag or the environment names.
    pub(crate) fn open(&self, interrupts: Interrupts) -> Result<LedgerView, Stop> {
        let mut view = self.read.open(interrupts)?;
        view.session = match &self.session {
            Some(session) => Some(session.clone()),
            None => session_of_environment().map_err(stop(2))?,
        };
        Ok(view)
    }
}

/// An open ledger, and what is needed to print it.
pub(crate) struct LedgerView {
    pub(crate) project: Project,
    pub(crate) reading: Reading,
    pub(crate) host: Host,
    /// None is the local zone.
    zone: Option<TimeZone>,
    pub(crate) session: Option<String>,
}

impl LedgerView {
    /// `zone` is that of the times that are shown; none is the local one.
    pub(crate) fn open(
        places: &PlaceArgs,
        zone: Option<TimeZone>,
        interrupts: Interrupts,
    ) -> Result<Self, Stop> {
        let project = places.project()?;
        let host = Host::new(None, None, interrupts);
        Ok(Self {
            reading: project.reading(&host)?,
            project,
            host,
            zone,
            session: None,
        })
    }

    pub(crate) fn find(&mut self, id: &str) -> Result<Row, Stop> {
        Ok(self.reading.find(id, self.session.as_deref())?)
    }

    /// The whole session that the flags name.
    pub(crate) fn whole(&mut self) -> Result<(Answers, Vec<WholeAnswer>), Stop> {
        let session = self.reading.session(self.session.as_deref())?;
        let filter = Filter::default();
        let answers = self.reading.answers(Some(&session), usize::MAX, &filter)?;
        let rows = answers.steps.iter().map(|step| step.row.clone()).collect();
        let whole = self.reading.whole(rows)?;
        Ok((answers, whole))
    }

    /// A recorded time in the requested zone; `None` if the text is no time.
    pub(crate) fn moment(&self, instant: &str) -> Option<Zoned> {
        let at: Timestamp = instant.parse().ok()?;
        Some(match &self.zone {
            None => self.host.local(at),
            Some(zone) => at.to_zoned(zone.clone()),
        })
    }

    /// A recorded time as `HH:MM:SS`.
    pub(crate) fn clock(&self, instant: &str) -> String {
        self.time(instant, "%H:%M:%S")
    }

    /// A recorded time with its date.
    pub(crate) fn date(&self, instant: &str) -> String {
        self.time(instant, "%Y-%m-%d %H:%M:%S")
    }

    /// A recorded time in that format. Rows that oneact did not write may hold any text there.
    pub(crate) fn time(&self, instant: &str, format: &str) -> String {
        let at = self.moment(instant);
        at.map_or_else(
            || words::line(instant),
            |at| at.strftime(format).to_string(),
        )
    }
}
