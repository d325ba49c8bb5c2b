//! The forms of the hosts, what values refer to, and what looks like a secret.

use camino::Utf8Path;

use super::{Command, Configured, Start, Surroundings, project_of, read};

/// A key as its issuer makes it; no real one.
const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

fn variable(name: &str) -> Option<String> {
    let value = match name {
        "HOME" => "/home/ann",
        "GITHUB_TOKEN" => TOKEN,
        "PORT" => "8080",
        "MY_TOKEN" => "hunter2plain",
        "DB_PASSWORD" => "correcthorse",
        "NAMEV" => "ann",
        "EMPTY" => "",
        _ => return None,
    };
    Some(value.to_owned())
}

fn read_at(path: &str, text: &str) -> Result<Vec<Configured>, String> {
    let path = Utf8Path::new(path);
    let project = project_of(path);
    let around = Surroundings {
        root: Utf8Path::new("/srv/app"),
        project: project.as_deref(),
        variable: &variable,
    };
    read(path, text, &around).map_err(|error| format!("{path}: {error}"))
}

fn command(argv: &[&str]) -> Command {
    Command {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        ..Command::default()
    }
}

/// The only server of a file, with what it is started with.
fn one(path: &str, text: &str) -> Command {
    let mut servers = read_at(path, text).unwrap();
    let server = servers.pop().unwrap();
    assert!(servers.is_empty());
    match server.start {
        Start::Command(command) => command,
        other => panic!("{other:?}"),
    }
}

/// Why the only server of `.mcp.json` cannot be used.
fn unfit(server: &str) -> String {
    let text = format!("{{\"mcpServers\": {{\"s\": {server}}}}}");
    match read_at("/srv/app/.mcp.json", &text)
        .unwrap()
        .pop()
        .unwrap()
        .start
    {
        Start::Unfit(why) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_host_has_its_form() {
    let files = ["uvx", "mcp-server-git", "--repository", "."];
    let standard = r#"{"mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git", "--repository", "."]}}}"#;
    let forms = [
        ("/srv/app/.mcp.json", standard),
        ("/srv/app/.cursor/mcp.json", standard),
        ("/home/ann/.codeium/windsurf/mcp_config.json", standard),
        (
            "/srv/app/.vscode/mcp.json",
            "{\n// Comments are allowed.\n\"servers\": {\"git\": {\"type\": \"stdio\", \"command\": \"uvx\", \
             \"args\": [\"mcp-server-git\", \"--repository\", \".\"],},}, \"inputs\": []}",
        ),
        (
            "/srv/app/opencode.jsonc",
            r#"{"mcp": {"git": {"type": "local", "command": ["uvx", "mcp-server-git", "--repository", "."], "enabled": true}}}"#,
        ),
        (
            "/home/ann/.codex/config.toml",
            "model = \"m\"\n[mcp_servers.git]\ncommand = \"uvx\"\nargs = [\"mcp-server-git\", \"--repository\", \".\"]\n",
        ),
    ];
    for (path, text) in forms {
        let found = one(path, text);
        assert_eq!(found.argv, command(&files).argv, "{path}");
        assert_eq!(found.env, [], "{path}");
    }
}

#[test]
fn the_servers_of_a_project_come_before_those_of_its_user() {
    let text = r#"{"mcpServers": {"a": {"command": "user"}, "b": {"command": "user"}},
        "projects": {"/srv/app": {"mcpServers": {"a": {"command": "project"}}}, "/other": {"mcpServers": {"c": {"command": "c"}}}}}"#;
    let servers = read_at("/home/ann/.claude.json", text).unwrap();
    let found: Vec<_> = servers
        .iter()
        .map(|server| (server.name.as_str(), &server.start))
        .collect();
    assert_eq!(
        found,
        [
            ("a", &Start::Command(command(&["project"]))),
            ("b", &Start::Command(command(&["user"])))
        ]
    );
}

#[test]
fn references_are_replaced_and_a_missing_variable_is_named() {
    let text = r#"{"mcpServers": {"s": {"command": "${userHome}/bin/s", "args": ["${PORT}", "${NONE:-9}", "${EMPTY:-7}", "$PORT", "${1}", "{x}",
        "${workspaceFolder}/a", "http://h:${env:PORT}/", "{env:PORT}"], "env": {"WHERE": "${HOME}/data", "N": 3, "OFF": null}}}}"#;
    let found = one("/srv/app/.mcp.json", text);
    assert_eq!(
        found.argv,
        [
            "/home/ann/bin/s",
            "8080",
            "9",
            "7",
            "$PORT",
            "${1}",
            "{x}",
            "{root}/a",
            "http://h:8080/",
            "8080"
        ]
    );
    let env = [("WHERE", "/home/ann/data"), ("N", "3")];
    assert_eq!(
        found.env,
        env.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    for (server, says) in [
        (r#"{"command": "s", "args": ["${NONE}"]}"#, "export NONE"),
        (
            r#"{"command": "s", "env": {"A": "${NONE}"}}"#,
            "export NONE",
        ),
        (
            r#"{"command": "s", "env": {"KEY": "${input:key}"}}"#,
            "export KEY",
        ),
        (
            r#"{"command": "s", "args": ["${input:key}"]}"#,
            "the input `key`",
        ),
        (
            r#"{"command": "s", "args": ["{file:./key}"]}"#,
            "the file ./key",
        ),
        (
            r#"{"command": "s", "args": ["{root}"]}"#,
            "write this server by hand",
        ),
        (
            r#"{"command": "s", "args": ["${UNSET:-${NAMEV}}"]}"#,
            "the default value of the variable UNSET",
        ),
    ] {
        let why = unfit(server);
        assert!(why.contains(says), "{server}: {why}");
    }
}

#[test]
fn a_brace_that_begins_no_reference_is_text() {
    let text = r#"{"mcpServers": {"s": {"command": "s", "args": ["--cfg={\"name\":\"${NAMEV}\"}", "{${NAMEV}}", "${ {env:NAMEV}", "{env:NAMEV", "}{"],
        "env": {"HDR": "{\"a\": \"{b} ${NAMEV}\"}"}}}}"#;
    let found = one("/srv/app/.mcp.json", text);
    let argv = [
        "s",
        r#"--cfg={"name":"ann"}"#,
        "{ann}",
        "${ ann",
        "{env:NAMEV",
        "}{",
    ];
    assert_eq!(found.argv, argv);
    let env = ("HDR".to_owned(), r#"{"a": "{b} ann"}"#.to_owned());
    assert_eq!(found.env, [env]);
}

