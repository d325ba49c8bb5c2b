//! Where the paths of actions really lead, and the rules about them.

use rustix::io::Errno;

use crate::{
    plan::model::{Access, Action, Links, Operation, Plan},
    task::{Failure, Fault, RelPath},
    tree::{FileError, Located, View},
};

/// Where an action's paths really lead.
pub(super) struct ActionPaths {
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

impl ActionPaths {
    pub(super) fn paths(&self) -> impl Iterator<Item = &RelPath> {
        let inputs = self.sql.inputs.iter().map(|(_, located)| located);
        let optional = [&self.to, &self.sql.database, &self.sql.results];
        let all = [&self.target].into_iter().chain(inputs);
        all.chain(optional.into_iter().flatten())
            .map(|located| &located.path)
    }
}

pub(super) type Places = Result<ActionPaths, Failure>;

/// Resolves the paths of an action. Rules about names apply to the resolved paths, too (R-001-25, R-001-157).
pub(super) fn places(view: &View<'_>, plan: &Plan, action: &Action) -> Places {
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
        Ok(located)
    };
    let to = match &action.operation {
        Operation::Rename { to } => Some(place(to)?),
        _ => None,
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
    Ok(ActionPaths {
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
