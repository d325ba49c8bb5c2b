//! The arguments of `audio_extractor`, parsed.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{layout::Width, output::Format, place::Place};
use crate::servers::{files::local_path, tool::ToolError};

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) input: PathBuf,
    pub(super) format: Format,
    /// Samples per second; the source's own where absent.
    pub(super) rate: Option<u32>,
    pub(super) width: Width,
    pub(super) place: Place,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    input_uri: String,
    #[serde(default)]
    output_format: WireFormat,
    sample_rate: Option<u32>,
    channels: Option<u8>,
    output_path: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum WireFormat {
    #[default]
    Wav,
    Flac,
}

impl Request {
    /// Parses arguments that fit the tool's input schema.
    pub(super) fn parse(arguments: &Map<String, Value>) -> Result<Self, ToolError> {
        let wire = Wire::deserialize(arguments).map_err(|error| ToolError::Argument {
            argument: "arguments",
            problem: error.to_string(),
        })?;
        let input = local_path("input_uri", &wire.input_uri)?;
        let place = Place::of(wire.output_path.as_deref(), &input)?;
        let format = match wire.output_format {
            WireFormat::Wav => Format::Wav,
            WireFormat::Flac => Format::Flac,
        };
        let width = match wire.channels {
            None | Some(1) => Width::Mono,
            Some(2) => Width::Stereo,
            Some(other) => {
                return Err(ToolError::Argument {
                    argument: "channels",
                    problem: format!("{other} is not 1 or 2"),
                });
            }
        };
        Ok(Self {
            input,
            format,
            rate: wire.sample_rate,
            width,
            place,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::servers::files::temporary_directory;

    fn parsed(arguments: &Value) -> Result<Request, ToolError> {
        Request::parse(arguments.as_object().expect("an object"))
    }

    fn problem(arguments: &Value) -> String {
        parsed(arguments).expect_err("refused").to_string()
    }

    #[test]
    fn an_input_alone_asks_for_mono_wav_at_its_own_rate_in_the_temporary_directory() {
        let request = parsed(&json!({"input_uri": "film/The End.mp4"})).expect("valid");
        assert_eq!(request.input, Path::new("film/The End.mp4"));
        assert_eq!(
            (request.format, request.rate, request.width),
            (Format::Wav, None, Width::Mono)
        );
        assert_eq!(
            request.place,
            Place::In {
                directory: temporary_directory(),
                stem: "The End".to_owned()
            }
        );
    }

    #[test]
    fn everything_can_be_asked_for() {
        let request = parsed(
            &json!({"input_uri": "file:///a%20b.mp4", "output_format": "flac", "sample_rate": 16000,
            "channels": 2, "output_path": "file://localhost/c.flac"}),
        )
        .expect("valid");
        assert_eq!(request.input, Path::new("/a b.mp4"));
        assert_eq!(
            (request.format, request.rate, request.width),
            (Format::Flac, Some(16000), Width::Stereo)
        );
        assert_eq!(request.place, Place::At("/c.flac".into()));
    }

    #[test]
    fn a_percent_sign_in_a_plain_path_is_itself() {
        assert_eq!(
            parsed(&json!({"input_uri": "/a%20b.mp4"}))
                .expect("valid")
                .input,
            Path::new("/a%20b.mp4")
        );
    }

    #[test]
    fn other_schemes_and_other_machines_are_refused() {
        assert_eq!(
            problem(&json!({"input_uri": "https://a.b/c.mp4"})),
            "invalid argument `input_uri`: \"https://a.b/c.mp4\" has the scheme https; only file: URIs and paths are read"
        );
        assert!(
            problem(&json!({"input_uri": "file://other/c.mp4"}))
                .contains("names the host `other`; a file URI must be local")
        );
        assert!(problem(&json!({"input_uri": ""})).contains("is empty"));
    }
}
