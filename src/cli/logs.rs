//! stderr: people and logs.

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use tracing::level_filters::LevelFilter;

/// How much is said on stderr, and how.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct LogArgs {
    /// Say more on stderr: -v decisions, -vv everything
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
    /// The form of what is said on stderr
    #[arg(long, value_enum, default_value_t = LogForm::Text, value_name = "FORM", global = true)]
    log: LogForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogForm {
    Text,
    /// One JSON object per line
    Json,
}

/// Sends what is said from here on to stderr.
pub(super) fn start(args: LogArgs) {
    let level = match args.verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let builder = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    match args.log {
        LogForm::Text => builder.without_time().compact().init(),
        LogForm::Json => builder.json().init(),
    }
}
