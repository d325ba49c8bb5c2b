//! Other names of places that rules speak of: where a directory or file is mounted a second time (bind
//! mounts), its device and inode are the same, and the rules hold for it by both names.

use std::collections::BTreeSet;

use crate::{
    plan::{
        files::{FileError, Located, View},
        limits::Limits,
    },
    task::{Failure, RelPath},
};

/// Directories that hold what is protected, wherever settings put the rest.
const PROTECTED: [&str; 4] = [
    ".git",
    ".oneact",
    "agent_outputs/reports",
    "agent_logs/executor",
];

/// Device and inode.
type Identity = (u64, u64);

/// The protected places that are there, and the directories they are in: `None` = the root.
pub(super) struct Mounts<'a> {
    view: &'a View<'a>,
    limits: &'a Limits,
    places: Vec<(Identity, Option<RelPath>)>,
}

impl<'a> Mounts<'a> {
    pub(super) fn of(view: &'a View<'a>, limits: &'a Limits) -> Result<Self, FileError> {
        let fixed = PROTECTED
            .iter()
            .filter_map(|path| RelPath::parse(path).ok());
        let own = limits.forbidden.own().iter().cloned();
        let all: BTreeSet<RelPath> = fixed
            .chain(own)
            .flat_map(|path| path.ancestors().chain([path.clone()]).collect::<Vec<_>>())
            .collect();
        let root = view.dir(None)?.facts()?;
        let mut places = vec![((root.dev, root.ino), None)];
        for path in all {
            // A place that cannot be looked at cannot be changed by a plan.
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

    /// Whether a plan may touch what is there, by every name it has.
    pub(super) fn admit(&self, located: &Located) -> Result<(), Failure> {
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
