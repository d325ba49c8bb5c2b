//! Every limit is real, whatever the server does with its pipes.

use super::*;

const SHORT: Duration = Duration::from_millis(300);

fn timed_out(end: &CallEnd, expected: Limit) {
    assert!(
        matches!(&end.result, Err(CallError::TimedOut { limit, .. }) if *limit == expected),
        "{:?}",
        end.result
    );
}

#[test]
fn a_silent_server_runs_into_the_startup_limit() {
    let mut stage = Stage::new("silent").graceless();
    stage.server.startup_timeout = SHORT;
    let end = stage.run();
    assert!(
        matches!(end.result, Err(CallError::StartupTimeout { .. })),
        "{:?}",
        end.result
    );
    assert_eq!(
        (end.effect, end.course.phase),
        (Effect::None, Phase::Negotiate)
    );
}

#[test]
fn a_server_that_never_answers_is_told_to_stop_and_then_stopped() {
    let mut stage = Stage::new("hang").graceless();
    stage.call.total_timeout = SHORT;
    let end = stage.run();
    timed_out(&end, Limit::Total);
    assert_eq!(
        (end.effect, end.course.phase),
        (Effect::Unknown, Phase::Call)
    );
    assert_eq!(
        end.closing.finish().exit_status,
        Some(ExitDescription::Signal(9))
    );
    stage.assert_nobody_left(&["server"]);
}

#[test]
fn a_timeout_cancels_the_request_at_the_server() {
    let mut stage = Stage::new("ignores");
    stage.call.total_timeout = SHORT;
    let end = stage.run();
    timed_out(&end, Limit::Total);
    let cancelled = stage.received().pop().unwrap();
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], 1);
}

#[test]
fn a_server_that_stops_reading_cannot_hold_a_large_request() {
    let mut stage = Stage::new("deaf").graceless();
    stage.call.arguments = object(json!({"text": "x".repeat(1_000_000)}));
    stage.call.total_timeout = SHORT;
    let end = stage.run();
    timed_out(&end, Limit::Total);
    assert_eq!(end.effect, Effect::None, "the line never went out in full");
    end.closing.finish();
    stage.assert_nobody_left(&["server"]);
}

#[test]
fn a_modern_tool_that_hangs_has_the_limits_of_the_call_not_those_of_the_start() {
    let mut stage = Stage::new("hang").speaking(Protocol::Modern).graceless();
    stage.call.idle_timeout = Some(SHORT);
    timed_out(&stage.run(), Limit::Idle);
}

#[test]
fn progress_without_end_does_not_outrun_the_total() {
    let mut stage = Stage::new("flood").graceless();
    stage.call.idle_timeout = Some(PATIENCE);
    stage.call.total_timeout = SHORT;
    timed_out(&stage.run(), Limit::Total);
}

#[test]
fn a_server_that_pesters_us_is_stopped() {
    let mut stage = Stage::new("pesters").graceless();
    stage.call.total_timeout = PATIENCE;
    let end = stage.run();
    assert!(
        matches!(end.result, Err(CallError::Malformed { .. })),
        "{:?}",
        end.result
    );
    assert_eq!(end.effect, Effect::Unknown);
}

#[test]
fn stderr_without_end_does_not_outrun_the_total() {
    let mut stage = Stage::new("stderr_endless").graceless();
    stage.call.total_timeout = SHORT;
    timed_out(&stage.run(), Limit::Total);
}

#[test]
fn progress_starts_the_idle_limit_anew() {
    let mut stage = Stage::new("slow");
    stage.call.idle_timeout = Some(Duration::from_millis(1500));
    let mut seen = Vec::new();
    let host = Host::new(None, None, Interrupts::catch());
    let end = call(&stage.server, &stage.call, &host, &mut |progress| {
        seen.push(progress);
    });
    assert_eq!(only_text(&end), "done");
    assert_eq!(seen.last().unwrap().message.as_deref(), Some("step 7"));
}

#[test]
fn progress_of_another_request_does_not() {
    let mut stage = Stage::new("foreign_progress").graceless();
    stage.call.idle_timeout = Some(SHORT);
    timed_out(&stage.run(), Limit::Idle);
}

#[test]
fn stderr_is_drained_and_only_its_end_is_kept() {
    let end = Stage::new("stderr_flood").run();
    assert!(end.result.is_ok(), "{:?}", end.result);
    let report = end.closing.finish();
    assert_eq!(report.stderr_bytes, 10_000 * 1024 + 23);
    assert!(report.stderr_tail.ends_with("x\nthe last line, ***\n"));
    assert!(
        report.stderr_tail.len() <= 8192,
        "{}",
        report.stderr_tail.len()
    );
}

#[test]
fn a_line_over_the_limit_ends_the_call() {
    for mode in ["big", "endless"] {
        let mut stage = Stage::new(mode).graceless();
        stage.server.max_message_bytes = 50_000;
        let end = stage.run();
        assert!(
            matches!(end.result, Err(CallError::TooBig { limit: 50_000, .. })),
            "{mode}: {:?}",
            end.result
        );
        assert_eq!(end.effect, Effect::Unknown);
    }
}

#[test]
fn a_schema_that_takes_long_does_not_outrun_the_total_and_is_no_slow_server() {
    let mut stage = Stage::new("schema:long").checked();
    stage.call.total_timeout = Duration::from_secs(1);
    let end = stage.run();
    match &end.result {
        Err(CallError::SchemaUnusable { reason, .. }) => {
            assert!(reason.contains("takes more than 1s"), "{reason}");
        }
        result => panic!("{result:?}"),
    }
    assert_eq!(
        (end.effect, end.course.phase),
        (Effect::None, Phase::ValidateArguments)
    );
}

#[test]
fn a_schema_that_means_years_of_work_is_given_up() {
    let kept = TempDir::new().unwrap();
    let folder = Utf8Path::from_path(kept.path()).unwrap();
    // The thread that works on it ends with its process only.
    assert!(client("schema:endless", folder).status().unwrap().success());
    let outcome = fs::read_to_string(folder.join("outcome")).unwrap();
    assert!(
        outcome.starts_with("None Err(SchemaUnusable") && outcome.contains("takes more than"),
        "{outcome}"
    );
}

#[test]
fn schemas_that_refer_in_long_rows_or_circles_do_not_bring_us_down() {
    for mode in ["schema:chain", "schema:circle", "schema:self"] {
        let end = Stage::new(mode).checked().run();
        assert!(end.result.is_ok(), "{mode}: {:?}", end.result);
    }
}

#[test]
fn an_answer_that_comes_after_the_cancellation_comes_too_late() {
    let mut stage = Stage::new("late");
    stage.call.total_timeout = SHORT;
    let end = stage.run();
    timed_out(&end, Limit::Total);
    assert_eq!(end.effect, Effect::Unknown);
    let report = end.closing.finish();
    assert_eq!(report.exit_status, Some(ExitDescription::Code(0)));
}
