//! Writes values as YAML text that has the same meaning in every version of YAML.

use serde_json::Value;

use super::model::{Style, may_be_other};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Over several lines: a literal text, or a collection in block style.
    Lines,
    /// The same, with texts of several lines in quotes.
    Quoted,
    Line,
}

pub(super) const INDENT: usize = 2;

/// A value in the style of what it replaces. Its first line has no indentation. The lines of a literal text have none,
/// either.
pub(super) fn text(value: &Value, style: Style, form: Form) -> String {
    let is_block = is_block(value, style, form);
    let inner = if is_block { form } else { Form::Line };
    let member = |(key, value): (&String, &Value)| part(Some(key), value, inner);
    let item = |value: &Value| match inner {
        Form::Line => text(value, Style::Plain, inner),
        Form::Lines | Form::Quoted => part(None, value, inner),
    };
    let (parts, open, close): (Vec<String>, _, _) = match value {
        Value::String(text) if form == Form::Lines => {
            return literal(text).unwrap_or_else(|| string(text, style));
        }
        Value::String(text) => return string(text, style),
        Value::Array(items) => (items.iter().map(item).collect(), '[', ']'),
        Value::Object(members) => (members.iter().map(member).collect(), '{', '}'),
        other => return scalar(other),
    };
    if is_block {
        parts.join("\n")
    } else {
        format!("{open}{}{close}", parts.join(", "))
    }
}

/// Whether it is written as a collection in block style.
pub(super) fn is_block(value: &Value, style: Style, form: Form) -> bool {
    let is_empty = match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => true,
    };
    !is_empty && style != Style::Flow && form != Form::Line
}

/// A member of a mapping with this key, or an item of a sequence.
pub(super) fn part(key: Option<&str>, value: &Value, form: Form) -> String {
    let text = indented(&text(value, Style::Plain, form), INDENT);
    match key.map(|key| string(key, Style::Plain)) {
        None => format!("- {text}"),
        Some(key) if is_block(value, Style::Plain, form) => {
            format!("{key}:\n{}{text}", " ".repeat(INDENT))
        }
        Some(key) => format!("{key}: {text}"),
    }
}

/// The lines after the first one with this indentation more.
pub(super) fn indented(text: &str, indent: usize) -> String {
    let pad = format!("\n{}", " ".repeat(indent));
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |text, line| match line {
        "" => text + "\n",
        _ => text + &pad + line,
    })
}

/// A scalar that is no text. Readers of YAML 1.1 take a number with an exponent for text if it has neither a point nor
/// a sign in the exponent: `1e5` is written `1.0e+5`.
pub(super) fn scalar(value: &Value) -> String {
    let text = value.to_string();
    match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) if value.is_number() => {
            let point = if mantissa.contains('.') { "" } else { ".0" };
            let exponent = exponent.trim_start_matches('+');
            let sign = if exponent.starts_with('-') { "" } else { "+" };
            format!("{mantissa}{point}e{sign}{exponent}")
        }
        _ => text,
    }
}

/// A literal block scalar; `None` if it would not be read as the same text.
fn literal(text: &str) -> Option<String> {
    let (lines, header) = match text.strip_suffix('\n') {
        None => (text, "|-"),
        Some(lines) => (lines, "|"),
    };
    let readable = text.contains('\n')
        && !lines.is_empty()
        && !lines.starts_with([' ', '\n'])
        && !lines.ends_with('\n')
        && !lines.ends_with(' ')
        && !lines.contains(" \n")
        && lines.chars().all(|c| c == '\n' || is_harmless(c));
    readable.then(|| format!("{header}\n{lines}"))
}

fn string(text: &str, style: Style) -> String {
    let quotable = text.chars().all(is_harmless);
    match style {
        Style::SingleQuoted if quotable => format!("'{}'", text.replace('\'', "''")),
        Style::DoubleQuoted => double_quoted(text),
        _ if may_be_plain(text) => text.to_owned(),
        _ => double_quoted(text),
    }
}

/// JSON's quoting, and escapes for what YAML folds, does not print, or takes for a line end.
fn double_quoted(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    let quoted = quoted.chars().map(|c| match c {
        c if u32::from(c) > 0xFFFF || is_harmless(c) => c.to_string(),
        c => format!("\\u{:04x}", u32::from(c)),
    });
    quoted.collect()
}

/// Printable, and neither a line end nor a blank that YAML would fold, in any version.
fn is_harmless(c: char) -> bool {
    let blank = c.is_whitespace() && c != ' ';
    !blank && !c.is_control() && !matches!(c, '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')
}

/// Whether a text can be written without quotes, also inside of `[]` and `{}`, so that every reader takes it for
/// text.
fn may_be_plain(text: &str) -> bool {
    let first = |c: char| c.is_alphabetic() || c.is_ascii_digit() || "_/.($".contains(c);
    let inner = |c: char| c.is_alphanumeric() || " _-./()+$=~@;^<>'*&!%".contains(c);
    text.starts_with(first)
        && text.chars().all(inner)
        && !text.ends_with(' ')
        && !text.starts_with("..")
        && !may_be_other(text)
}
