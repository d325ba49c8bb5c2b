//! stderr: people and logs.

use std::{
    io::{IsTerminal, Write},
    sync::OnceLock,
};

use clap::{Args, ValueEnum};
use tracing::{
    Dispatch, Event, Level, Metadata, Subscriber,
    level_filters::LevelFilter,
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{Layer, filter::Targets, fmt, layer::SubscriberExt, registry::Registry};

use crate::task::Failure;

use super::{stderr::Stderr, tame::tame};

/// How much is said on stderr, and how.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(super) struct LogArgs {
    /// Say more on stderr: -v each decision and why, -vv each stage too
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
    /// Say nothing on stderr, not even why a run has failed
    #[arg(short, long, conflicts_with = "verbose", global = true)]
    quiet: bool,
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

/// The words that are ours begin so. Libraries would print whole requests and answers, and with them
/// secrets (invariant 6).
const OWN: &str = "oneact";

/// As the command line says.
static ARGS: OnceLock<LogArgs> = OnceLock::new();

/// Sends what is said from here on to stderr: only oneact's own words.
pub(super) fn start(args: LogArgs) {
    let _ = ARGS.set(args);
    let dispatch = match args.verbose {
        _ if args.quiet => return,
        0 => Dispatch::new(Quiet {
            form: args.log,
            lines: OnceLock::new(),
        }),
        1 => lines(args.log, LevelFilter::INFO),
        2 => lines(args.log, LevelFilter::DEBUG),
        _ => lines(args.log, LevelFilter::TRACE),
    };
    // It fails only where another has been set, and this is the one place that does.
    let _ = tracing::dispatcher::set_global_default(dispatch);
}

/// Why a run has failed, in one line: where stdout is redirected, nothing else is seen of it.
pub(super) fn failed(failure: &Failure) {
    let args = ARGS.get().copied().unwrap_or_default();
    if args.quiet {
        return;
    }
    let (class, message) = (failure.fault.name(), failure.message.as_str());
    match args.log {
        LogForm::Json => tracing::error!(class, "{message}"),
        LogForm::Text => {
            let words: Vec<&str> = message.split_whitespace().collect();
            let line = format!("oneact: {class}: {}\n", tame(&words.join(" ")));
            // If stderr is gone, nothing can be done.
            let _ = Stderr.write_all(line.as_bytes());
        }
    }
}

/// Writes a line for each event of that level or above.
fn lines(form: LogForm, level: LevelFilter) -> Dispatch {
    let own = Targets::new().with_target(OWN, level);
    let lines = fmt::layer()
        .with_writer(|| Stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    let registry = Registry::default();
    match form {
        LogForm::Text => {
            Dispatch::new(registry.with(lines.without_time().compact().with_filter(own)))
        }
        LogForm::Json => Dispatch::new(registry.with(lines.json().with_filter(own))),
    }
}

/// Most runs say nothing: what writes lines is made when there is a first one.
struct Quiet {
    form: LogForm,
    lines: OnceLock<Dispatch>,
}

impl Subscriber for Quiet {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
            && metadata.target().starts_with(OWN)
            && metadata.is_event()
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::WARN)
    }

    fn event(&self, event: &Event<'_>) {
        self.lines
            .get_or_init(|| lines(self.form, LevelFilter::WARN))
            .event(event);
    }

    // There are no spans, since none is enabled.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
