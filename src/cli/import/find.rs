//! Where MCP hosts keep their configurations, and what is read from there.

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    catalog::{CONFIGURATION_KEYS, Configured, Surroundings, project_of, read_configuration},
    cli::{
        catalog::change::LARGEST,
        ended::{Stop, stop},
        owner,
    },
    host,
};

/// Below the root of a project.
const OF_PROJECTS: [&str; 8] = [
    ".mcp.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".codex/config.toml",
    "opencode.json",
    "opencode.jsonc",
    ".opencode/opencode.json",
    ".opencode/opencode.jsonc",
];

/// Below the home directory of a user.
const OF_USERS: [&str; 11] = [
    ".claude.json",
    ".config/Claude/claude_desktop_config.json",
    "Library/Application Support/Claude/claude_desktop_config.json",
    ".cursor/mcp.json",
    ".config/Code/User/mcp.json",
    "Library/Application Support/Code/User/mcp.json",
    ".codex/config.toml",
    ".codeium/windsurf/mcp_config.json",
    ".config/opencode/opencode.json",
    ".config/opencode/opencode.jsonc",
    ".copilot/mcp-config.json",
];

/// A file that was read.
pub(super) struct ConfigurationFile {
    pub(super) path: Utf8PathBuf,
    pub(super) servers: Vec<Configured>,
}

/// The configurations of the project and of the user, those of the project first. The second list says which files exist
/// but cannot be used.
pub(super) fn all(root: &Utf8Path) -> (Vec<ConfigurationFile>, Vec<String>) {
    let (mut sources, mut unusable) = (Vec::new(), Vec::new());
    let home = host::path_variable("HOME").ok().flatten();
    let of_project = OF_PROJECTS.map(|name| root.join(name));
    let of_user = home
        .iter()
        .flat_map(|home| OF_USERS.map(|name| home.join(name)));
    let mut seen: Vec<Utf8PathBuf> = Vec::new();
    for path in of_project.into_iter().chain(of_user) {
        let Ok(real) = path.canonicalize_utf8() else {
            continue;
        };
        if !path.is_file() || seen.contains(&real) {
            continue;
        }
        seen.push(real);
        let read = owner::ours(
            &path,
            "the configuration",
            &format!("`oneact import {path}`"),
        );
        match read.and_then(|()| one(&path, root, home.as_deref())) {
            Ok(servers) if servers.is_empty() => {}
            Ok(servers) => sources.push(ConfigurationFile { path, servers }),
            Err(why) => unusable.push(why),
        }
    }
    (sources, unusable)
}

/// A file that a person named.
pub(super) fn named(path: &Utf8Path, root: &Utf8Path) -> Result<ConfigurationFile, Stop> {
    let here = host::working_directory().map_err(stop(2))?;
    let home = host::path_variable("HOME").ok().flatten();
    let servers = one(&here.join(path), root, home.as_deref()).map_err(stop(2))?;
    if servers.is_empty() {
        let why =
            format!("{path} configures no MCP servers; it must list them in {CONFIGURATION_KEYS}");
        return Err(stop(2)(why));
    }
    Ok(ConfigurationFile {
        path: path.to_owned(),
        servers,
    })
}

fn one(
    path: &Utf8Path,
    root: &Utf8Path,
    home: Option<&Utf8Path>,
) -> Result<Vec<Configured>, String> {
    let bytes = host::read_named(path, LARGEST);
    let bytes = bytes.map_err(|error| format!("cannot read {path}: {error}"))?;
    let text =
        String::from_utf8(bytes).map_err(|_| format!("{path} is not UTF-8; save it as UTF-8"))?;
    let of_user = home.is_some_and(|home| OF_USERS.iter().any(|name| home.join(name) == path));
    let project = project_of(path).filter(|_| !of_user);
    let project = project.map(|project| project.canonicalize_utf8().unwrap_or(project));
    let around = Surroundings {
        root,
        project: project.as_deref(),
        variable: &host::variable,
    };
    read_configuration(path, &text, &around).map_err(|error| format!("{path}: {error}"))
}
