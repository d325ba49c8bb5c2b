//! What the commands that print the ledger share: flags, the open ledger, times, sizes, and the words for a step.

pub(super) mod json;
pub(super) mod page;
pub(super) mod page_file;
pub(super) mod plan;
pub(super) mod words;

use std::io;

use clap::Args;
use jiff::{Timestamp, Zoned, tz::TimeZone};
use rustix::termios::tcgetwinsize;

use crate::{
    host::{Host, Interrupts},
    people::{Filter, Page, Reading, Row, Step, Whole},
    record::Project,
};

use super::{
    Stop,
    settings::{PlaceArgs, session_of_environment},
    stop,
};

// Flags of the commands that print the ledger.
#[derive(Debug, Args)]
pub(super) struct ReadArgs {
    /// The session [default: `$ONEACT_SESSION`, or the one that was used last]
    #[arg(long, value_name = "ID")]
    pub(super) session: Option<String>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub(super) json: bool,
    /// Print times in UTC instead of the local time zone
    #[arg(long)]
    pub(super) utc: bool,
    #[command(flatten)]
    pub(super) places: PlaceArgs,
}

impl ReadArgs {
    /// The session that the flag or the environment names.
    pub(super) fn session(&self) -> Result<Option<String>, Stop> {
        match &self.session {
            Some(session) => Ok(Some(session.clone())),
            None => session_of_environment().map_err(stop(2)),
        }
    }
}

/// An open ledger, and what is needed to print it.
pub(super) struct Desk {
    pub(super) project: Project,
    pub(super) reading: Reading,
    pub(super) host: Host,
    /// None is the local zone.
    zone: Option<TimeZone>,
    pub(super) session: Option<String>,
}

impl Desk {
    pub(super) fn open(args: &ReadArgs, interrupts: Interrupts) -> Result<Self, Stop> {
        let project = args.places.project()?;
        let host = Host::new(None, None, interrupts);
        Ok(Self {
            reading: project.reading(&host)?,
            project,
            host,
            zone: args.utc.then_some(TimeZone::UTC),
            session: args.session()?,
        })
    }

    pub(super) fn find(&mut self, id: &str) -> Result<Row, Stop> {
        Ok(self.reading.find(id, self.session.as_deref())?)
    }

    /// The whole session that the flags name.
    pub(super) fn whole(&mut self) -> Result<(Page, Vec<Whole>), Stop> {
        let session = self.reading.session(self.session.as_deref())?;
        let page = self
            .reading
            .page(&session, usize::MAX, &Filter::default(), &|_| true)?;
        let whole = self.reading.whole(&session, page.steps.clone())?;
        Ok((page, whole))
    }

    /// A recorded time in the requested zone; `None` if the text is no time.
    pub(super) fn moment(&self, instant: &str) -> Option<Zoned> {
        let at: Timestamp = instant.parse().ok()?;
        Some(match &self.zone {
            None => self.host.local(at),
            Some(zone) => at.to_zoned(zone.clone()),
        })
    }

    /// A recorded time as `HH:MM:SS`.
    pub(super) fn clock(&self, instant: &str) -> String {
        self.shown(instant, "%H:%M:%S")
    }

    /// A recorded time with its date.
    pub(super) fn date(&self, instant: &str) -> String {
        self.shown(instant, "%Y-%m-%d %H:%M:%S")
    }

    /// A recorded time in that format. Rows that oneact did not write may hold any text there.
    fn shown(&self, instant: &str, format: &str) -> String {
        let at = self.moment(instant);
        at.map_or_else(
            || words::line(instant),
            |at| at.strftime(format).to_string(),
        )
    }
}

/// `1284` as `1 284`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// The width of tables: that of the terminal, otherwise 80 columns.
pub(super) fn columns() -> usize {
    let terminal = tcgetwinsize(io::stdout()).ok();
    usable(terminal.map(|size| size.ws_col))
}

fn usable(columns: Option<u16>) -> usize {
    // A terminal without a known width reports 0.
    let columns = columns.filter(|columns| *columns > 0);
    usize::from(columns.unwrap_or(80)).clamp(60, 200)
}

/// `0.4 s`, `3 min 05 s`
pub(super) fn duration(ms: u64) -> String {
    if ms < 100_000 {
        let tenths = ms.saturating_add(50) / 100;
        return format!("{}.{} s", tenths / 10, tenths % 10);
    }
    let seconds = ms / 1000;
    format!("{} min {:02} s", seconds / 60, seconds % 60)
}

/// `1.4 MB`
pub(super) fn size(bytes: u64) -> String {
    let units = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} bytes");
    }
    let (mut tenths, mut unit) = (bytes / 100, 0);
    while tenths >= 10_000 && unit + 1 < units.len() {
        tenths /= 1000;
        unit += 1;
    }
    let unit = units.get(unit).copied().unwrap_or_default();
    if tenths >= 100 {
        format!("{} {unit}", tenths / 10)
    } else {
        format!("{}.{} {unit}", tenths / 10, tenths % 10)
    }
}

/// The task's id, with the number of an attempt after the first: `task_2²`.
pub(super) fn task(step: &Step) -> String {
    let name = step.row.task_id.as_deref().unwrap_or("–");
    if step.row.attempt < 2 {
        return name.to_owned();
    }
    let digits = step.row.attempt.to_string();
    let raised = |digit: u8| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(usize::from(digit - b'0'));
    name.chars()
        .chain(digits.bytes().filter_map(raised))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_does_not_know_its_width_has_80_columns() {
        let all = [None, Some(0), Some(1), Some(132), Some(9999)].map(usable);
        assert_eq!(all, [80, 80, 60, 132, 200]);
    }

    #[test]
    fn durations_and_sizes_are_told_in_few_digits() {
        let told = [0, 449, 48_249, 99_949, 185_000].map(duration);
        assert_eq!(told, ["0.0 s", "0.4 s", "48.2 s", "99.9 s", "3 min 05 s"]);
        let told = [0, 999, 1_400, 99_900, 1_400_000, 20_000_000, 3_200_000_000].map(size);
        assert_eq!(
            told,
            [
                "0 bytes",
                "999 bytes",
                "1.4 kB",
                "99 kB",
                "1.4 MB",
                "20 MB",
                "3.2 GB"
            ]
        );
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let all = [0, 999, 1000, 1284, 1_234_567].map(grouped);
        assert_eq!(all, ["0", "999", "1 000", "1 284", "1 234 567"]);
    }
}
