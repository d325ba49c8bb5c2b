//! `oneact sessions`: the sessions of the ledger, the last used first.

use std::process::ExitCode;

use clap::Args;

use super::{
    ended::Stop,
    history::steps,
    printing::{LedgerView, ReadArgs, Table, columns, json, words},
    settings::number,
    terminal::fit,
};
use crate::{host::Interrupts, people::SessionSummary};

#[derive(Debug, Args)]
pub(super) struct SessionsArgs {
    /// Show the N sessions that were used last; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = number::<usize>)]
    limit: usize,
    #[command(flatten)]
    read: ReadArgs,
}

/// `sess-1  n8n · 2026-02-24 10:00 to 2026-02-24 10:03 · 7 steps · 1 failed · 1 waiting · last failure …`
pub(super) fn run(args: &SessionsArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let mut view = args.read.open(interrupts)?;
    let most = match args.limit {
        0 => usize::MAX,
        limit => limit,
    };
    let all = view.reading.sessions(most)?;
    let text = || {
        let name = |summary: &SessionSummary| fit(&words::line(&summary.counts.session_id), NAME);
        let rows = all.iter();
        let rows = rows.map(|summary| [name(summary), told(summary, &view)]);
        let table = Table {
            rows: rows.collect(),
            ..Table::default()
        };
        let rest = if all.len() == most {
            "Older sessions are not shown; --limit 0 shows all.\n"
        } else {
            ""
        };
        table.text(columns()) + rest
    };
    Ok(args.read.form.printed(&json::sessions(&all), text, 0))
}

/// The widest column for the names of sessions.
const NAME: usize = 36;

fn told(summary: &SessionSummary, view: &LedgerView) -> String {
    let counts = &summary.counts;
    let minute = |at: &str| view.time(at, "%Y-%m-%d %H:%M");
    let used = format!("{} to {}", minute(&summary.first), minute(&summary.last));
    let number = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let failure = summary.last_failure.as_ref().map(|row| {
        let fault = row.fault.as_deref().unwrap_or("failed");
        let action = words::action(row);
        format!("last failure: {action} {fault}, {}", row.operation_id)
    });
    let profile = summary.opened.as_ref().map(|opened| &opened.profile);
    let profile = profile.filter(|profile| *profile != "default").cloned();
    let parts = [
        profile,
        Some(used),
        Some(steps(counts.steps)),
        number(counts.failed, "failed"),
        number(counts.waiting, "waiting"),
        failure,
    ];
    words::line(&parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}
