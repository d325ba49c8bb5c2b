//! What is learnt about a server in one run and used in the next.

use super::*;

/// Runs of one server whose era may change, and what is kept between them.
struct Runs {
    stage: Stage,
    /// What the server had got before the run.
    before: usize,
}

impl Runs {
    fn new() -> Self {
        let mut stage = Stage::new("era").speaking(Protocol::Auto);
        stage.server.memory = Some(stage.folder.join("servers"));
        stage.program().env.push(("ERA".to_owned(), String::new()));
        Self { stage, before: 0 }
    }

    /// One run with the server in that era: how it ended, and the methods the server got.
    fn run(&mut self, era: &str) -> (CallEnd, Vec<String>) {
        self.stage.program().env.last_mut().unwrap().1 = era.to_owned();
        let end = self.stage.run();
        let methods = self.stage.methods().split_off(self.before);
        self.before += methods.len();
        (end, methods)
    }

    fn good(&mut self, era: &str) -> Vec<String> {
        let (end, methods) = self.run(era);
        assert!(end.result.is_ok(), "{era}: {:?}", end.result);
        methods
    }

    fn listing(mut self) -> Self {
        self.stage = self.stage.checked();
        self
    }

    /// The only note.
    fn note(&self) -> Utf8PathBuf {
        let dir = self.stage.folder.join("servers");
        let mut notes = dir.read_dir_utf8().unwrap();
        let note = notes.next().unwrap().unwrap().into_path();
        assert!(notes.next().is_none());
        note
    }

    fn noted(&self) -> String {
        fs::read_to_string(self.note()).unwrap()
    }
}

const MODERN: &str = "2026-07-28\n";
const LEGACY: &str = "2025-11-25\n";

#[test]
fn a_modern_server_is_not_greeted_as_an_older_one_a_second_time() {
    let mut runs = Runs::new();
    assert_eq!(
        runs.good("modern"),
        ["initialize", "server/discover", "tools/call"]
    );
    assert_eq!(runs.noted(), MODERN);
    assert_eq!(runs.good("modern"), ["server/discover", "tools/call"]);
    assert_eq!(runs.noted(), MODERN);
}

#[test]
fn nor_before_its_tools_are_listed() {
    let mut runs = Runs::new().listing();
    runs.good("modern");
    assert_eq!(
        runs.good("modern"),
        ["server/discover", "tools/list", "tools/list", "tools/call"]
    );
}

#[test]
fn the_start_of_a_server_does_not_count_against_the_call_in_any_era() {
    let slow = |mut runs: Runs, era: &str, protocol| {
        let stage = &mut runs.stage;
        let slow = ("SLOW".to_owned(), "1.5".to_owned());
        stage.program().env.insert(0, slow);
        stage.server.protocol = protocol;
        stage.call.idle_timeout = Some(Duration::from_secs(1));
        stage.call.total_timeout = Duration::from_secs(1);
        for _ in 0..2 {
            runs.good(era);
        }
    };
    slow(Runs::new(), "modern", Protocol::Auto);
    slow(Runs::new().listing(), "modern", Protocol::Auto);
    slow(Runs::new(), "modern", Protocol::Modern);
    slow(Runs::new().listing(), "modern", Protocol::Modern);
    slow(Runs::new(), "legacy", Protocol::Auto);
}

#[test]
fn a_legacy_server_is_greeted_each_time() {
    let mut runs = Runs::new();
    for _ in 0..2 {
        assert_eq!(
            runs.good("legacy"),
            ["initialize", "notifications/initialized", "tools/call"]
        );
        assert_eq!(runs.noted(), LEGACY);
    }
}

#[test]
fn a_legacy_server_that_has_become_modern_is_found_out_as_if_it_were_new() {
    let mut runs = Runs::new();
    for era in ["modern", "modern_dies"] {
        runs.good("legacy");
        let methods = runs.good(era);
        assert_eq!(
            methods,
            ["initialize", "server/discover", "tools/call"],
            "{era}"
        );
        assert_eq!(runs.noted(), MODERN);
        runs.good("legacy");
    }
}

#[test]
fn a_server_of_another_era_is_found_out_before_the_call() {
    let mut runs = Runs::new();
    runs.good("modern");
    let (end, methods) = runs.run("legacy");
    assert_eq!(
        methods,
        [
            "server/discover",
            "initialize",
            "notifications/initialized",
            "tools/call"
        ]
    );
    assert!(end.result.is_ok(), "{:?}", end.result);
    assert_eq!((end.effect, runs.noted().as_str()), (Effect::Done, LEGACY));
    let report = end.closing.finish();
    assert_eq!(report.protocol.as_deref(), Some("2025-11-25"));
    runs.stage.assert_nobody_left(&["server", "server"]);
}

