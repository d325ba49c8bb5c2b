//! Every kind of broken catalog is answered with the line, and with what to write instead.

use super::{BEGINNING, cut, refused, task};
use crate::catalog::{Catalog, entry::server};

/// The message about a catalog, which begins with the line.
fn told(catalog: &str, line: usize) -> String {
    let message = refused(catalog, &task(&["cut"])).message;
    let place = format!("catalog.toml:{line}: ");
    assert!(message.starts_with(&place), "{message} is not at {place}");
    message
}

#[test]
fn what_is_wrong_in_an_entry_has_its_line_and_a_remedy() {
    for (broken, line, remedy) in [
        ("timout = '5s'", 6, "did you mean `timeout`?"),
        ("timeout = 5", 6, "write a text in quotes"),
        ("timeout = 'soon'", 6, "e.g. \"90s\""),
        ("timeout = '9s'\ntimeout_max = '8s'", 4, "raise it"),
        (
            "effects = { readonly = true }",
            6,
            "did you mean `read_only`?",
        ),
        ("effects = { read_only = 'yes' }", 6, "write true or false"),
        ("bind = { x = 'input' }", 6, "write `input.uri`"),
        ("bind = { x = 7 }", 6, "e.g. \"input.uri\""),
        ("secret = ['token']", 6, "write \"/token\""),
        ("secret = 'token'", 6, "write an array in [ ]"),
        (
            "failure = [{ match = '(', class = 'oom' }]",
            6,
            "unclosed group",
        ),
        ("failure = [{ match = 'x', class = 'memory' }]", 6, "known"),
        (
            "failure = [{ class = 'oom' }]",
            6,
            "`match` is missing; add it",
        ),
        (
            "extract = [{ from = 'action', pattern = 'x' }]",
            6,
            "e.g. (?P<",
        ),
        (
            "extract = [{ from = 'task', pattern = '(?P<x>y)' }]",
            6,
            "`action`",
        ),
        ("retry = [{ timeout = 'x2' }]", 6, "add one"),
        ("retry = [{ timeout = '2' }]", 6, "e.g. \"x2\""),
        (
            "retry = [{ multiply = { n = 'x2' } }]",
            6,
            "a number above 0",
        ),
        ("result = { kind = 'file' }", 6, "`asset`"),
        (
            "result = { kind = 'asset', format = 'wav' }",
            4,
            "e.g. \"audio_track\"",
        ),
        (
            "result = { kind = 'asset', asset_type = 'a' }",
            4,
            "e.g. \"wav\"",
        ),
        (
            "result = { kind = 'asset', asset_type = 'a', format = 'wave' }",
            6,
            "known formats: ",
        ),
        (
            "result = { kind = 'asset', asset_type = 'a', format = 'wav', take = ['file'] }",
            6,
            "JSON Pointer such as",
        ),
        (
            "result = { asset_type = 'a' }",
            4,
            "`kind` is missing; add it",
        ),
        (
            "parameter_schema_for_action = { type = 'strin' }",
            6,
            "correct it",
        ),
        (
            "success = [{ pointer = '/ok' }]",
            6,
            "`equals` is missing; add it",
        ),
        ("[capability.cut]", 6, "remove one of the two"),
        ("description = 'no end", 6, "expected `'`"),
        ("[capabilities.x]", 6, "did you mean `capability`?"),
        ("[storage]\nurl = 'assets'", 7, "did you mean `uri`?"),
    ] {
        let message = told(&cut(broken), line);
        assert!(message.contains(remedy), "{message} does not say {remedy}");
    }
}

