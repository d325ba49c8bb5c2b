//! Tokens that are late, long, or not to be had.

use super::*;

fn command(script: &str) -> Token {
    let argv = ["sh", "-c", script].map(str::to_owned);
    let path = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
    Token::Command(Program::new(argv.to_vec(), "/".into(), path))
}

#[test]
fn a_command_may_print_more_than_a_pipe_holds() {
    let server = guarded("good-token");
    for script in [
        "echo good-token; head -c 300000 /dev/zero",
        "head -c 300000 /dev/zero >&2; echo good-token",
    ] {
        let end = with_token(&server, command(script)).run();
        assert_eq!(only_text(&end), "hello");
    }
}

#[test]
fn a_token_that_is_none_names_its_command() {
    let server = guarded("good-token");
    for script in ["echo", "echo two words", "exit 3"] {
        let (kind, text, _) = failed(with_token(&server, command(script)).run());
        assert_eq!(kind, Trouble::Denied);
        assert!(
            text.contains("`bearer_command`") && text.contains("sh"),
            "{text}"
        );
    }
    assert_eq!(server.methods(), Vec::<String>::new());
}

#[test]
fn a_command_that_hangs_is_started_once_and_killed_with_its_children() {
    let server = guarded("good-token");
    let folder = TempDir::new().unwrap();
    let note = folder.path().join("started");
    let script = format!("sleep 600 & echo $! >> {}; wait", note.display());
    let mut stage = with_token(&server, command(&script));
    stage.server.startup_timeout = Duration::from_millis(800);
    let end = stage.run();
    assert!(
        matches!(end.result, Err(CallError::StartupTimeout { .. })),
        "{:?}",
        end.result
    );
    end.closing.finish();
    let started = fs::read_to_string(&note).unwrap();
    assert_eq!(started.lines().count(), 1, "{started}");
    let process = format!("/proc/{}/stat", started.trim());
    until(|| fs::read_to_string(&process).map_or(true, |stat| stat.contains(" Z ")));
    assert_eq!(server.methods(), Vec::<String>::new());
}

fn client(server: &Server) -> Token {
    Token::Client {
        url: server.url.join("/token").unwrap(),
        id: "id".to_owned(),
        secret: SECRET.to_owned(),
        scope: None,
    }
}

#[test]
fn a_token_endpoint_that_hangs_is_asked_once() {
    let server = Server::start(|_| Reply::Silence(Vec::new()));
    let mut stage = with_token(&server, client(&server));
    stage.server.startup_timeout = Duration::from_millis(800);
    let end = stage.run();
    assert!(
        matches!(end.result, Err(CallError::StartupTimeout { .. })),
        "{:?}",
        end.result
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_token_endpoint_that_is_down_may_be_asked_later() {
    for (status, trouble) in [
        ("429 Too Many Requests", Trouble::Limited),
        ("500 Internal Server Error", Trouble::Unreachable),
        ("503 Service Unavailable", Trouble::Unreachable),
        ("400 Bad Request", Trouble::Denied),
    ] {
        let server = Server::start(move |_| http(status, &[], ""));
        let (kind, text, effect) = failed(with_token(&server, client(&server)).run());
        assert_eq!((kind, effect), (trouble, Effect::None), "{text}");
        assert_eq!(server.requests().len(), 1);
    }
    let server = Server::start(|_| Reply::Bytes(Vec::new()));
    let (kind, text, _) = failed(with_token(&server, client(&server)).run());
    assert_eq!(kind, Trouble::Unreachable, "{text}");
}
