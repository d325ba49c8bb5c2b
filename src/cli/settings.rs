//! From flags and environment to settings: where everything is.

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    host,
    perform::{Mode, Reply, Reuse, Settings},
};

use super::{
    flags::{PlaceArgs, RunArgs},
    owner,
};

/// The settings of a run; or what is wrong with flags or environment.
pub(super) fn settle(args: &RunArgs) -> Result<Settings, String> {
    Ok(Settings {
        mode: if args.dry_run {
            Mode::DryRun
        } else {
            Mode::Run
        },
        budget: args.timeout,
        expect: args.expect.clone(),
        reply: args.reply.into(),
        reuse: if args.no_reuse {
            Reuse::Off
        } else {
            Reuse::Allowed
        },
        profile: args.profile.clone(),
        ..places(&args.places)?
    })
}

/// Where everything is, for a run that performs nothing.
pub(super) fn places(args: &PlaceArgs) -> Result<Settings, String> {
    let here = host::working_directory()?;
    let named = named_root(args.root.as_deref(), &here)?;
    let found = named.is_none();
    let root = named.unwrap_or_else(|| nearest(&here));
    // Without `..` and links, so that the URIs of assets are the same whatever way led here.
    let root = root.canonicalize_utf8().unwrap_or(root);
    if found {
        owner::ours(&root, "the root", "--root DIR, or $ONEACT_ROOT")?;
    }
    let (catalog, why) = match &args.catalog {
        Some(path) => (here.join(path), "as --catalog says"),
        None => (root.join("catalog.toml"), "in the root"),
    };
    if found && args.catalog.is_none() {
        owner::ours(&catalog, "the catalog", "--catalog FILE")?;
    }
    tracing::info!("The catalog is {catalog}, {why}.");
    let (state_dir, why) = match said("ONEACT_STATE_DIR")? {
        Some(dir) => (here.join(dir), "as ONEACT_STATE_DIR says"),
        None => (own_state(&root, found)?, "in the root"),
    };
    tracing::info!("The state directory is {state_dir}, {why}.");
    Ok(Settings {
        catalog,
        state_dir,
        root,
        mode: Mode::DryRun,
        budget: None,
        expect: None,
        reply: Reply::Adl,
        ledger: host::variable("ONEACT_LEDGER").filter(|said| !said.is_empty()),
        reuse: Reuse::Allowed,
        profile: None,
    })
}

/// The state directory of a root. A link there may lead anywhere.
fn own_state(root: &Utf8Path, found: bool) -> Result<Utf8PathBuf, String> {
    const NAME_IT: &str = "$ONEACT_STATE_DIR";
    let dir = root.join(".oneact");
    if dir.is_symlink() {
        return Err(format!(
            "the state directory {dir} is a symbolic link; name the directory that it leads to: {NAME_IT}"
        ));
    }
    if found {
        owner::ours(&dir, "the state directory", NAME_IT)?;
    }
    Ok(dir)
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
        expect: None,
        reply: Reply::Adl,
        ledger: None,
        reuse: Reuse::Allowed,
        profile: None,
    }
}

/// The root that the flag or the environment names.
pub(super) fn named_root(
    flag: Option<&Utf8Path>,
    here: &Utf8Path,
) -> Result<Option<Utf8PathBuf>, String> {
    let (named, who) = match flag {
        Some(root) => (Some(root.to_owned()), "--root"),
        None => (said("ONEACT_ROOT")?, "ONEACT_ROOT"),
    };
    Ok(named.map(|root| {
        let root = here.join(root);
        tracing::info!("The root is {root}, as {who} says.");
        root
    }))
}

/// A path of the environment: set to nothing, it is as good as unset.
fn said(name: &str) -> Result<Option<Utf8PathBuf>, String> {
    let path = host::path_variable(name)?;
    Ok(path.filter(|path| !path.as_str().is_empty()))
}

/// The nearest directory upwards that holds a catalog, else this one.
fn nearest(here: &Utf8Path) -> Utf8PathBuf {
    let mut upwards = here.ancestors();
    if let Some(found) = upwards.find(|dir| dir.join("catalog.toml").is_file()) {
        tracing::info!("The root is {found}, the nearest directory upwards with a catalog.toml.");
        return found.to_owned();
    }
    tracing::info!(
        "The root is {here}, where oneact was started: no directory upwards has a catalog.toml."
    );
    here.to_owned()
}
