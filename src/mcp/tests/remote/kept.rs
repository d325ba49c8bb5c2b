//! Sessions that stay for another call, and what a server asks during one.

use super::*;

fn asked(stage: &Stage, waiting: &mut Vec<Closing>) -> CallEnd {
    let host = Host::new(None, None, Interrupts::catch());
    call_among(
        waiting,
        After::Keep,
        &stage.server,
        &stage.call,
        &host,
        &mut |_| (),
    )
}

/// A good answer, and the server waits again.
fn kept(end: CallEnd, waiting: &mut Vec<Closing>) {
    assert_eq!(only_text(&end), "hello");
    waiting.push(end.closing);
}

/// The same reply, after which the client may use the connection again.
fn persistent(reply: Reply) -> Reply {
    match reply {
        Reply::Bytes(bytes) => {
            let text = String::from_utf8(bytes).unwrap();
            Reply::Bytes(text.replace("Connection: close\r\n", "").into_bytes())
        }
        silence @ Reply::Silence(_) => silence,
    }
}

#[test]
fn a_connection_that_was_closed_meanwhile_is_not_used_again() {
    // The test server closes each connection after its answer, but does not say so after that to a call.
    let server = Server::start(|request| match request.method() {
        "tools/call" => persistent(modern(request)),
        _ => modern(request),
    });
    let stage = server.stage();
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let end = asked(&stage, &mut waiting);
        kept(end, &mut waiting);
        // The end of the connection arrives.
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(server.calls(), 3);
    assert_eq!(server.methods()[0], "server/discover");
    assert_eq!(
        server
            .methods()
            .iter()
            .filter(|method| *method == "server/discover")
            .count(),
        1
    );
}

#[test]
fn a_kept_server_that_fails_before_the_call_is_opened_anew() {
    let lists = Mutex::new(0);
    let server = Server::start(move |request| {
        if request.is("tools/list") {
            let mut lists = lists.lock().unwrap();
            *lists += 1;
            if *lists == 2 {
                return http("502 Bad Gateway", &[], "");
            }
        }
        modern(request)
    });
    let stage = server.stage();
    let mut waiting = Vec::new();
    for _ in 0..2 {
        let end = asked(&stage, &mut waiting);
        kept(end, &mut waiting);
    }
    assert_eq!(server.calls(), 2);
}

#[test]
fn a_call_is_sent_at_most_twice_for_lost_sessions() {
    let calls = Mutex::new(0);
    let server = legacy_but(move |request| {
        let mut calls = calls.lock().unwrap();
        *calls += 1;
        match *calls {
            1 => legacy(request),
            _ => http("404 Not Found", &[], ""),
        }
    });
    let stage = server.stage();
    let mut waiting = Vec::new();
    let end = asked(&stage, &mut waiting);
    kept(end, &mut waiting);
    let (kind, text, _) = failed(asked(&stage, &mut waiting));
    assert_eq!((kind, server.calls()), (Trouble::Gone, 3), "{text}");
}

#[test]
fn few_answers_to_a_server_are_under_way_at_once() {
    let server = Server::start(|request| match request.method() {
        "tools/call" => {
            let ping = |id| event(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
            let pings: String = (1000..1020).map(ping).collect();
            Reply::Silence((STREAM.to_owned() + &pings).into_bytes())
        }
        // An answer to a ping has no method, and gets no answer itself.
        "POST" => Reply::Silence(Vec::new()),
        _ => legacy(request),
    });
    let mut stage = server.stage();
    stage.call.idle_timeout = Some(Duration::from_millis(500));
    let end = stage.run();
    assert!(
        matches!(end.result, Err(CallError::TimedOut { .. })),
        "{:?}",
        end.result
    );
    end.closing.finish();
    let methods = server.methods();
    let at = methods
        .iter()
        .position(|method| method == "notifications/cancelled");
    let before = methods
        .iter()
        .take(at.unwrap())
        .filter(|method| *method == "POST");
    assert_eq!(before.count(), 4, "{methods:?}");
}
