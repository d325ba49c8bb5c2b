//! The sources of bound parameters: the syntax of `bind`.

use std::fmt;

use crate::task::RefId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// The n-th input, counted from 0: `input.uri`, `input_2.path`. It must be stored: a tool that expects a
    /// storage URI never gets a raw source (R-000-140).
    Input {
        place: usize,
        form: Form,
    },
    /// The first input, also if it is a raw source: `source.uri`.
    Origin,
    /// The input with that ref id, at any position: `ref.store_1.uri`.
    Ref {
        id: RefId,
        form: Form,
    },
    /// The place where the tool must write its asset: `output.path`, `output.uri`.
    Output(Form),
    OutputRef,
    Session,
    TaskId,
    Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The URI as received, or a `file://` URI for a file that oneact made.
    Uri,
    /// An absolute path on this machine.
    Path,
}

impl Source {
    /// Whether it is an asset that the task names or that an earlier step made.
    pub(super) fn is_asset(&self) -> bool {
        matches!(self, Self::Input { .. } | Self::Origin | Self::Ref { .. })
    }

    /// Reads a source. The error says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('.').collect();
        match parts.as_slice() {
            ["output", "ref_id"] => Ok(Self::OutputRef),
            ["output", form] => Form::parse(form).map(Self::Output),
            ["source", "uri"] => Ok(Self::Origin),
            ["session", "id"] => Ok(Self::Session),
            ["task", "id"] => Ok(Self::TaskId),
            ["task", "action"] => Ok(Self::Action),
            ["ref", id, form] => {
                let id = RefId::parse(id).map_err(str::to_owned)?;
                Ok(Self::Ref { id, form: Form::parse(form)? })
            }
            [input, form] if input.starts_with("input") => {
                let place = match input.strip_prefix("input_") {
                    None if *input == "input" => Some(0),
                    None => None,
                    Some(number) => number.parse::<usize>().ok().and_then(|number| number.checked_sub(1)),
                };
                let place = place.ok_or_else(|| format!("`{input}` is not an input; write `input`, `input_2`, `input_3` …"))?;
                Ok(Self::Input { place, form: Form::parse(form)? })
            }
            _ => Err("write `input.uri`, `input_2.path`, `source.uri`, `ref.store_1.uri`, `output.path`, `output.uri`, `output.ref_id`, \
                      `session.id`, `task.id` or `task.action`"
                .to_owned()),
        }
    }
}

/// As the catalog writes it.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input { place: 0, form } => write!(f, "input.{form}"),
            Self::Input { place, form } => write!(f, "input_{}.{form}", place + 1),
            Self::Origin => f.write_str("source.uri"),
            Self::Ref { id, form } => write!(f, "ref.{id}.{form}"),
            Self::Output(form) => write!(f, "output.{form}"),
            Self::OutputRef => f.write_str("output.ref_id"),
            Self::Session => f.write_str("session.id"),
            Self::TaskId => f.write_str("task.id"),
            Self::Action => f.write_str("task.action"),
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uri => "uri",
            Self::Path => "path",
        })
    }
}

impl Form {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "uri" => Ok(Self::Uri),
            "path" => Ok(Self::Path),
            other => Err(format!("`{other}` is neither `uri` nor `path`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_told_as_the_catalog_writes_it() {
        for text in [
            "input.uri",
            "input_2.path",
            "source.uri",
            "ref.store_1.uri",
            "output.path",
            "output.uri",
            "output.ref_id",
            "session.id",
            "task.id",
            "task.action",
        ] {
            assert_eq!(Source::parse(text).unwrap().to_string(), text);
        }
    }
}
