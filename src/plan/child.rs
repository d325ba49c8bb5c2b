//! The other end of a jail: this program, started once more to do one job.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Write as _},
    process::ExitCode,
};

use serde::{Deserialize, Serialize};

use super::{jail::Link, pipeline, sql};

/// What such a child does.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Job {
    Sql(Box<sql::Job>),
    Pipeline(Box<pipeline::Job>),
    #[cfg(test)]
    Probe(super::jail::tests::Probe),
}

/// Reads a job from the socket at the standard input, does it, and says one line there. The exit code means nothing:
/// whatever goes wrong before the line is seen at the other end.
pub(crate) fn child() -> ExitCode {
    if let Some((job, link)) = link().and_then(read) {
        match job {
            Job::Sql(job) => say(&link, &sql::work(&job)),
            Job::Pipeline(job) => say(&link, &pipeline::guard(&job, &link)),
            #[cfg(test)]
            Job::Probe(probe) => say(&link, &probe.work()),
        }
    }
    ExitCode::SUCCESS
}

/// Takes the socket away from the standard input, where what this process loads or starts could use it.
fn link() -> Option<Link> {
    let link = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).ok()?;
    let nothing = File::open("/dev/null").ok()?;
    rustix::stdio::dup2_stdin(nothing).ok()?;
    Some(BufReader::new(link.into()))
}

fn read(mut link: Link) -> Option<(Job, Link)> {
    let mut line = String::new();
    link.read_line(&mut line).ok()?;
    Some((serde_json::from_str(&line).ok()?, link))
}

/// Says a line. If nobody listens, this program is about to be killed.
fn say(link: &Link, what: &impl Serialize) {
    if let Ok(line) = serde_json::to_string(what) {
        let _ = link.get_ref().write_all(format!("{line}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    #[test]
    #[ignore = "other tests start it as a child"]
    fn is_the_child_of_another_test() {
        super::child();
    }
}
