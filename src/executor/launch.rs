//! From a server's entry to a process that can be started: argv, directory, environment.

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;

use crate::{
    catalog::{Lifetime, PrivateNetwork, Server},
    host::{self, Program},
    mcp::{Caller, ServerSpec, Warm},
    task::{ALLOW_PRIVATE, Failure, Fault, PROTECTED, SCRATCH, Secrets},
};

/// The values that a server gets from the environment by `env_pass`, as far as they are set.
pub(crate) fn handed_on(server: &Server) -> Secrets {
    let values = server
        .env_pass
        .iter()
        .filter_map(|name| host::variable(name));
    Secrets::new(values)
}

/// Resolves the server's command, directory and environment, with `{self}` and `{root}`. `scratch` becomes its `TMPDIR`,
/// which is removed at the end of the run. `protected` are the files and directories of oneact, which the built-in
/// servers do not write.
pub(crate) fn launch(
    server: &Server,
    root: &Utf8Path,
    scratch: &Utf8Path,
    protected: &[Utf8PathBuf],
) -> Result<ServerSpec, Failure> {
    let own = host::own_program();
    let filled = |text: &String| {
        if !text.contains('{') {
            return text.clone();
        }
        text.replace("{self}", &own)
            .replace("{root}", root.as_str())
    };
    let argv = server.command.iter().map(filled).collect();
    let mut env = host::plain_environment();
    env.push(("TMPDIR".to_owned(), scratch.to_string()));
    let protected: Vec<&str> = protected.iter().map(|path| path.as_str()).collect();
    env.push((PROTECTED.to_owned(), json!(protected).to_string()));
    // The entry may set another `TMPDIR`. This variable shows that a process belongs to this run.
    env.push((SCRATCH.to_owned(), scratch.to_string()));
    if server.private_network == PrivateNetwork::Allowed {
        env.push((ALLOW_PRIVATE.to_owned(), "1".to_owned()));
    }
    for name in &server.env_pass {
        let value = host::variable(name).ok_or_else(|| {
            let message = format!("server `{}` needs the environment variable {name}, which is not set, or not UTF-8; set it and try again", server.name);
            Failure::new(Fault::ServerNotFound, message)
        })?;
        put(&mut env, name, value);
    }
    for (name, value) in &server.env {
        put(&mut env, name, filled(value));
    }
    Ok(ServerSpec {
        name: server.name.clone(),
        program: Program {
            argv,
            // `components` removes `.` from the path.
            cwd: root.join(&server.cwd).components().collect(),
            env,
        },
        secrets: handed_on(server),
        protocol: server.protocol,
        memory: None,
        caller: Caller::Silent,
        startup_timeout: server.startup_timeout,
        shutdown_grace: server.shutdown_grace,
        max_message_bytes: ServerSpec::MAX_MESSAGE_BYTES,
        warm: None,
    })
}

/// How the server is kept for other runs, if its entry says so.
pub(crate) fn warm(server: &Server, root: &Utf8Path, state_dir: &Utf8Path) -> Option<Warm> {
    let Lifetime::Idle { idle, at_once } = server.lifetime else {
        return None;
    };
    Some(Warm {
        state_dir: state_dir.to_owned(),
        root: root.to_owned(),
        idle,
        at_once,
    })
}

fn put(env: &mut Vec<(String, String)>, name: &str, value: String) {
    env.retain(|(known, _)| known != name);
    env.push((name.to_owned(), value));
}
