//! `oneact sessions`: the sessions of the ledger, the last used first.

use std::process::ExitCode;

use clap::Args;

use crate::{host::Interrupts, people::Summary};

use super::{
    Stop,
    history::{counted, newest},
    printed,
    printing::{Desk, ReadArgs, columns, json, words},
    settings::{PlaceArgs, number},
    terminal::{fit, padded, width, wrapped},
};

#[derive(Debug, Args)]
pub(super) struct SessionsArgs {
    /// Show the N sessions that were used last; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = number::<usize>)]
    limit: usize,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    /// Print times in UTC instead of the local time zone
    #[arg(long)]
    utc: bool,
    #[command(flatten)]
    places: PlaceArgs,
}

pub(super) fn run(args: &SessionsArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let read = ReadArgs {
        session: None,
        json: args.json,
        utc: args.utc,
        places: args.places.clone(),
    };
    let mut desk = Desk::open(&read, interrupts)?;
    let all = desk.reading.sessions(newest(args.limit))?;
    let text = if args.json {
        json::line(&json::sessions(&all))
    } else if args.limit != 0 && all.len() >= args.limit {
        let rest = "Older sessions are not shown; --limit 0 shows all.\n";
        table(&all, &desk, columns()) + rest
    } else {
        table(&all, &desk, columns())
    };
    Ok(printed(text, 0))
}

/// The widest column for the names of sessions.
const NAME: usize = 36;

/// A time to the minute: `2026-02-24 10:00`.
const MINUTE: usize = 16;

/// `sess-1  n8n · 2026-02-24 10:00 to 10:03 · 7 steps · 1 failed · 1 waiting · last failure …`
fn table(all: &[Summary], desk: &Desk, columns: usize) -> String {
    let name = |summary: &Summary| fit(&words::line(&summary.counts.session_id), NAME);
    let names = all.iter().map(|summary| width(&name(summary)));
    let room = names.max().unwrap_or_default();
    let line = |summary: &Summary| {
        let told = wrapped(&told(summary, desk), columns.saturating_sub(room + 2));
        let told = told.join(&format!("\n{}", " ".repeat(room + 2)));
        format!("{}  {told}\n", padded(&name(summary), room))
    };
    all.iter().map(line).collect()
}

fn told(summary: &Summary, desk: &Desk) -> String {
    let counts = &summary.counts;
    let minute = |at: &str| desk.date(at).chars().take(MINUTE).collect::<String>();
    let (first, last) = (minute(&summary.first), minute(&summary.last));
    let used = match (first.split_once(' '), last.split_once(' ')) {
        _ if first == last => first,
        (Some((day, _)), Some((same, clock))) if day == same => format!("{first} to {clock}"),
        _ => format!("{first} to {last}"),
    };
    let number = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let failure = summary.last_failure.as_ref().map(|row| {
        let action = row.action_type.as_deref().unwrap_or("–");
        let fault = row.fault.as_deref().unwrap_or("failed");
        format!("last failure: {action} {fault}, {}", row.operation_id)
    });
    let profile = summary.opened.as_ref().map(|opened| &opened.profile);
    let profile = profile.filter(|profile| *profile != "default").cloned();
    let parts = [
        profile,
        Some(used),
        Some(counted(counts.steps)),
        number(counts.failed, "failed"),
        number(counts.waiting, "waiting"),
        failure,
    ];
    words::line(&parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}
