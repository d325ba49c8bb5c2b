//! The library called as the command line calls it, without a process, and nothing started: for
//! inputs by the thousand.

use std::fs;

use camino::Utf8PathBuf;
use jsonschema::Validator;
use oneact::{
    host::{Host, Interrupts},
    perform::{Arrived, Mode, Project, Settings, perform},
    task::Course,
};
use serde_json::Value;
use tempfile::TempDir;

/// A root with a catalog, dry runs only.
pub(crate) struct InProcess {
    _dir: TempDir,
    settings: Settings,
    host: Host,
    envelope: Validator,
}

impl InProcess {
    pub(crate) fn new(catalog: &str) -> Self {
        let dir = TempDir::with_prefix("oneact-suite-").unwrap();
        let root = Utf8PathBuf::try_from(dir.path().canonicalize().unwrap()).unwrap();
        fs::write(root.join("catalog.toml"), catalog).unwrap();
        let schema = include_str!("../../schemas/envelope.schema.json");
        Self {
            _dir: dir,
            settings: Settings {
                mode: Mode::DryRun,
                ..Settings::of(Project {
                    catalog: root.join("catalog.toml"),
                    state_dir: root.join(".oneact"),
                    root,
                    ledger: None,
                })
            },
            host: Host::new(None, Some(1), Interrupts::catch()),
            envelope: jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap(),
        }
    }

    /// The envelope for that input: one JSON document on one line, valid, and of one mind with the
    /// exit code.
    pub(crate) fn answer(&self, input: &[u8]) -> Value {
        let host = &self.host;
        let arrived = Arrived::read(Ok(input.to_vec()), host.moment(), host);
        let answer = perform(
            &arrived,
            &self.settings,
            host,
            (&Course::default(), &|_| {}),
            None,
        );
        let shown = || {
            String::from_utf8_lossy(input)
                .chars()
                .take(500)
                .collect::<String>()
        };
        assert!(
            !answer.line[..answer.line.len() - 1].contains(&b'\n'),
            "{}",
            shown()
        );
        let envelope: Value = serde_json::from_slice(&answer.line).unwrap();
        if let Err(misfit) = self.envelope.validate(&envelope) {
            panic!("{misfit} in {envelope} for {}", shown());
        }
        let ours = &envelope["output"]["content"]["oneact"];
        let exit = match (
            ours["state"].as_str(),
            envelope["error"]["has_error"].as_bool(),
        ) {
            (Some("planned" | "advised"), Some(false)) => 0,
            (Some("pending"), Some(true)) => 3,
            (Some("rejected"), Some(true)) => 2,
            other => panic!("{other:?} of a dry run for {}", shown()),
        };
        assert_eq!(answer.exit_code(None), exit, "{}", shown());
        envelope
    }
}

/// The class of a failure, or an empty text.
pub(crate) fn fault(envelope: &Value) -> &str {
    envelope["output"]["content"]["oneact"]["fault"]
        .as_str()
        .unwrap_or_default()
}
