//! stderr: people and logs.

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{
    Layer, filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt,
};

use super::stderr::Stderr;

/// How much is said on stderr, and how.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(super) struct LogArgs {
    /// Say more on stderr: -v each decision and why, -vv each stage too
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
    /// The form of what is said on stderr
    #[arg(long, value_enum, default_value_t = LogForm::Text, value_name = "FORM", global = true)]
    log: LogForm,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum LogForm {
    /// Lines for people
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

/// Sends what is said from here on to stderr. Only oneact's own words: libraries would print whole
/// requests and answers, and with them secrets (invariant 6).
pub(super) fn start(args: LogArgs) {
    let level = match args.verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let own = Targets::new().with_target("oneact", level);
    let lines = fmt::layer()
        .with_writer(|| Stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    let registry = tracing_subscriber::registry();
    match args.log {
        LogForm::Text => registry
            .with(lines.without_time().compact().with_filter(own))
            .init(),
        LogForm::Json => registry.with(lines.json().with_filter(own)).init(),
    }
}
