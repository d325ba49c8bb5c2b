//! stderr: messages for people, and logs.

use std::{
    fmt::Debug,
    io::{self, IsTerminal, Write},
    sync::OnceLock,
};

use clap::{Args, ValueEnum};
use serde_json::Value;
use tracing::{
    Dispatch, Event, Level, Metadata, Subscriber,
    field::Field,
    level_filters::LevelFilter,
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer,
    field::MakeExt,
    filter::Targets,
    fmt::{
        self, FmtContext,
        format::{FormatEvent, FormatFields, Writer},
    },
    layer::SubscriberExt,
    registry::{LookupSpan, Registry},
};

use super::streams::Stderr;
use crate::{
    host,
    task::{Failure, cut_links, each_text, redact_presigned, visible},
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
    color: Colour,
    /// The format of messages on stderr
    #[arg(long, value_enum, default_value_t = LogForm::Text, value_name = "FORM", global = true)]
    log: LogForm,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Colour {
    #[default]
    Auto,
    Always,
    Never,
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
    // This fails only if a dispatcher is set already, and only this function sets one.
    let _ = tracing::dispatcher::set_global_default(dispatch);
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
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => stream.is_terminal() && unset(),
    }
}

pub(super) fn is_verbose() -> bool {
    ARGS.get().is_some_and(|args| args.verbose > 0)
}

/// Prints why a run failed, in one line: a user who redirects stdout sees nothing else.
pub(super) fn failed(failure: &Failure) {
    let args = ARGS.get().copied().unwrap_or_default();
    if args.quiet {
        return;
    }
    let (class, message) = (failure.fault.name(), redact_presigned(&failure.message));
    match args.log {
        LogForm::Json => tracing::error!(class, "{message}"),
        LogForm::Text => {
            // Blanks stay as they are: a message can quote a line of a file.
            let lines = message.split(['\n', '\r']).map(str::trim);
            let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
            let line = format!("oneact: {class}: {}\n", visible(&lines.join(" ")));
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
        .with_ansi(in_colours(&io::stderr()))
        .with_target(false);
    let registry = Registry::default();
    match form {
        LogForm::Text => {
            let fields = fmt::format::debug_fn(field).delimited(" ");
            let lines = lines.event_format(Line).fmt_fields(fields);
            Dispatch::new(registry.with(lines.with_filter(own)))
        }
        LogForm::Json => {
            let lines = lines.with_writer(|| JsonLines).json();
            Dispatch::new(registry.with(lines.with_filter(own)))
        }
    }
}

/// A message as one line: `oneact: error: sentence`.
struct Line;

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let (class, colour) = match *event.metadata().level() {
            Level::ERROR => ("error", 31),
            Level::WARN => ("warning", 33),
            Level::INFO => ("info", 32),
            Level::DEBUG => ("debug", 34),
            Level::TRACE => ("trace", 35),
        };
        let class = if writer.has_ansi_escapes() {
            in_colour(class, colour)
        } else {
            class.to_owned()
        };
        write!(writer, "oneact: {class}: ")?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

/// Writes a field without line breaks, control characters and signatures of links, whatever text it quotes.
fn field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> std::fmt::Result {
    let value = format!("{value:?}");
    let value = redact_presigned(&value);
    let value = visible(&value);
    match field.name() {
        "message" => write!(writer, "{value}"),
        name => write!(writer, "{name}={value}"),
    }
}

/// The same for JSON lines; each write is one line.
struct JsonLines;

impl Write for JsonLines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut value: Value = serde_json::from_slice(line)?;
        each_text(&mut value, &mut |text| {
            cut_links(text);
            *text = visible(text).into_owned();
        });
        Stderr.write_all(format!("{value}\n").as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Stderr.flush()
    }
}

/// Creates the formatter at the first event, because most runs log nothing.
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

    // No span is enabled, so the span methods are never called.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
