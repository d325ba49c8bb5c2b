//! Servers that are missing, or end when they should not.

use super::*;

#[test]
fn a_missing_program_or_folder_is_told_apart() {
    let mut stage = Stage::new("echo");
    stage.program().argv = vec!["no-such-program".to_owned()];
    let end = stage.run();
    assert_eq!((end.effect, end.course.phase), (Effect::None, Phase::Spawn));
    let error = end.result.unwrap_err();
    assert!(matches!(error, CallError::NotFound { .. }), "{error}");
    assert!(error.to_string().contains("no such program"), "{error}");

    let mut stage = Stage::new("echo");
    stage.program().cwd = stage.folder.join("nowhere");
    let error = stage.run().result.unwrap_err();
    assert!(
        error.to_string().contains("nowhere is not there"),
        "{error}"
    );

    let mut stage = Stage::new("echo");
    fs::write(stage.folder.join("script"), "").unwrap();
    stage.program().argv = vec!["./script".to_owned()];
    let error = stage.run().result.unwrap_err();
    assert!(error.to_string().contains("not executable"), "{error}");
}

#[test]
fn a_server_that_ends_first_is_told_with_its_status_and_last_words() {
    let end = Stage::new("exits").run();
    assert_eq!(
        (end.effect, end.course.phase),
        (Effect::None, Phase::Negotiate)
    );
    let error = end.result.unwrap_err();
    let CallError::ExitedBeforeReady {
        ended, stderr_tail, ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(*ended, Some(ExitDescription::Code(3)));
    assert_eq!(stderr_tail, "no key; *** was refused\n");
    assert!(
        error.to_string().contains("no key; *** was refused"),
        "{error}"
    );
}

#[test]
fn a_crash_during_the_call_leaves_the_effect_unknown() {
    let end = Stage::new("crash").run();
    assert_eq!(
        (end.effect, end.course.phase),
        (Effect::Unknown, Phase::Call)
    );
    let error = end.result.unwrap_err();
    let CallError::Died {
        ended, stderr_tail, ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(*ended, Some(ExitDescription::Code(4)));
    assert_eq!(stderr_tail, "Traceback: token is ***\n");
    assert_eq!(
        end.closing.finish().exit_status,
        Some(ExitDescription::Code(4))
    );
}

#[test]
fn a_crash_is_noticed_though_a_grandchild_holds_stdout() {
    let stage = Stage::new("crash_held");
    let end = stage.run();
    assert!(
        matches!(
            end.result,
            Err(CallError::Died {
                ended: Some(ExitDescription::Code(5)),
                ..
            })
        ),
        "{:?}",
        end.result
    );
    end.closing.finish();
    stage.assert_nobody_left(&["server", "grandchild"]);
}

#[test]
fn a_signal_that_ended_the_server_is_named() {
    let error = Stage::new("segfault").run().result.unwrap_err();
    assert!(
        matches!(
            error,
            CallError::Died {
                ended: Some(ExitDescription::Signal(11)),
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("SIGSEGV"), "{error}");
}

#[test]
fn a_server_that_closes_its_stdout_and_lives_on_is_given_up() {
    let stage = Stage::new("half_closed").graceless();
    let end = stage.run();
    assert!(
        matches!(end.result, Err(CallError::Died { ended: None, .. })),
        "{:?}",
        end.result
    );
    end.closing.finish();
    stage.assert_nobody_left(&["server"]);
}

#[test]
fn how_a_server_ends_after_its_answer_is_told_once_it_has() {
    let end = Stage::new("last_words").run();
    assert!(end.result.is_ok());
    let report = end.closing.finish();
    assert_eq!(report.exit_status, Some(ExitDescription::Code(7)));
    assert_eq!(
        (report.stderr_tail.as_str(), report.stderr_bytes),
        ("bye\n", 4)
    );
}
