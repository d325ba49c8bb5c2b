//! What comes of a call, by the SDK with which its server was written. The servers of `tests/servers/sdk` have the same
//! tools, but the answers of the SDKs to the same situation differ, also between the two eras of the protocol.

use std::{collections::HashMap, env, fmt::Write as _};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use crate::{
    installed::{call, installed},
    program::{Answer, Root},
};

/// A line states a tool, an entry, servers, and what comes of a call: exit code, class, effect, and a result. A tool may
/// have any result where `*` stands. A `-` stands for no class.
const TABLE: &str = r#"
    # An error without a reason of the tool's own leaves it open whether the call happened.
    raises      once    mcp_high,mcp_high_modern,mcp_low,mcp_low_modern  1 tool_error unknown
    raises      once    fastmcp_py,ts1,ts2,fastmcp_js,rmcp               1 tool_error unknown
    times_out   once    mcp_high,mcp_rich,fastmcp_py                     1 timeout unknown
    times_out   once    mcp_low,mcp_low_modern                           1 timeout unknown
    times_out   once    ts1,ts2_modern,fastmcp_js                        1 tool_error unknown
    times_out   once    rmcp                                             1 timeout unknown
    thrown      once    ts1,ts2,ts2_modern,fastmcp_js                    1 tool_error unknown
    wrong       once    mcp_high,ts1,ts2,fastmcp_js                      1 tool_error unknown
    # An error with such a reason is the answer of the tool.
    refuses     once    mcp_high,mcp_low,mcp_low_modern,fastmcp_py       1 tool_error done
    refuses     once    ts1,ts2,fastmcp_js,rmcp                          1 tool_error done
    # A call that may happen twice fails with the class that its stderr names, where the answer has none.
    times_out   read    mcp_high,mcp_rich,fastmcp_py                     75 timeout done
    times_out   read    mcp_low,mcp_low_modern                           75 timeout done
    times_out   read    rmcp                                             75 timeout done
    refuses     read    mcp_high,mcp_low,fastmcp_py,ts1,ts2,rmcp         1 tool_error done
    # The report of success is read beside other texts, and beside a number that JSON does not have.
    beside      judged  mcp_high,mcp_high_modern,mcp_low,fastmcp_py      0 - done *
    beside      judged  ts1,ts2,fastmcp_js,rmcp                          0 - done *
    nan         judged  mcp_high,mcp_low,mcp_low_modern                  0 - done {"success":true,"mean":null}
    nan         judged  ts1,rmcp                                         0 - done {"success":true,"mean":null}
    nan         judged  fastmcp_py                                       1 tool_error done
    # An empty answer is an answer.
    no_rows     read    mcp_high,mcp_high_modern,mcp_low,fastmcp_py      0 - done {}
    no_rows     read    ts1,ts2,ts2_modern,fastmcp_js,rmcp               0 - done {}
    empty_text  read    mcp_high,fastmcp_py                              0 - done {"result":""}
    empty_text  read    mcp_low,ts1,ts2,fastmcp_js,rmcp                  0 - done {"text":""}
    # Several blocks are a list.
    one_row     read    mcp_high,mcp_low,ts1,rmcp                        0 - done {"text":"a"}
    one_row     read    fastmcp_py                                       0 - done {"result":["a"]}
    three_rows  read    mcp_high,mcp_high_modern,mcp_low,fastmcp_py      0 - done {"result":["a","b","c"]}
    three_rows  read    ts1,ts2,fastmcp_js,rmcp                          0 - done {"result":["a","b","c"]}
    records     read    mcp_high,mcp_low,fastmcp_py                      0 - done {"result":[{"id":1},{"id":2}]}
    records     read    ts1,ts2_modern,fastmcp_js,rmcp                   0 - done {"result":[{"id":1},{"id":2}]}
    # What is no object is the value of `result`, in both eras.
    number      read    mcp_high,mcp_low_modern,fastmcp_py               0 - done {"result":42}
    number      read    ts1,ts2,ts2_modern,fastmcp_js,rmcp_modern        0 - done {"result":42}
    # To a client of the older era, rmcp sends what is no object as a text alone.
    number      read    rmcp                                             0 - done *
    # Another result may fit the tool's own schema (R-000-102).
    wrong       listed  fastmcp_py                                       75 result_invalid done
    # Lines of a tool on stdout are none of the protocol.
    prints      once    mcp_high,mcp_low,fastmcp_py                      0 - done {"success":true}
    prints      once    ts1,ts2_modern,fastmcp_js,rmcp                   0 - done {"success":true}
    # A tool that does not exist.
    unknown     read    mcp_high,mcp_low,fastmcp_py,ts1                  1 tool_error done
    unknown     read    ts2,ts2_modern,fastmcp_js,rmcp                   1 tool_error done
"#;

/// The entries of [`TABLE`].
const ENTRIES: [(&str, &str); 4] = [
    ("once", "parameter_schema_for_action = {}"),
    (
        "read",
        "parameter_schema_for_action = {}\neffects = { read_only = true }",
    ),
    (
        "judged",
        "parameter_schema_for_action = {}\nsuccess = [{ pointer = \"/success\", equals = true }]",
    ),
    (
        "listed",
        "output_schema = \"check\"\neffects = { read_only = true }",
    ),
];

