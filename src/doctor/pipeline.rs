//! Checks a pipeline without a start: whether its program and the variables that it needs are there.

use crate::{
    host::{self, Program},
    task::{Argument, Pipeline},
};

use super::{About, Doctor, Finding, FindingKind, Subject, server::find_program};

impl Doctor<'_> {
    pub(super) fn pipeline(&mut self, pipeline: &Pipeline) {
        let about = Subject::named(About::Pipeline, &pipeline.name);
        let entry = format!("[pipeline.{}]", pipeline.name);
        let unset = pipeline
            .env_pass
            .iter()
            .filter(|name| host::variable(name).is_none());
        for name in unset {
            self.note(Finding::problem(
                &about,
                FindingKind::VariableUnset,
                format!("it needs the environment variable {name}, which is not set, or not UTF-8"),
                format!("export {name}, or remove it from `env_pass` in {entry}"),
            ));
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
        self.note(match find_program(&program, &about, &entry) {
            Ok(path) => {
                let what = format!("its program {path} is there");
                Finding::good(&about, FindingKind::PipelineGood, what)
            }
            Err(finding) => finding,
        });
    }
}