#[test]
fn a_variable_that_looks_like_a_secret_is_written_under_no_other_name() {
    for (server, says) in [
        (
            r#""args": ["${MY_TOKEN}"]"#,
            "its argument 1 contains the variable MY_TOKEN",
        ),
        (r#""args": ["--x={env:MY_TOKEN}"]"#, "the variable MY_TOKEN"),
        (
            r#""cwd": "${MY_TOKEN}""#,
            "its directory contains the variable MY_TOKEN",
        ),
        (
            r#""env": {"DATABASE": "${DB_PASSWORD}"}"#,
            "export DATABASE",
        ),
        (
            r#""env": {"DATABASE": "x ${NAMEV} ${DB_PASSWORD}"}"#,
            "made of the variable DB_PASSWORD",
        ),
        (
            r#""env": {"MY_TOKEN": "Bearer ${MY_TOKEN}"}"#,
            "with its whole value",
        ),
        (
            r#""env": {"API_TOKEN": "k21plain{root}"}"#,
            "the variable API_TOKEN contains {self} or {root}",
        ),
    ] {
        let why = unfit(&format!("{{\"command\": \"s\", {server}}}"));
        assert!(why.contains(says), "{server}: {why}");
        for value in ["hunter2plain", "correcthorse", "k21plain"] {
            assert!(!why.contains(value), "{why}");
        }
    }
    let own = r#"{"mcpServers": {"s": {"command": "s", "env": {"MY_TOKEN": "${MY_TOKEN:-none}", "DB_PASSWORD": "${DB_PASSWORD}"}}}}"#;
    let found = one("/srv/app/.mcp.json", own);
    let secrets = [
        ("MY_TOKEN", "hunter2plain"),
        ("DB_PASSWORD", "correcthorse"),
    ];
    let named: Vec<(&str, &str)> = found
        .secrets
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!((named.as_slice(), found.env.len()), (&secrets[..], 0));
}

#[test]
fn two_values_of_one_passed_variable_are_found() {
    let with = |value: &str| Command {
        secrets: vec![("GITHUB_TOKEN".to_owned(), value.to_owned())],
        ..Command::default()
    };
    assert_eq!(with("work").differs(&with("home")), Some("GITHUB_TOKEN"));
    assert_eq!(with("work").differs(&with("work")), None);
    assert_eq!(with("work").differs(&command(&["s"])), None);
}

#[test]
fn a_secret_is_passed_on_and_neither_written_nor_told() {
    let text = format!(
        r#"{{"mcpServers": {{"s": {{"command": "s", "env": {{"API_KEY": "0815-4711", "PLAIN": "{TOKEN}",
        "GITHUB_TOKEN": "${{GITHUB_TOKEN}}", "LEVEL": "info"}}}}}}}}"#
    );
    let found = one("/srv/app/.mcp.json", &text);
    let names: Vec<&str> = found
        .secrets
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["API_KEY", "PLAIN", "GITHUB_TOKEN"]);
    let table = found.table("s");
    assert_eq!(
        table,
        "[server.s]\ncommand = [\"s\"]\nenv = { LEVEL = \"info\" }\nenv_pass = [\"API_KEY\", \"PLAIN\", \"GITHUB_TOKEN\"]\n"
    );
    for args in [
        format!(r#"["--token", "{TOKEN}"]"#),
        format!(r#"["--header=Authorization: Bearer {TOKEN}"]"#),
        r#"["--api-key", "0815-4711"]"#.to_owned(),
        r#"["postgres://ann:hunter2@db/app"]"#.to_owned(),
        r#"["${GITHUB_TOKEN}"]"#.to_owned(),
    ] {
        let why = unfit(&format!(r#"{{"command": "s", "args": {args}}}"#));
        assert!(why.contains("looks like a secret"), "{args}: {why}");
        assert!(!why.contains(TOKEN) && !why.contains("hunter2"), "{why}");
    }
}

#[test]
fn a_server_of_another_project_is_started_there() {
    let text = r#"{"mcpServers": {"s": {"command": "./s"}}}"#;
    assert_eq!(one("/srv/app/.mcp.json", text).cwd, None);
    assert_eq!(one("/home/ann/.cursor.json", text).cwd, None);
    assert_eq!(one("/srv/other/.mcp.json", text).cwd.unwrap(), "/srv/other");
    assert_eq!(
        one("/srv/other/.vscode/mcp.json", text).cwd.unwrap(),
        "/srv/other"
    );
    let within = r#"{"mcpServers": {"s": {"command": "./s", "cwd": "${workspaceFolder}/tools"}}}"#;
    assert_eq!(one("/srv/app/.mcp.json", within).cwd.unwrap(), "tools");
    assert_eq!(
        one("/srv/other/.mcp.json", within).cwd.unwrap(),
        "/srv/other/tools"
    );
}

#[test]
fn servers_that_are_off_are_told_apart() {
    let text = r#"{"mcpServers": {"a": {"command": "a", "disabled": true}, "b": {"url": "b", "enabled": false}}}"#;
    let servers = read_at("/srv/app/.mcp.json", text).unwrap();
    assert!(
        servers.iter().all(|server| server.start == Start::Off),
        "{servers:?}"
    );
}

#[test]
fn a_server_at_an_address_is_written_and_its_secrets_come_from_variables() {
    for (keys, table, secrets) in [
        (
            r#""type": "http", "url": "https://example.org/mcp?v=1", "headers": {}"#,
            "",
            &[][..],
        ),
        (
            r#""serverUrl": "https://example.org/mcp?v=1", "headers": {"X-Team": "blue", "Authorization": "Bearer ${GITHUB_TOKEN}"}"#,
            "headers = { X-Team = \"blue\" }\nbearer_env = \"GITHUB_TOKEN\"\n",
            &[("GITHUB_TOKEN", TOKEN)],
        ),
        (
            r#""url": "https://example.org/mcp?v=1", "headers": {"Authorization": "Bearer 0815-4711", "X-Api-Key": "0815-4712", "Cookie": "a=b"}"#,
            "headers_env = { X-Api-Key = \"S_X_API_KEY\", Cookie = \"S_COOKIE\" }\nbearer_env = \"S_TOKEN\"\n",
            &[
                ("S_COOKIE", "a=b"),
                ("S_TOKEN", "0815-4711"),
                ("S_X_API_KEY", "0815-4712"),
            ],
        ),
        (
            r#""url": "https://example.org/mcp?v=1", "bearer_token_env_var": "GITHUB_TOKEN", "env_http_headers": {"X-Key": "GITHUB_TOKEN"}, "http_headers": {"A": "b"}"#,
            "headers = { A = \"b\" }\nheaders_env = { X-Key = \"GITHUB_TOKEN\" }\nbearer_env = \"GITHUB_TOKEN\"\n",
            &[("GITHUB_TOKEN", TOKEN)],
        ),
    ] {
        let text = format!(r#"{{"mcpServers": {{"s": {{{keys}}}}}}}"#);
        let found = one("/srv/app/.mcp.json", &text);
        assert_eq!(
            found.table("s"),
            format!("[server.s]\nurl = \"https://example.org/mcp?v=1\"\n{table}"),
            "{keys}"
        );
        let named: Vec<(&str, &str)> = found
            .secrets
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(named, secrets, "{keys}");
    }
    for (keys, says) in [
        (
            r#""url": "https://u:hunter2@example.org/mcp""#,
            "looks like a secret",
        ),
        (
            r#""url": "https://example.org/mcp?api_key=0815-4711""#,
            "looks like a secret",
        ),
        (
            r#""url": "https://example.org/${GITHUB_TOKEN}/mcp""#,
            "looks like a secret",
        ),
        (r#""url": "example""#, "no URL"),
        (
            r#""type": "sse", "url": "https://example.org/sse""#,
            "streamable HTTP",
        ),
        (
            r#""url": "https://example.org/", "headers": {"Authorization": "Bearer ${input:pat}"}"#,
            "export S_TOKEN",
        ),
        (
            r#""url": "https://example.org/", "headers": {"X-Key": "${NOT_SET}"}"#,
            "export NOT_SET",
        ),
    ] {
        let why = unfit(&format!("{{{keys}}}"));
        assert!(why.contains(says), "{keys}: {why}");
        assert!(
            !why.contains(TOKEN) && !why.contains("hunter2") && !why.contains("0815"),
            "{why}"
        );
    }
}

#[test]
fn a_file_that_cannot_be_used_is_refused() {
    for (path, text, says) in [
        (".mcp.json", "hello", "no JSON"),
        (".mcp.json", "", "empty"),
        (".mcp.json", "[]", "`mcpServers`"),
        (".mcp.json", "{\n\"mcpServers\": {\n\"a\": }}", "line 3"),
        (
            ".mcp.json",
            "{\"mcpServers\": {\"a\": {\"command\": \"a\"}, \"a\": {\"command\": \"b\"}}}",
            "second time",
        ),
        (".mcp.json", "{\"mcpServers\": []}", "must be an object"),
        ("config.toml", "[mcp_servers.a]\ncommand = ", "line 2"),
        (
            "config.toml",
            "[mcp_servers.a]\ncommand = \"a\"\n[mcp_servers.a]\n",
            "duplicate",
        ),
    ] {
        let why = read_at(path, text).unwrap_err();
        let at = format!("{path}: ");
        assert!(
            why.starts_with(&at) && why.contains(says),
            "{text:?}: {why}"
        );
    }
    assert!(
        read_at(".mcp.json", "{\"permissions\": {}}")
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_server_of_a_wrong_form_is_left_out() {
    for (server, says) in [
        ("\"npx\"", "`command` or `url`"),
        ("{}", "neither `command` nor `url`"),
        (
            r#"{"command": "a", "args": "b"}"#,
            "`args` must be an array",
        ),
        (r#"{"command": "a", "args": [1]}"#, "of strings"),
        (r#"{"command": ""}"#, "names no program"),
        (r#"{"command": "a", "env": {"A": {}}}"#, "`A` in `env`"),
        (r#"{"command": "a", "disabled": 1}"#, "true or false"),
    ] {
        let why = unfit(server);
        assert!(why.contains(says), "{server}: {why}");
    }
}
