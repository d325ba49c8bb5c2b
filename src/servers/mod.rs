//! The tool servers inside the binary (`oneact serve NAME`). A server is a name, a description and its tools.
//! `stdio` contains the protocol.

mod acquisition;
mod data_management;
mod files;
mod media;
mod media_processing;
mod stdio;
mod tool;

use crate::host::Clock;
pub(crate) use stdio::{ServeError, runtime, serve_on, vetted};
use tool::Tool;

struct Builtin {
    name: &'static str,
    about: &'static str,
    tools: fn(Clock) -> Vec<Tool>,
}

const BUILTIN: &[Builtin] = &[
    Builtin {
        name: "acquisition",
        about: "checks and downloads sources, registers uploads, examines files",
        tools: |_| acquisition::tools(),
    },
    Builtin {
        name: "data-management",
        about: "indexes results, stores files, caches context, keeps tasks",
        tools: data_management::tools,
    },
    Builtin {
        name: "media-processing",
        about: "extracts audio and frames, converts, cuts and scales videos",
        tools: |_| media_processing::tools(),
    },
];

/// The name and the description of each built-in server.
pub(crate) fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    BUILTIN.iter().map(|each| (each.name, each.about))
}

/// Serves the built-in server `name` on stdin and stdout until stdin ends. Blocks.
pub(crate) fn serve(name: &str, clock: Clock) -> Result<(), ServeError> {
    let Some(server) = BUILTIN.iter().find(|each| each.name == name) else {
        let known: Vec<_> = names().map(|(name, _)| name).collect();
        let known = known.join(", ");
        return Err(ServeError(format!(
            "there is no built-in server `{name}`; the built-in servers are: {known}"
        )));
    };
    stdio::serve(server.name, (server.tools)(clock))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_server_is_refused_with_the_known_names() {
        let error = serve("media", Clock::System).expect_err("there is no such server");
        assert_eq!(
            error.to_string(),
            "there is no built-in server `media`; the built-in servers are: acquisition, data-management, media-processing"
        );
    }

    #[test]
    fn every_tool_has_schemas_that_compile_and_a_name_of_its_own() {
        for server in BUILTIN {
            let mut names = Vec::new();
            for tool in (server.tools)(Clock::System) {
                for schema in [&tool.input, &tool.output] {
                    jsonschema::validator_for(schema).expect("schema compiles");
                    assert_eq!(schema["type"], "object", "{}", tool.name);
                }
                assert!(!names.contains(&tool.name), "{} twice", tool.name);
                names.push(tool.name);
            }
        }
    }
}
