//! The sources of bound parameters: the syntax of `bind`.

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};

use crate::task::RefId;

/// A parameter that oneact fills.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) parameter: String,
    pub(crate) source: Source,
    /// The source as the catalog writes it.
    pub(crate) text: String,
}

#[derive(Debug)]
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
    /// The asset of an earlier step of the workflow, counted from 0. Only `with` of a step has it.
    Step {
        at: usize,
        form: Form,
    },
    Session,
    TaskId,
    Action,
    /// The `context` of an `MCPRequest`. Only `uses_context` of an entry has it.
    Context,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The URI as received, or a `file://` URI for a file that oneact made.
    Uri,
    /// An absolute path on this machine; of an object of a store, that of a copy.
    Path,
    /// A URL with which the tool reads an object of a store without credentials.
    Presigned,
}

/// The table `bind`.
pub(crate) fn bound<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Bound>, D::Error> {
    let table = Map::<String, Value>::deserialize(from)?;
    let bound = |(parameter, source): (String, Value)| {
        let wrong = |why: &str| D::Error::custom(format!("binds `{parameter}` to {source}: {why}"));
        let text = source
            .as_str()
            .ok_or_else(|| wrong("not a string; write a source in quotes, e.g. \"input.uri\""))?;
        let source = Source::parse(text).map_err(|why| wrong(&why))?;
        let text = text.to_owned();
        Ok(Bound {
            parameter,
            source,
            text,
        })
    };
    table.into_iter().map(bound).collect()
}

impl Bound {
    /// The parameter that `uses_context = true` fills.
    pub(crate) const CONTEXT: &str = "context";

    pub(crate) fn context() -> Self {
        Self {
            parameter: Self::CONTEXT.to_owned(),
            source: Source::Context,
            text: "the context of the request".to_owned(),
        }
    }

    /// The key of the entry that binds it.
    pub(crate) fn key(&self) -> &'static str {
        match self.source {
            Source::Context => "uses_context",
            _ => "bind",
        }
    }
}

impl Source {
    /// Whether it is an asset that the task names or that an earlier step made.
    pub(crate) fn is_asset(&self) -> bool {
        matches!(
            self,
            Self::Input { .. } | Self::Origin | Self::Ref { .. } | Self::Step { .. }
        )
    }

    /// Reads a source. The error says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('.').collect();
        match parts.as_slice() {
            ["output", "ref_id"] => Ok(Self::OutputRef),
            ["output", form @ ("uri" | "path")] => Form::parse(form).map(Self::Output),
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
            _ => Err("write `input.uri`, `input_2.path`, `input.presigned`, `source.uri`, `ref.store_1.uri`, `output.path`, `output.uri`, `output.ref_id`, \
                      `session.id`, `task.id` or `task.action`"
                .to_owned()),
        }
    }
}

impl Form {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "uri" => Ok(Self::Uri),
            "path" => Ok(Self::Path),
            "presigned" => Ok(Self::Presigned),
            other => Err(format!("`{other}` is not `uri`, `path` or `presigned`")),
        }
    }
}

/// The name of the member that a JSON Pointer leads to, or into; empty if it leads to the whole.
pub(crate) fn first_part(pointer: &str) -> String {
    let part = pointer.split('/').nth(1).unwrap_or_default();
    part.replace("~1", "/").replace("~0", "~")
}

/// The JSON Pointer of a member.
pub(crate) fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_that_the_error_names_is_read() {
        let error = Source::parse("").unwrap_err();
        let named: Vec<&str> = error.split('`').skip(1).step_by(2).collect();
        assert_eq!(named.len(), 11, "{error}");
        for text in named {
            assert!(Source::parse(text).is_ok(), "{text}");
        }
    }
}
