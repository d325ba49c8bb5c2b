//! From flags and environment to settings: where everything is.

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    host,
    perform::{Mode, Settings},
};

use super::flags::{PlaceArgs, RunArgs};

/// The settings of a run; or what is wrong with flags or environment.
pub(super) fn settle(args: &RunArgs) -> Result<Settings, String> {
    Ok(Settings {
        mode: if args.dry_run {
            Mode::DryRun
        } else {
            Mode::Run
        },
        budget: args.timeout,
        ..places(&args.places)?
    })
}

/// Where everything is, for a run that performs nothing.
pub(super) fn places(args: &PlaceArgs) -> Result<Settings, String> {
    let here = host::working_directory()?;
    let root = named_root(args.root.as_deref(), &here)?.unwrap_or_else(|| nearest(&here));
    // Without `..` and links, so that the URIs of assets are the same whatever way led here.
    let root = root.canonicalize_utf8().unwrap_or(root);
    let state_dir = said("ONEACT_STATE_DIR")?;
    let catalog = args.catalog.as_ref();
    Ok(Settings {
        catalog: catalog.map_or_else(|| root.join("catalog.toml"), |path| here.join(path)),
        state_dir: state_dir.map_or_else(|| root.join(".oneact"), |dir| here.join(dir)),
        root,
        mode: Mode::DryRun,
        budget: None,
    })
}

/// Settings for a run that performs nothing, nowhere.
pub(super) fn nowhere() -> Settings {
    let nowhere = Utf8PathBuf::from("/");
    Settings {
        catalog: nowhere.join("catalog.toml"),
        state_dir: nowhere.join(".oneact"),
        root: nowhere,
        mode: Mode::DryRun,
        budget: None,
    }
}

/// The root that the flag or the environment names.
pub(super) fn named_root(
    flag: Option<&Utf8Path>,
    here: &Utf8Path,
) -> Result<Option<Utf8PathBuf>, String> {
    let named = match flag {
        Some(root) => Some(root.to_owned()),
        None => said("ONEACT_ROOT")?,
    };
    Ok(named.map(|root| here.join(root)))
}

/// A path of the environment: set to nothing, it is as good as unset.
fn said(name: &str) -> Result<Option<Utf8PathBuf>, String> {
    let path = host::path_variable(name)?;
    Ok(path.filter(|path| !path.as_str().is_empty()))
}

/// The nearest directory upwards that holds a catalog, else this one.
fn nearest(here: &Utf8Path) -> Utf8PathBuf {
    let found = here
        .ancestors()
        .find(|dir| dir.join("catalog.toml").is_file());
    found.unwrap_or(here).to_owned()
}
