//! Where the paths of actions really lead, and the rules about them.

use std::collections::BTreeSet;

use rustix::io::Errno;

use crate::{
    plan::{
        files::{FileError, Located, View},
        limits::Limits,
        model::{Access, Action, Links, Operation, Plan},
    },
    task::{Failure, Fault, RelPath},
};

/// Where an action's paths really lead.
pub(super) struct Place {
    pub(super) target: Located,
    pub(super) to: Option<Located>,
    pub(super) sql: SqlPlaces,
}

/// The files of a query beside its text.
#[derive(Default)]
pub(super) struct SqlPlaces {
    /// With the paths by which the plan names them, the database that is only read as the last.
    pub(super) inputs: Vec<(RelPath, Located)>,
    /// The database that is changed.
    pub(super) database: Option<Located>,
    pub(super) results: Option<Located>,
}

impl Place {
    pub(super) fn paths(&self) -> impl Iterator<Item = &RelPath> {
        let inputs = self.sql.inputs.iter().map(|(_, located)| located);
        let optional = [&self.to, &self.sql.database, &self.sql.results];
        let all = [&self.target].into_iter().chain(inputs);
        all.chain(optional.into_iter().flatten())
            .map(|located| &located.path)
    }
}

pub(super) type Places = Result<Place, Failure>;

/// Resolves the paths of an action. Rules about names apply to the resolved paths, too (R-001-25, R-001-157).
pub(super) fn places(view: &View<'_>, mounts: &Mounts<'_>, plan: &Plan, action: &Action) -> Places {
    let place = |path: &RelPath| -> Result<Located, Failure> {
        let located = view.locate(path).map_err(outside)?;
        if let Some(link) = &located.link {
            plan.limits.admits(link)?;
        }
        plan.limits.admits(&located.path)?;
        if plan.links == Links::Refused && located.path != *path {
            let message = format!(
                "`{path}` leads through a symbolic link to `{}`; a diff names files by their own paths",
                located.path
            );
            return Err(Failure::new(Fault::NotAFile, message));
        }
        mounts.admit(&located)?;
        Ok(located)
    };
    let to = match &action.operation {
        Operation::Rename { to } => Some(place(to)?),
        Operation::Create { .. }
        | Operation::Link { .. }
        | Operation::Modify(_)
        | Operation::SetMode(_)
        | Operation::Delete { .. }
        | Operation::SchemaUpdate(_)
        | Operation::Sql(_)
        | Operation::Pipeline { .. } => None,
    };
    let sql = match &action.operation {
        Operation::Sql(sql) => {
            let written = sql
                .database
                .as_ref()
                .filter(|it| it.access == Access::Write);
            let inputs = sql.inputs().map(|path| Ok((path.clone(), place(path)?)));
            SqlPlaces {
                inputs: inputs.collect::<Result<_, Failure>>()?,
                database: written.map(|it| place(&it.path)).transpose()?,
                results: sql.results.as_ref().map(place).transpose()?,
            }
        }
        _ => SqlPlaces::default(),
    };
    Ok(Place {
        target: place(&action.target)?,
        to,
        sql,
    })
}

pub(super) fn outside(error: FileError) -> Failure {
    let leads_out = matches!(error.errno, Errno::LOOP | Errno::XDEV);
    let mut failure = Failure::from(error);
    if leads_out {
        failure.message = format!("Path traversal attempt detected: {}", failure.message);
    }
    failure
}

/// Device and inode.
type Identity = (u64, u64);

/// The protected places that exist, and their parent directories (`None` = the root). A directory or file that is
/// mounted a second time (bind mount) has the same device and inode, and the rules apply to it by both names.
pub(super) struct Mounts<'a> {
    view: &'a View<'a>,
    limits: &'a Limits,
    places: Vec<(Identity, Option<RelPath>)>,
}

impl<'a> Mounts<'a> {
    pub(super) fn of(view: &'a View<'a>, limits: &'a Limits) -> Result<Self, FileError> {
        let all: BTreeSet<RelPath> = limits
            .protected
            .places()
            .flat_map(|path| path.ancestors().chain([path.clone()]).collect::<Vec<_>>())
            .collect();
        let root = view.dir(None)?.facts()?;
        let mut places = vec![((root.dev, root.ino), None)];
        for path in all {
            // A plan cannot change a place that it cannot examine.
            if let Ok(Some(facts)) = view.look(&path) {
                places.push(((facts.dev, facts.ino), Some(path)));
            }
        }
        Ok(Self {
            view,
            limits,
            places,
        })
    }

    /// Whether a plan may touch the file by each of its names.
    fn admit(&self, located: &Located) -> Result<(), Failure> {
        let path = &located.path;
        for here in path.ancestors().chain([path.clone()]) {
            let Some(facts) = self.view.look(&here)? else {
                break;
            };
            let same = |(identity, place): &&(Identity, Option<RelPath>)| {
                *identity == (facts.dev, facts.ino) && place.as_ref() != Some(&here)
            };
            for (_, place) in self.places.iter().filter(same) {
                let rest = path.as_str().strip_prefix(here.as_str());
                let rest = rest.unwrap_or_default().trim_start_matches('/');
                let place = place.as_ref().map_or("", RelPath::as_str);
                let other = [place, rest].into_iter().filter(|part| !part.is_empty());
                let other = other.collect::<Vec<_>>().join("/");
                let Ok(other) = RelPath::parse(&other) else {
                    continue;
                };
                self.limits.admits(&other).map_err(|failure| Failure {
                    message: format!("`{path}` is `{other}` by another name: {}", failure.message),
                    ..failure
                })?;
            }
        }
        Ok(())
    }
}
