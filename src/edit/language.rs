//! The languages of documents.

use camino::Utf8Path;

use crate::task::RelPath;

/// The language of a file, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Json,
    Yaml,
}

impl Language {
    pub(super) fn of(name: &RelPath) -> Option<Self> {
        let ending = name.as_path().extension()?.to_ascii_lowercase();
        match ending.as_str() {
            "json" | "jsonc" => Some(Self::Json),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }
}

impl std::fmt::Display for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Json => "JSON",
            Self::Yaml => "YAML",
        })
    }
}

/// The looser one, which allows the other, is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grammar {
    Strict,
    /// Comments or trailing commas.
    Loose,
}

/// Names of `.json` files that may contain comments and trailing commas for the programs that read them. Longer
/// names such as `tsconfig.build.json` are included.
const WITH_COMMENTS: [&str; 10] = [
    ".devcontainer",
    ".eslintrc",
    "api-extractor",
    "deno",
    "devcontainer",
    "jsconfig",
    "language-configuration",
    "tsconfig",
    "tslint",
    "typedoc",
];

impl Grammar {
    /// The grammar that a JSON file may use, by its name.
    pub(crate) fn of(name: &RelPath) -> Self {
        let file = name.name().to_ascii_lowercase();
        let stem = file.strip_suffix(".json").unwrap_or_default();
        let known = WITH_COMMENTS.iter().any(|known| {
            let more = stem.strip_prefix(known);
            more.is_some_and(|more| more.is_empty() || more.starts_with('.'))
        });
        let settings = name
            .parent()
            .is_some_and(|dir| matches!(dir.name(), ".vscode" | ".devcontainer"));
        let jsonc = Utf8Path::new(&file).extension() == Some("jsonc");
        if jsonc || known || settings {
            Self::Loose
        } else {
            Self::Strict
        }
    }
}
