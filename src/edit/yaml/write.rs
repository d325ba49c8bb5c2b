//! Writes values as YAML text that has the same meaning in every version of YAML.

use serde_json::Value;

use super::model::{Style, may_be_other};

/// A value on one line, as in `[]` and `{}`; strings in the style of what they replace.
pub(super) fn flow(value: &Value, style: Style) -> String {
    match value {
        Value::String(text) => string(text, style),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| flow(item, Style::Plain)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|(key, value)| format!("{}: {}", name(key), flow(value, Style::Plain)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        other => scalar(other),
    }
}

/// A scalar that is no text. Readers of YAML 1.1 take a number with an exponent for text if it has neither a point nor
/// a sign in the exponent: `1e5` is written `1.0e+5`.
pub(super) fn scalar(value: &Value) -> String {
    let text = value.to_string();
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']).filter(|_| value.is_number())
    else {
        return text;
    };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['+', '-']) {
        ""
    } else {
        "+"
    };
    format!("{mantissa}{point}e{sign}{exponent}")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Over several lines: a literal text, or a collection in block style.
    Lines,
    /// The same, with texts of several lines in quotes.
    Quoted,
    Line,
}

pub(super) const INDENT: usize = 2;

/// A value over as many lines as it needs, the first of them without indentation.
pub(super) fn block(value: &Value, indent: usize, form: Form) -> String {
    let pad = format!("\n{}", " ".repeat(indent));
    match value {
        Value::Array(items) if !items.is_empty() => {
            let item = |item| format!("- {}", block(item, indent + INDENT, form));
            items.iter().map(item).collect::<Vec<_>>().join(&pad)
        }
        Value::Object(members) if !members.is_empty() => {
            let member = |(key, value): (&String, &Value)| {
                let gap = if is_flow(value) {
                    " ".to_owned()
                } else {
                    format!("{pad}{}", " ".repeat(INDENT))
                };
                let value = block(value, indent + INDENT, form);
                format!("{}:{gap}{value}", name(key))
            };
            members.iter().map(member).collect::<Vec<_>>().join(&pad)
        }
        Value::String(text) if form == Form::Lines => {
            literal(text, indent).unwrap_or_else(|| flow(value, Style::Plain))
        }
        other => flow(other, Style::Plain),
    }
}

/// A literal block scalar; `None` if it would not be read as the same text.
pub(super) fn literal(text: &str, indent: usize) -> Option<String> {
    let (lines, chomping) = match text.strip_suffix('\n') {
        None => (text, "-"),
        Some(lines) => (lines, ""),
    };
    let readable = text.contains('\n')
        && !lines.is_empty()
        && !lines.starts_with([' ', '\n'])
        && !lines.ends_with('\n')
        && lines
            .split('\n')
            .all(|line| line.chars().all(is_harmless) && !line.ends_with(' '));
    let pad = " ".repeat(indent);
    let line = |line: &str| {
        if line.is_empty() {
            "\n".to_owned()
        } else {
            format!("\n{pad}{line}")
        }
    };
    readable.then(|| {
        format!(
            "|{chomping}{}",
            lines.split('\n').map(line).collect::<String>()
        )
    })
}

/// Whether it is written on one line everywhere.
pub(super) fn is_flow(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => true,
    }
}

pub(super) fn name(key: &str) -> String {
    string(key, Style::Plain)
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
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if u32::from(c) > 0xFFFF || is_harmless(c) => quoted.push(c),
            c => quoted.extend(format!("\\u{:04x}", u32::from(c)).chars()),
        }
    }
    quoted.push('"');
    quoted
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
