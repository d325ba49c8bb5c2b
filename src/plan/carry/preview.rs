//! What a plan would do: found out in memory, shown as a diff, bound to a hash.

use crate::{
    plan::{
        Desk, Finished,
        check::{self, Broken, Change, Sink, What},
        diff,
        engine::hash,
        files::{FileError, Inherited, Root},
        model::ChangeKind,
        read,
        record::{Foreseen, PreviewHash},
    },
    task::{Bounds, Failure, PlanOrder, Preview, RelPath},
};

use super::{staging, stopped, telling};

/// Finds out what a plan would do; writes nothing.
pub(crate) fn preview(order: &PlanOrder, bounds: &Bounds, desk: Desk<'_>) -> Finished {
    let plan = match read::read(order, bounds, &desk.own()) {
        Ok(plan) => plan,
        Err(error) => return telling::unread(&error, desk),
    };
    let foresee = || -> Result<Foresight, Failure> {
        let root = Root::open(desk.root)?;
        let mut foresight = Foresight::default();
        let stopped = || stopped(desk, plan.instructions.timeout);
        let checked = check::check(&plan, &root, desk.host, &stopped, &mut foresight);
        let checked = checked.map_err(|broken| match broken {
            Broken::Failed(failure) | Broken::Stopped(failure) => failure,
        })?;
        match checked.failure() {
            Some((verdict, failure)) => Err(Failure {
                message: format!("{}: {}", verdict.action, failure.message),
                ..failure.clone()
            }),
            None => Ok(foresight),
        }
    };
    match foresee() {
        Err(failure) => Finished {
            notes: plan.notes.clone(),
            ..Finished::refused(failure)
        },
        Ok(Foresight { foreseen, diff }) => {
            let reasoning = format!(
                "Plan {} would change {}.",
                plan.plan_id,
                telling::counted(foreseen.len(), "file")
            );
            let hash = PreviewHash::of(&order.plan, foreseen);
            Finished {
                preview: Some(Preview {
                    hash: hash.as_str().to_owned(),
                    diff,
                }),
                notes: plan.notes,
                ..Finished::nothing_done(reasoning)
            }
        }
    }
}

/// What the changes come to, in their order.
#[derive(Default)]
struct Foresight {
    foreseen: Vec<Foreseen>,
    diff: String,
}

impl Sink for Foresight {
    fn dir(
        &mut self,
        _path: &RelPath,
        _mount: u64,
        _inherited: &Inherited,
    ) -> Result<(), FileError> {
        Ok(())
    }

    fn change(&mut self, change: Change<'_>) -> Result<(), FileError> {
        let (kind, after) = match &change.what {
            What::Create { bytes, .. } => (ChangeKind::Create, Some(hash(bytes))),
            What::Modify { bytes, .. } => (ChangeKind::Modify, Some(hash(bytes))),
            What::Delete { .. } => (ChangeKind::Delete, None),
            What::Rename { before, .. } => (ChangeKind::Rename, Some(before.seen.sha256.clone())),
        };
        self.foreseen.push(staging::foreseen(&change, kind, after));
        self.diff.push_str(&diff::unified(staging::pair(&change)));
        Ok(())
    }
}
