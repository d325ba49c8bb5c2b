//! What the commands share that look at the record: flags, times, sizes, and the words for a step.

pub(super) mod json;
pub(super) mod page;
pub(super) mod words;

use std::{io, process::ExitCode};

use clap::Args;
use jiff::{Timestamp, Zoned, tz::TimeZone};
use rustix::termios::tcgetwinsize;

use crate::{
    host::{Host, Interrupts},
    perform::{LookError, Reading, Settings, Step, look},
};

use super::{flags::PlaceArgs, print, settings};

/// Flags of everything that looks at the record.
#[derive(Debug, Args)]
pub(super) struct LookArgs {
    /// The session [default: the one that was used last]
    #[arg(long, value_name = "ID")]
    pub(super) session: Option<String>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub(super) json: bool,
    /// Times in UTC instead of the local time zone
    #[arg(long)]
    pub(super) utc: bool,
    #[command(flatten)]
    pub(super) places: PlaceArgs,
}

/// Why there is nothing to print.
#[derive(Debug, thiserror::Error)]
pub(super) enum LookFailure {
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Look(#[from] LookError),
    #[error("{0}")]
    Said(String),
}

impl From<crate::perform::RecordError> for LookFailure {
    fn from(error: crate::perform::RecordError) -> Self {
        Self::Look(error.into())
    }
}

/// An open ledger, and what is needed to tell of it.
pub(super) struct Desk {
    pub(super) settings: Settings,
    pub(super) reading: Reading,
    pub(super) host: Host,
    pub(super) zone: Zone,
}

/// In which zone times are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    Local,
    Utc,
}

/// Opens the ledger, has it told, and prints that: 0; or 1, and the reason on stderr.
pub(super) fn told(
    args: &LookArgs,
    interrupts: Interrupts,
    tell: impl FnOnce(&mut Desk) -> Result<String, LookFailure>,
) -> ExitCode {
    let text = desk(args, interrupts).and_then(|mut desk| tell(&mut desk));
    match text {
        Ok(text) => match print(text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(failure) => failed(&failure),
    }
}

/// The reason on stderr, and its exit code.
pub(super) fn failed(failure: &LookFailure) -> ExitCode {
    tracing::error!("{failure}");
    match failure {
        LookFailure::Usage(_) => ExitCode::from(2),
        LookFailure::Look(_) | LookFailure::Said(_) => ExitCode::FAILURE,
    }
}

pub(super) fn desk(args: &LookArgs, interrupts: Interrupts) -> Result<Desk, LookFailure> {
    let settings = settings::places(&args.places).map_err(LookFailure::Usage)?;
    Ok(Desk {
        reading: look(&settings)?,
        settings,
        host: Host::new(None, None, interrupts),
        zone: if args.utc { Zone::Utc } else { Zone::Local },
    })
}

impl Desk {
    /// A moment of the record in the zone that was asked for; none if it is none.
    pub(super) fn moment(&self, instant: &str) -> Option<Zoned> {
        let at: Timestamp = instant.parse().ok()?;
        Some(match self.zone {
            Zone::Local => self.host.local(at),
            Zone::Utc => at.to_zoned(TimeZone::UTC),
        })
    }

    /// A moment as a clock shows it. Rows of before oneact may hold any text in its place.
    pub(super) fn clock(&self, instant: &str) -> String {
        let shown = |at: Zoned| at.strftime("%H:%M:%S").to_string();
        self.moment(instant)
            .map_or_else(|| words::line(instant), shown)
    }

    /// With the day before it.
    pub(super) fn date(&self, instant: &str) -> String {
        let shown = |at: Zoned| at.strftime("%Y-%m-%d %H:%M:%S").to_string();
        self.moment(instant)
            .map_or_else(|| words::line(instant), shown)
    }
}

/// How wide a table may be: as the terminal, else 80 columns.
pub(super) fn columns() -> usize {
    let terminal = tcgetwinsize(io::stdout()).ok();
    usable(terminal.map(|size| size.ws_col))
}

fn usable(columns: Option<u16>) -> usize {
    // A terminal that does not know its width says 0.
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

/// `task_2²`: of a later attempt its number.
pub(super) fn task(step: &Step) -> String {
    let name = step.row.task_id.as_deref().unwrap_or("–");
    if step.row.attempt < 2 {
        return name.to_owned();
    }
    let digits = step.row.attempt.to_string();
    let raised = digits.chars().map(|digit| match digit {
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        _ => '⁰',
    });
    name.chars().chain(raised).collect()
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
}
