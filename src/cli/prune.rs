//! `oneact prune`: old requests and responses are removed; the chain stays.

use std::{process::ExitCode, time::Duration};

use clap::Args;
use serde_json::json;

use crate::{
    host::Interrupts,
    perform::{self, Wish},
};

use super::{
    evidence::{self, grouped},
    flags::PlaceArgs,
};

/// What is old.
#[derive(Debug, Args)]
pub(super) struct PruneArgs {
    /// Answers older than this, e.g. 90d, 12w, 36h; what was answered within the last day stays.
    /// An answer that could still be reused goes as well: the next such request is done again
    #[arg(long, value_name = "AGE", value_parser = age)]
    older: Duration,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    places: PlaceArgs,
}

/// Prunes and tells.
pub(super) fn run(args: &PruneArgs, interrupts: Interrupts) -> ExitCode {
    let wish = if args.dry_run {
        Wish::Look
    } else {
        Wish::Prune
    };
    evidence::decided(&args.places, interrupts, |settings, host| {
        let pruned = perform::prune(args.older, wish, settings, host)?;
        if args.json {
            return Ok(evidence::line(&json!({
                "dry_run": args.dry_run, "rows": pruned.rows, "bytes": pruned.bytes,
                "kept": pruned.kept, "links": pruned.links,
            })));
        }
        let (rows, bytes) = (grouped(pruned.rows), grouped(pruned.bytes));
        let mut text = match wish {
            Wish::Look => format!("{rows} answers would be pruned, {bytes} bytes"),
            Wish::Prune => format!("{rows} answers pruned, {bytes} bytes"),
        };
        if pruned.kept > 0 {
            text += "; ";
            text += &grouped(pruned.kept);
            text += " kept: open, or of the last day";
        }
        Ok(text + "\n")
    })
}

/// A number and its unit.
fn age(text: &str) -> Result<Duration, String> {
    let wrong = || "give a number and s, m, h, d or w, e.g. 90d".to_owned();
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match text.strip_prefix(number) {
        Some("s") => 1,
        Some("m") => 60,
        Some("h") => 60 * 60,
        Some("d") => 24 * 60 * 60,
        Some("w") => 7 * 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let seconds = number.checked_mul(unit).filter(|seconds| *seconds > 0);
    seconds.map(Duration::from_secs).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_a_number_and_a_unit() {
        for (text, seconds) in [
            ("90d", 7_776_000),
            ("12w", 7_257_600),
            ("36h", 129_600),
            ("1s", 1),
        ] {
            assert_eq!(age(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in [
            "",
            "90",
            "d",
            "0d",
            "-1d",
            "1.5d",
            "90 d",
            "1y",
            "99999999999999999999d",
            "18446744073709551615w",
        ] {
            assert!(age(text).is_err(), "{text}");
        }
    }
}
