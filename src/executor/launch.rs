//! From a server's entry to a process that can be started (argv, directory, environment), or to an address with its
//! headers and its token.

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;

use crate::{
    catalog::{Bearer, Lifetime, PrivateNetwork, Remote, Server},
    host::{self, Program},
    mcp::{Caller, Endpoint, ServerPlace, ServerSpec, Token, Warm},
    task::{ALLOW_PRIVATE, Failure, Fault, PROTECTED, SCRATCH, Secrets},
};

/// The values that a server gets from the environment, as far as they are set, and the headers of its entry.
pub(crate) fn handed_on(server: &Server) -> Secrets {
    let values = server.variables().filter_map(|name| host::variable(name));
    let headers = server.remote.iter().flat_map(|remote| &remote.headers);
    Secrets::new(values.chain(headers.map(|(_, value)| value.clone())))
}

/// Resolves the server's command, directory and environment, or its address, with `{self}` and `{root}`. `scratch` becomes its `TMPDIR`,
/// which is removed at the end of the run. `protected` are the files and directories of oneact, which the built-in
/// servers do not write.
pub(crate) fn launch(
    server: &Server,
    root: &Utf8Path,
    scratch: &Utf8Path,
    protected: &[Utf8PathBuf],
) -> Result<ServerSpec, Failure> {
    let variable = |name: &String| {
        host::variable(name).ok_or_else(|| {
            let message = format!("server `{}` needs the environment variable {name}, which is not set, or not UTF-8; set it and try again", server.name);
            Failure::new(Fault::ServerNotFound, message)
        })
    };
    let own = host::own_program();
    let filled = |text: &String| {
        if !text.contains('{') {
            return text.clone();
        }
        text.replace("{self}", &own)
            .replace("{root}", root.as_str())
    };
    let spec = |place| ServerSpec {
        name: server.name.clone(),
        place,
        secrets: handed_on(server),
        protocol: server.protocol,
        memory: None,
        caller: Caller::Silent,
        startup_timeout: server.startup_timeout,
        shutdown_grace: server.shutdown_grace,
        max_message_bytes: ServerSpec::MAX_MESSAGE_BYTES,
        warm: None,
    };
    if let Some(remote) = &server.remote {
        let endpoint = endpoint(remote, root, &variable, &filled)?;
        return Ok(spec(ServerPlace::Http(Box::new(endpoint))));
    }
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
        put(&mut env, name, variable(name)?);
    }
    for (name, value) in &server.env {
        put(&mut env, name, filled(value));
    }
    // `components` removes `.` from the path.
    let cwd = root.join(&server.cwd).components().collect();
    Ok(spec(ServerPlace::Process(Program { argv, cwd, env })))
}

/// The address of a server with its headers, and where its token comes from. A command or a token endpoint is asked only
/// when a message is sent.
fn endpoint(
    remote: &Remote,
    root: &Utf8Path,
    variable: &dyn Fn(&String) -> Result<String, Failure>,
    filled: &dyn Fn(&String) -> String,
) -> Result<Endpoint, Failure> {
    let mut headers = remote.headers.clone();
    for (name, from) in &remote.headers_env {
        headers.push((name.clone(), variable(from)?));
    }
    Ok(Endpoint {
        url: remote.url.clone(),
        headers,
        token: match &remote.bearer {
            Bearer::None => Token::None,
            Bearer::Variable(name) => Token::Given(variable(name)?),
            Bearer::File(path) => Token::File(root.join(path)),
            Bearer::Command(argv) => Token::Command(Program::new(
                argv.iter().map(filled).collect(),
                root.to_owned(),
                host::plain_environment(),
            )),
            Bearer::Oauth(oauth) => Token::Client {
                url: oauth.token_url.clone(),
                id: oauth.client_id.clone(),
                secret: variable(&oauth.client_secret_env)?,
                scope: oauth.scope.clone(),
            },
        },
        ca_file: remote.ca_file.as_ref().map(|path| root.join(path)),
    })
}

/// How the server is kept for other runs, if its entry says so.
pub(super) fn warm(server: &Server, root: &Utf8Path, state_dir: &Utf8Path) -> Option<Warm> {
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
