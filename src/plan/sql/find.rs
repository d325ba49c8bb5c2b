//! Where DuckDB's library is (C-22). Whoever can change the file decides what runs, so it is the operator's alone.

use std::{fs, os::unix::fs::MetadataExt as _};

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    host::{is_own_group, own_path, path_variable, user_id, variable},
    task::{DuckDb, Failure, Fault},
};

const VARIABLE: &str = "ONEACT_DUCKDB";
const NAME: &str = "libduckdb.so";

/// The command that installs it, and the directory into which it does.
const INSTALL: &str =
    "npm install --prefix ~/.local/share/oneact/duckdb @duckdb/node-bindings-linux-x64@1.5.6-r.1";
const INSTALLED: &str = "oneact/duckdb/node_modules/@duckdb";

#[cfg(target_arch = "aarch64")]
const PLATFORM: (&str, &str) = ("linux_arm64", "node-bindings-linux-arm64");
#[cfg(not(target_arch = "aarch64"))]
const PLATFORM: (&str, &str) = ("linux_amd64", "node-bindings-linux-x64");

/// The path of the library: the one that the operator names, or else the first in the usual places.
pub(super) fn find(settings: &DuckDb, root: &Utf8Path) -> Result<Utf8PathBuf, Failure> {
    let named = path_variable(VARIABLE).map_err(|what| missing(&what))?;
    let named = named.as_deref().map(|path| (path, "$ONEACT_DUCKDB"));
    let settled = settings.library.as_deref();
    let settled = settled.map(|path| (path, "`[duckdb] library`"));
    if let Some((path, by)) = named.or(settled) {
        return usable(path, root).map_err(|why| missing(&format!("{by} names {path}, {why}")));
    }
    let mut passed_over = Vec::new();
    for path in usual().iter().filter(|path| path.is_file()) {
        match usable(path, root) {
            Ok(path) => return Ok(path),
            Err(why) => passed_over.push(format!("{path}, {why}")),
        }
    }
    let mut what = format!("DuckDB's library {NAME} was not found");
    if !passed_over.is_empty() {
        what = format!("{what} (not used: {})", passed_over.join("; "));
    }
    Err(missing(&what))
}

/// Whether the operator names a library.
pub(super) fn is_named(settings: &DuckDb) -> bool {
    settings.library.is_some() || !matches!(path_variable(VARIABLE), Ok(None))
}

fn missing(what: &str) -> Failure {
    let command = INSTALL.replace("node-bindings-linux-x64", PLATFORM.1);
    let message =
        format!("{what}. SQL needs DuckDB 1.4 to 2.x; this command installs it: `{command}`");
    Failure::new(Fault::EngineMissing, message)
}

/// The real path, or why the library is not loaded from there.
fn usable(path: &Utf8Path, root: &Utf8Path) -> Result<Utf8PathBuf, String> {
    let path = path
        .canonicalize_utf8()
        .map_err(|error| format!("which cannot be used: {error}"))?;
    let root = root.canonicalize_utf8();
    if root.is_ok_and(|root| path.starts_with(root)) {
        return Err("which lies below the root, where plans can change it".to_owned());
    }
    for path in [Some(&*path), path.parent()].into_iter().flatten() {
        let found = fs::metadata(path).map_err(|error| format!("which cannot be used: {error}"))?;
        let (user, owner) = (user_id(), found.uid());
        let by_group = found.mode() & 0o020 != 0 && !is_own_group(user, found.gid());
        if found.mode() & 0o002 != 0 || by_group || (owner != user && owner != 0) {
            return Err(format!("but other users can change {path}"));
        }
    }
    Ok(path)
}

/// The places in their order. They need not exist.
fn usual() -> Vec<Utf8PathBuf> {
    let directory = |name: &str| path_variable(name).ok().flatten();
    let listed = |name: &str| {
        let list = variable(name).unwrap_or_default();
        let dirs = list.split(':').filter(|dir| !dir.is_empty());
        dirs.map(Utf8PathBuf::from).collect::<Vec<_>>()
    };
    let home = directory("HOME").unwrap_or_default();
    let configured = directory("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
    let data = directory("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share"));
    let mut manifests = listed("ADBC_DRIVER_PATH");
    manifests.extend([configured.join("adbc/drivers"), "/etc/adbc/drivers".into()]);
    let mut dirs = vec![data.join(INSTALLED).join(PLATFORM.1)];
    dirs.extend(installed_with(Utf8Path::new(&own_path())));
    dirs.extend([home.join(".local/lib"), "/usr/local/lib".into()]);
    dirs.extend(directory("CONDA_PREFIX").map(|dir| dir.join("lib")));
    dirs.extend(listed("LD_LIBRARY_PATH"));
    let system = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    dirs.extend(["/usr/lib", "/usr/lib64", &system].map(Utf8PathBuf::from));
    let manifested = manifests.iter().filter_map(|dir| manifested(dir));
    let places = manifested.chain(dirs.iter().map(|dir| dir.join(NAME)));
    places.filter(|path| path.is_absolute()).collect()
}

/// The directories of a library that was installed with this program: its own, `lib` beside its own (the wheel
/// `oneact-libduckdb`), and DuckDB's package in each `node_modules` in which this program lies.
fn installed_with(program: &Utf8Path) -> Vec<Utf8PathBuf> {
    let own = program.parent().map(Utf8Path::to_owned);
    let lib = program.ancestors().nth(2).map(|prefix| prefix.join("lib"));
    let modules = program
        .ancestors()
        .filter(|dir| dir.file_name() == Some("node_modules"))
        .map(|modules| modules.join("@duckdb").join(PLATFORM.1));
    own.into_iter().chain(lib).chain(modules).collect()
}

/// The library that the driver manifest (ADBC) in a directory names for this machine.
fn manifested(dir: &Utf8Path) -> Option<Utf8PathBuf> {
    let text = fs::read_to_string(dir.join("duckdb.toml")).ok()?;
    let manifest: toml::Table = text.parse().ok()?;
    let shared = manifest.get("Driver")?.get("shared")?;
    let path = shared.as_str().or_else(|| shared.get(PLATFORM.0)?.as_str());
    path.map(Utf8PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_of_the_same_installation_is_found_from_the_place_of_the_program() {
        let found = |program: &str| installed_with(Utf8Path::new(program));
        assert_eq!(found("/venv/bin/oneact"), ["/venv/bin", "/venv/lib"]);
        let modules = "/usr/lib/node_modules/oneact/node_modules";
        let package = |above: &str| format!("{above}/node_modules/@duckdb/{}", PLATFORM.1);
        assert_eq!(
            found(&format!("{modules}/@oneact/linux-x64/bin/oneact")),
            [
                format!("{modules}/@oneact/linux-x64/bin"),
                format!("{modules}/@oneact/linux-x64/lib"),
                package("/usr/lib/node_modules/oneact"),
                package("/usr/lib"),
            ]
        );
        // Without a place of its own, the program has no directory that is absolute.
        assert!(found("oneact").iter().all(|dir| !dir.is_absolute()));
    }
}
