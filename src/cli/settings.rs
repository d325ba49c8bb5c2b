//! From flags and environment to settings: where everything is.

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    host,
    perform::{Mode, Settings},
};

use super::flags::{PlaceArgs, RunArgs};

/// The settings of a run.
pub(super) fn settle(args: &RunArgs) -> Settings {
    Settings {
        mode: if args.dry_run {
            Mode::DryRun
        } else {
            Mode::Run
        },
        budget: args.timeout,
        ..places(&args.places)
    }
}

/// Where everything is, for a run that performs nothing.
pub(super) fn places(args: &PlaceArgs) -> Settings {
    let here = here();
    let root = named_root(args.root.as_deref(), &here).unwrap_or_else(|| nearest(&here));
    // Without `..` and links, so that the URIs of assets are the same whatever way led here.
    let root = root.canonicalize_utf8().unwrap_or(root);
    let state_dir =
        said("ONEACT_STATE_DIR").map_or_else(|| root.join(".oneact"), |dir| here.join(dir));
    Settings {
        catalog: args
            .catalog
            .as_ref()
            .map_or_else(|| root.join("catalog.toml"), |catalog| here.join(catalog)),
        state_dir,
        root,
        mode: Mode::DryRun,
        budget: None,
    }
}

/// A variable that says something: set to nothing, it is as good as unset.
fn said(name: &str) -> Option<String> {
    host::variable(name).filter(|value| !value.is_empty())
}

/// Settings for a run that performs nothing.
pub(super) fn nowhere() -> Settings {
    let here = here();
    Settings {
        catalog: here.join("catalog.toml"),
        state_dir: here.join(".oneact"),
        root: here,
        mode: Mode::DryRun,
        budget: None,
    }
}

/// The root that the flag or the environment names.
pub(super) fn named_root(flag: Option<&Utf8Path>, here: &Utf8Path) -> Option<Utf8PathBuf> {
    let named = flag
        .map(Utf8Path::to_owned)
        .or_else(|| said("ONEACT_ROOT").map(Utf8PathBuf::from));
    named.map(|root| here.join(root))
}

/// The nearest directory upwards that holds a catalog, else this one.
fn nearest(here: &Utf8Path) -> Utf8PathBuf {
    let found = here
        .ancestors()
        .find(|dir| dir.join("catalog.toml").is_file());
    found.unwrap_or(here).to_owned()
}

/// The current directory.
pub(super) fn here() -> Utf8PathBuf {
    let here = std::env::current_dir()
        .ok()
        .and_then(|dir| Utf8PathBuf::from_path_buf(dir).ok());
    here.unwrap_or_else(|| Utf8PathBuf::from("/"))
}