#[test]
fn an_error_that_a_modern_server_means_is_told_and_the_call_not_sent_again() {
    let mut runs = Runs::new();
    runs.good("modern");
    runs.stage.call.arguments = object(json!({"text": "refuse"}));
    let (end, methods) = runs.run("modern");
    assert!(
        matches!(
            end.result,
            Err(CallError::Rpc {
                method: "tools/call",
                code: -32602,
                ..
            })
        ),
        "{:?}",
        end.result
    );
    assert_eq!(end.effect, Effect::Done);
    let calls = methods.iter().filter(|method| *method == "tools/call");
    assert_eq!(calls.count(), 1, "{methods:?}");
}

#[test]
fn a_server_that_ends_at_a_request_of_another_era_has_not_had_the_call() {
    for runs in [Runs::new(), Runs::new().listing()] {
        let mut runs = runs;
        runs.good("modern");
        let methods = runs.good("legacy_dies");
        let calls = methods.iter().filter(|method| *method == "tools/call");
        assert_eq!(calls.count(), 1, "{methods:?}");
        assert_eq!(methods.last().unwrap(), "tools/call");
        assert_eq!(runs.noted(), LEGACY);
    }
}

#[test]
fn a_server_that_is_silent_at_a_request_of_another_era_is_overtaken_by_a_fresh_one() {
    let mut runs = Runs::new().listing();
    runs.good("modern");
    runs.stage.server.startup_timeout = Duration::from_secs(10);
    let methods = runs.good("legacy_deaf");
    let calls = methods.iter().filter(|method| *method == "tools/call");
    assert_eq!(calls.count(), 1, "{methods:?}");
    assert_eq!(runs.noted(), LEGACY);
}

#[test]
fn another_way_to_start_a_server_is_another_server_and_another_value_is_not() {
    let mut runs = Runs::new();
    runs.stage
        .program()
        .env
        .insert(0, ("TOKEN".to_owned(), SECRET.to_owned()));
    runs.good("modern");
    let name = runs.note();
    assert!(!runs.noted().contains(SECRET));
    runs.stage.program().env[0].1 = "another".to_owned();
    assert_eq!(runs.good("modern"), ["server/discover", "tools/call"]);
    assert_eq!(runs.note(), name);
    runs.stage.program().env[0].0 = "KEY".to_owned();
    assert_eq!(runs.good("modern").len(), 3);
}

#[test]
fn a_note_that_is_none_is_ignored_and_replaced() {
    for rubbish in [
        "",
        "{\"protocol\":\"2026-07-28\"}",
        "\u{0}\u{1}",
        "2099-01-01",
        "2026-07-28 2025-11-25",
    ] {
        let mut runs = Runs::new();
        runs.good("modern");
        fs::write(runs.note(), rubbish).unwrap();
        assert_eq!(runs.good("modern").len(), 3, "{rubbish}");
        assert_eq!(runs.noted(), MODERN);
    }
}

#[test]
fn what_is_no_file_at_the_place_of_a_note_holds_nobody_up() {
    let mut runs = Runs::new();
    runs.good("modern");
    let note = runs.note();
    let elsewhere = runs.stage.folder.join("elsewhere");
    fs::rename(&note, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &note).unwrap();
    assert_eq!(runs.good("modern").len(), 3, "a link is not followed");
    assert_eq!(runs.good("modern").len(), 2, "and is replaced");
    fs::remove_file(&note).unwrap();
    let made = Command::new("mkfifo").arg(&note).status().unwrap();
    assert!(made.success());
    assert_eq!(runs.good("modern").len(), 3, "a pipe is not waited for");
    fs::remove_file(&note).unwrap();
    fs::create_dir(&note).unwrap();
    assert_eq!(runs.good("modern").len(), 3, "a folder is left alone");
}

#[test]
fn where_nothing_can_be_kept_runs_go_well_all_the_same() {
    let mut runs = Runs::new();
    fs::write(runs.stage.folder.join("servers"), "in the way").unwrap();
    for _ in 0..2 {
        assert_eq!(runs.good("modern").len(), 3);
    }
}

#[test]
fn nothing_is_kept_of_a_server_whose_era_the_catalog_tells() {
    let mut runs = Runs::new();
    runs.stage.server.protocol = Protocol::Modern;
    runs.good("modern");
    assert!(!runs.stage.folder.join("servers").exists());
}

#[test]
fn a_list_without_the_tool_is_no_reason_to_forget() {
    let mut runs = Runs::new().listing();
    runs.good("modern");
    runs.stage.call.tool = "ecko".to_owned();
    let (end, methods) = runs.run("modern");
    assert!(matches!(end.result, Err(CallError::UnknownTool { .. })));
    assert_eq!(end.course.phase, Phase::ValidateArguments);
    assert_eq!(
        methods,
        ["server/discover", "tools/list", "tools/list", "tools/list"]
    );
    assert_eq!(runs.noted(), MODERN);
}