#[test]
fn what_is_wrong_around_an_entry_has_its_line_and_a_remedy() {
    let instead = |old: &str, new: &str| BEGINNING.replace(old, new);
    for (broken, line, remedy) in [
        (
            instead("catalog = 1\n", ""),
            1,
            "begin it with `catalog = 1`",
        ),
        (instead("catalog = 1", "catalog = 2"), 1, "reads format 1"),
        (
            instead("catalog = 1", "catalog = '1'"),
            1,
            "write a whole number",
        ),
        (instead("[\"s\"]", "\"s\""), 3, "write an array in [ ]"),
        (instead("[\"s\"]", "[]"), 2, "must name a program"),
        (
            instead("command = [\"s\"]", ""),
            2,
            "neither `command` nor `url`; add one of them",
        ),
        (
            instead("[\"s\"]", "[\"s\"]\nenv = { A = 1 }"),
            4,
            "write a text in quotes",
        ),
        (
            instead("[\"s\"]", "[\"s\"]\nenv = { 'A=B' = '1' }"),
            2,
            "no variable can have the name `A=B`",
        ),
        (
            instead("[\"s\"]", "[\"s\"]\nenv_pass = ['']"),
            2,
            "no variable can have the name ``",
        ),
        (
            instead("[\"s\"]", "[\"s\", \"a\\u0000b\"]"),
            2,
            "cannot contain a NUL",
        ),
        (
            instead("[\"s\"]", "[\"s\"]\nenv = { ONEACT_PROTECTED = '[]' }"),
            2,
            "sets `ONEACT_PROTECTED`; take it out of `env`",
        ),
        (
            instead("[\"s\"]", "[\"s\"]\nenv_pass = ['ONEACT_SCRATCH']"),
            2,
            "sets `ONEACT_SCRATCH`; take it out of `env` or `env_pass`",
        ),
        (
            instead("[\"s\"]", "[\"s\"]\nenv = { ONEACT_ALLOW_PRIVATE = '1' }"),
            2,
            "and write `allow_private = true`",
        ),
        (
            instead("[\"s\"]", "[\"s\"]\nprotocol = 'old'"),
            4,
            "`legacy`",
        ),
        (
            instead("[\"s\"]", "[\"s\"]\nurl = 'https://s.example/mcp'"),
            2,
            "both `command` and `url`; keep one of them",
        ),
        (
            instead("[\"s\"]", "[\"s\"]\nbearer_env = 'TOKEN'"),
            2,
            "`bearer_env` needs a `url`; remove it",
        ),
        (
            instead("[server.s]", "[server.saw]"),
            4,
            "add one with its `command` or its `url`",
        ),
        (
            instead("[server.s]\ncommand = [\"s\"]\n", "server = 7\n"),
            2,
            "[server.NAME]",
        ),
        (
            instead("server = \"s\", ", ""),
            5,
            "`server` is missing; add it",
        ),
        (
            instead("mcp = { server = \"s\", tool = \"cutter\" }", ""),
            4,
            "add an `mcp` table",
        ),
    ] {
        let message = told(&broken, line);
        assert!(message.contains(remedy), "{message} does not say {remedy}");
    }
}

#[test]
fn what_is_wrong_with_a_server_at_an_address_has_a_remedy() {
    for (keys, remedy) in [
        ("url = 'here'", "is no URL"),
        ("url = 'ftp://s.example/'", "must begin with https://"),
        ("url = 'http://s.example/mcp'", "`allow_http = true`"),
        ("url = 'https://me:pw@s.example/mcp'", "`headers_env`"),
        (
            "url = 'https://s.example/mcp'\ncwd = 'a'",
            "`cwd` belongs to a `command`",
        ),
        (
            "url = 'https://s.example/mcp'\nenv_pass = ['A']",
            "`env_pass` belongs to a `command`",
        ),
        (
            "url = 'https://s.example/mcp'\nbearer_env = 'A'\nbearer_file = 'b'",
            "keep one of them",
        ),
        (
            "url = 'https://s.example/mcp'\nbearer_command = []",
            "must name a program",
        ),
        (
            "url = 'https://s.example/mcp'\nbearer_env = 'A=B'",
            "no variable can have the name `A=B`",
        ),
        (
            "url = 'https://s.example/mcp'\nheaders = { 'a b' = 'c' }",
            "no header can have the name `a b`",
        ),
        (
            "url = 'https://s.example/mcp'\nheaders = { A = 7 }",
            "write a text in quotes",
        ),
        (
            "url = 'https://s.example/mcp'\nheaders = { Accept = '*/*' }",
            "oneact itself sets the header `Accept`",
        ),
        (
            "url = 'https://s.example/mcp'\nheaders = { Key = 'a' }\nheaders_env = { key = 'B' }",
            "is set twice",
        ),
        (
            "url = 'https://s.example/mcp'\nbearer_env = 'A'\nheaders_env = { Authorization = 'B' }",
            "is set by its token, too",
        ),
        (
            "url = 'https://s.example/mcp'\noauth = { token_url = 'http://o.example/', client_id = 'a', client_secret_env = 'B' }",
            "`token_url` sends tokens and data without encryption",
        ),
        (
            "url = 'https://s.example/mcp'\noauth = { token_url = 'https://o.example/', id = 'a' }",
            "client_id",
        ),
    ] {
        let broken = BEGINNING.replace("command = [\"s\"]", keys);
        let message = refused(&broken, &task(&["cut"])).message;
        assert!(message.contains(remedy), "{message} does not say {remedy}");
    }
    for url in [
        "https://s.example/mcp?v=1",
        "http://127.0.0.1:8000/mcp",
        "http://[::1]:8000/",
        "http://localhost/",
        "http://s.example/mcp'\nallow_http = true\nprotocol = 'auto",
    ] {
        let good = BEGINNING.replace("command = [\"s\"]", &format!("url = '{url}'"));
        let catalog = Catalog::from_bytes("catalog.toml".into(), good.into_bytes()).unwrap();
        let server = server::named(&catalog.tables().unwrap(), "s").unwrap();
        assert!(server.unwrap().remote.is_some(), "{url}");
    }
}
