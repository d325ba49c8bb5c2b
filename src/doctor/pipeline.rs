//! Checks a pipeline without a start: whether its program and the variables that it needs are there.

use crate::{
    host::{self, Program},
    task::{Argument, Pipeline},
};

use super::{
    About, Doctor, FindingKind, Subject,
    server::{find_program, unset},
};

impl Doctor<'_> {
    pub(super) fn pipeline(&mut self, pipeline: &Pipeline) {
        let about = Subject::named(About::Pipeline, &pipeline.name);
        for finding in unset(pipeline.env_pass.iter(), &about) {
            self.note(finding);
        }
        let root = &self.setup.project.root;
        let filled = |argument: &Argument| match argument {
            Argument::Fixed(text) => Some(
                text.replace("{self}", &host::own_program())
                    .replace("{root}", root.as_str()),
            ),
            Argument::Parameter(_) => None,
        };
        let argv = pipeline.command.first().and_then(filled);
        let program = Program::new(
            argv.into_iter().collect(),
            root.clone(),
            host::plain_environment(),
        );
        self.note(match find_program(&program, &about) {
            Ok(path) => {
                let what = format!("its program {path} is there");
                about.good(FindingKind::PipelineGood, what)
            }
            Err(finding) => finding,
        });
    }
}