/// A server of `tests/servers/sdk`, as keys of an entry: its file, and `_modern` if it is to speak that era. `mcp_rich` is
/// `mcp_high` where the package `rich` is installed: the SDK then writes its log into boxes.
fn server(name: &str) -> String {
    let (sdk, protocol) = match name.strip_suffix("_modern") {
        Some(sdk) => (sdk, "modern"),
        None => (name, "auto"),
    };
    let file = |end| format!("servers/sdk/{sdk}.{end}");
    let python = |home| installed(home).join("bin/python").into_string();
    let command = match sdk {
        "mcp_high" | "mcp_low" => vec![python("sdks_mcp"), "-B".to_owned(), file("py")],
        "mcp_rich" => vec![
            python("sdks_fastmcp"),
            "-B".to_owned(),
            "servers/sdk/mcp_high.py".to_owned(),
        ],
        "fastmcp_py" => vec![python("sdks_fastmcp"), "-B".to_owned(), file("py")],
        "ts1" | "ts2" | "fastmcp_js" => vec![
            "node".to_owned(),
            file("mjs"),
            installed("sdks/node_modules").into_string(),
        ],
        "rmcp" => vec![example("rmcp_tools").into_string()],
        other => panic!("there is no server {other}"),
    };
    format!("[server.sdk]\ncommand = {command:?}\nprotocol = \"{protocol}\"\n")
}

/// An example of this package, which `cargo test` builds beside the tests unless it is told to build only some of them.
pub(crate) fn example(name: &str) -> Utf8PathBuf {
    let test = Utf8PathBuf::try_from(env::current_exe().unwrap()).unwrap();
    let built = test.ancestors().nth(2).map(Utf8Path::to_owned).unwrap();
    let example = built.join("examples").join(name);
    assert!(
        example.exists(),
        "{example} is missing; run cargo build --example {name}"
    );
    example
}

/// One call of a tool, in a root of its own.
fn answer(name: &str, tool: &str, entry: &str, arguments: &Value) -> Answer {
    let server = server(name);
    let root = Root::with_catalog(&format!(
        "catalog = 1\n{server}[capability.{tool}]\nmcp = {{ server = \"sdk\", tool = \"{tool}\" }}\n{entry}\n"
    ));
    call(&root, tool, arguments)
}

/// What came of it, in the words of [`TABLE`].
fn came(answer: &Answer) -> (String, Value) {
    let fault = answer.fault().as_str().unwrap_or("-");
    let effect = answer.at("/output/content/oneact/effect");
    let words = format!("{} {fault} {}", answer.exit, effect.as_str().unwrap());
    (words, answer.result_data().clone())
}

/// Tries the lines of a server, and shows all that differ.
fn holds_for(name: &str) {
    let entries = HashMap::from(ENTRIES);
    let mut differ = String::new();
    let lines = TABLE.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [tool, entry, servers, exit, fault, effect, result @ ..] = words.as_slice() else {
            panic!("{line}");
        };
        if !servers.split(',').any(|server| server == name) {
            continue;
        }
        let answer = answer(name, tool, entries[entry], &json!({}));
        let (came, data) = came(&answer);
        let result = match result {
            [] => Value::Null,
            ["*"] => data.clone(),
            [result] => serde_json::from_str(result).unwrap(),
            _ => panic!("{line}"),
        };
        if came != format!("{exit} {fault} {effect}") || data != result {
            let told = answer.at("/error/error_message");
            writeln!(differ, "{line}\n    came to {came} {data} {told}").unwrap();
        }
    }
    assert!(differ.is_empty(), "{name}:\n{differ}");
}

/// A test for each server of [`TABLE`].
macro_rules! servers {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            holds_for(stringify!($name));
        })*

        #[test]
        fn every_server_of_the_table_is_tried() {
            let lines = TABLE.lines().filter(|line| !line.trim_start().starts_with('#'));
            for servers in lines.filter_map(|line| line.split_whitespace().nth(2)) {
                for server in servers.split(',') {
                    assert!([$(stringify!($name)),*].contains(&server), "{server}");
                }
            }
        }
    };
}

servers!(
    mcp_high,
    mcp_high_modern,
    mcp_rich,
    mcp_low,
    mcp_low_modern,
    fastmcp_py,
    ts1,
    ts2,
    ts2_modern,
    fastmcp_js,
    rmcp,
    rmcp_modern,
);

/// Arguments of 11 MiB reach a server in Python. The SDKs in TypeScript read no message of more than 10 MiB and answer
/// none, so that a longer one never can be.
#[test]
fn arguments_above_ten_mebibytes_are_too_large_for_servers_in_typescript() {
    let size = 11 << 20;
    let entry = format!("{}\ntimeout = \"4s\"", HashMap::from(ENTRIES)["read"]);
    let sent = json!({"text": "x".repeat(size)});
    for name in ["mcp_high", "rmcp"] {
        let answer = answer(name, "size", &entry, &sent);
        assert_eq!(answer.result_data(), &json!({"result": size}), "{name}");
    }
    for name in ["ts1", "ts2_modern"] {
        let answer = answer(name, "size", &entry, &sent);
        assert_ne!(answer.exit, 0, "{name}: {}", answer.fault());
    }
}

/// The first run finds out the era of the server, and the second one remembers it.
#[test]
fn the_start_of_a_server_does_not_count_against_the_timeout_of_a_call() {
    for name in ["rmcp", "rmcp_modern", "ts2_modern"] {
        let slow = "env = { START_TAKES = \"3\" }\nstartup_timeout = \"30s\"";
        let server = server(name);
        let read = HashMap::from(ENTRIES)["read"];
        let root = Root::with_catalog(&format!(
            "catalog = 1\n{server}{slow}\n[capability.one_row]\nmcp = {{ server = \"sdk\", tool = \"one_row\" }}\n\
             {read}\ntimeout = \"2s\""
        ));
        for _ in 0..2 {
            let answer = call(&root, "one_row", &json!({}));
            assert_eq!(answer.exit, 0, "{name}: {}", answer.envelope);
        }
    }
}
