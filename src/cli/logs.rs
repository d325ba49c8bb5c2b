//! stderr: messages for people, and logs.

use std::{
    fmt::Debug,
    io::{self, IsTerminal},
    sync::OnceLock,
};

use clap::{Args, ColorChoice, ValueEnum};
use serde_json::{Map, Value, json};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
    span::{Attributes, Id, Record},
};

use super::streams::tell;
use crate::{
    host::{self, Clock},
    task::{Failure, redact_presigned, visible},
};

// How much is said on stderr, and how.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(super) struct LogArgs {
    /// Report more on stderr: -v reports each decision and its reason, -vv also each phase
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
    /// Print nothing on stderr, not even the reason of a failure
    #[arg(short, long, conflicts_with = "verbose", global = true)]
    quiet: bool,
    /// When to print in colours; `auto` means on a terminal, unless `NO_COLOR` is set
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", global = true)]
    color: ColorChoice,
    /// The format of messages on stderr
    #[arg(long, value_enum, default_value_t = LogForm::Text, value_name = "FORM", global = true)]
    log: LogForm,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum LogForm {
    /// Text lines
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

/// The prefix of oneact's own log targets. Libraries would log whole requests and answers, and with them secrets
/// (invariant 6).
const OWN: &str = "oneact";

static ARGS: OnceLock<LogArgs> = OnceLock::new();

/// Sends oneact's own events from now on to stderr.
pub(super) fn start(args: LogArgs) {
    let _ = ARGS.set(args);
    let most = match args.verbose {
        _ if args.quiet => return,
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let log = Log {
        most,
        form: args.log,
    };
    // This fails only if a dispatcher is set already, and only this function sets one.
    let _ = tracing::subscriber::set_global_default(log);
}

/// The flags with which another run of oneact logs in the same way.
pub(super) fn flags() -> Vec<String> {
    let args = ARGS.get().copied().unwrap_or_default();
    let mut flags = vec!["-v".to_owned(); usize::from(args.verbose)];
    if args.quiet {
        flags.push("--quiet".to_owned());
    }
    if args.log == LogForm::Json {
        flags.push("--log=json".to_owned());
    }
    flags
}

/// A text in a colour (ECMA-48 SGR).
pub(super) fn in_colour(text: &str, colour: u8) -> String {
    format!("\x1b[{colour}m{text}\x1b[0m")
}

/// Whether to print in colours on that stream (no-color.org).
pub(super) fn in_colours(stream: &impl IsTerminal) -> bool {
    let unset = || host::variable("NO_COLOR").is_none_or(|said| said.is_empty());
    match ARGS.get().copied().unwrap_or_default().color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => stream.is_terminal() && unset(),
    }
}

pub(super) fn is_verbose() -> bool {
    ARGS.get().is_some_and(|args| args.verbose > 0)
}

/// Prints why a run failed, in one line: a user who redirects stdout sees nothing else.
pub(super) fn failed(failure: &Failure) {
    let args = ARGS.get().copied().unwrap_or_default();
    let (class, message) = (failure.fault.name(), &failure.message);
    match args.log {
        _ if args.quiet => {}
        LogForm::Json => tracing::error!(class, "{message}"),
        LogForm::Text => {
            // Blanks stay as they are: a message can quote a line of a file.
            let lines = message.split(['\n', '\r']).map(str::trim);
            let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
            tell(&format!("oneact: {class}: {}\n", safe(&lines.join(" "))));
        }
    }
}

/// The text without line breaks, control characters and signatures of links.
fn safe(text: &str) -> String {
    visible(&redact_presigned(text)).into_owned()
}

/// Writes a line for each of oneact's own events.
struct Log {
    most: LevelFilter,
    form: LogForm,
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.most && metadata.target().starts_with(OWN) && !metadata.is_span()
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.most)
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        tell(&line(self.form, *event.metadata().level(), fields.0));
    }

    // No span is enabled, so the span methods are never called.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The fields of an event, whatever texts they quote.
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, text: &str) {
        self.0.insert(field.name().to_owned(), safe(text).into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

/// A message as one line: `oneact: error: sentence field=value`, or a JSON object.
fn line(form: LogForm, level: Level, mut fields: Map<String, Value>) -> String {
    if form == LogForm::Json {
        let at = Clock::new(None).timestamp().to_string();
        let line = json!({"timestamp": at, "level": level.as_str(), "fields": fields});
        return format!("{line}\n");
    }
    let (class, colour) = match level {
        Level::ERROR => ("error", 31),
        Level::WARN => ("warning", 33),
        Level::INFO => ("info", 32),
        Level::DEBUG => ("debug", 34),
        Level::TRACE => ("trace", 35),
    };
    let class = if in_colours(&io::stderr()) {
        in_colour(class, colour)
    } else {
        class.to_owned()
    };
    let message = fields.shift_remove("message").unwrap_or_default();
    let message = message.as_str().unwrap_or_default();
    let mut line = format!("oneact: {class}: {message}");
    for (name, value) in &fields {
        line.extend([" ", name, "=", value.as_str().unwrap_or_default()]);
    }
    line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_whatever_it_quotes() {
        let fields = || {
            let mut fields = Map::new();
            fields.insert("message".to_owned(), safe("a\nb\u{1b}[2J").into());
            fields.insert("error".to_owned(), "no".into());
            fields
        };
        let text = line(LogForm::Text, Level::WARN, fields());
        assert_eq!(text, "oneact: warning: a^Jb^[[2J error=no\n");
        let text = line(LogForm::Json, Level::WARN, fields());
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["level"], "WARN");
        assert_eq!(value["fields"]["error"], "no");
    }
}
