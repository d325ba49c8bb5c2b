//! What can be seen of a ledger: sessions and their steps, answers by their ids, and why each was given.

use super::*;
use crate::{
    ledger::{
        Again, Event, Miss, RowOutcome, Why,
        store::tests::{
            InFile,
            given::{SESSION, full, history, link, open_session, session, written},
        },
        tests::{MISSES, NOW},
    },
    people::{Decision, Fact, Reason},
    task::Sight,
};

/// A ledger of these rows; each has its link. Sessions are opened.
fn ledger(rows: &[Row]) -> Reading {
    let file = InFile::new();
    let mut store = file.store();
    written(&mut store, |tx| {
        for row in rows.iter().filter(|row| row.state.is_none()) {
            tx.put(row)?;
        }
        for row in rows.iter().filter(|row| row.state.is_some()) {
            let seq = row.seq.unwrap_or_default();
            while tx.newest_link()?.map_or(0, |head| head.seq) < seq {
                link(tx, Event::Succeeded)?;
            }
            if tx.session(&row.session_id)?.is_none() {
                tx.put(&session(&row.session_id, seq))?;
            }
            tx.put(row)?;
        }
        Ok(())
    });
    Reading::of(Box::new(file.store()), NOW.parse().unwrap())
}

fn row(seq: u64, step: u64) -> Row {
    Row {
        task_id: Some(format!("task_{step}")),
        input_ids: None,
        adjusted: None,
        reason: Some("new".to_owned()),
        ..full(seq, step)
    }
}

fn failed(seq: u64, step: u64) -> Row {
    Row {
        outcome: RowOutcome::Error,
        state: Some(RowState::Failed),
        ..row(seq, step)
    }
}

fn steps(page: &Answers) -> Vec<u64> {
    page.steps.iter().map(|step| step.row.step_index).collect()
}

#[test]
fn a_ledger_that_is_not_there_is_not_made() {
    let dir = tempfile::tempdir().unwrap();
    let path = camino::Utf8PathBuf::try_from(dir.path().join("ledger.db")).unwrap();
    let error = Reading::open(&Place::File(path.clone()), NOW.parse().unwrap())
        .err()
        .unwrap();
    assert!(matches!(error, CommandError::Missing { .. }), "{error}");
    assert!(!path.exists());
}

#[test]
fn the_session_that_was_used_last_is_the_one_of_the_newest_answer() {
    let other = Row {
        session_id: "sess-other".to_owned(),
        ..row(3, 0)
    };
    let mut reading = ledger(&[row(2, 0), other, row(4, 1)]);
    assert_eq!(reading.session(None).unwrap(), SESSION);
    assert_eq!(reading.session(Some("sess-other")).unwrap(), "sess-other");
    let error = reading.session(Some("none")).unwrap_err();
    assert!(error.to_string().contains(SESSION), "{error}");
}

#[test]
fn a_session_that_only_tried_something_is_not_the_last() {
    let scratch = Row {
        session_id: "replay-01J".to_owned(),
        ..row(3, 0)
    };
    let mut reading = ledger(&[row(2, 0), scratch]);
    assert_eq!(reading.session(None).unwrap(), SESSION);
}

#[test]
fn an_empty_ledger_says_so() {
    let error = ledger(&[]).session(None).unwrap_err();
    assert!(matches!(error, CommandError::Empty { .. }), "{error}");
}

#[test]
fn a_session_of_no_steps_is_shown_as_one() {
    let file = InFile::new();
    written(&mut file.store(), |tx| open_session(tx, "sess-0"));
    let mut reading = Reading::of(Box::new(file.store()), NOW.parse().unwrap());
    let last = reading.session(None).unwrap();
    let page = reading
        .answers(Some(&last), usize::MAX, &Filter::default())
        .unwrap();
    let session = page.session.unwrap();
    assert_eq!(
        (last.as_str(), session.count, page.steps.len()),
        ("sess-0", 0, 0)
    );
    let error = reading.find("0", None).unwrap_err();
    assert!(error.to_string().contains("it has no steps yet"), "{error}");
}

#[test]
fn the_newest_steps_come_in_their_order() {
    let mut reading = ledger(&[row(1, 0), failed(2, 1), row(3, 2), row(4, 3)]);
    let mut page = |most, word| {
        let filter = Filter {
            word,
            ..Filter::default()
        };
        steps(&reading.answers(Some(SESSION), most, &filter).unwrap())
    };
    assert_eq!(page(usize::MAX, None), [0, 1, 2, 3]);
    assert_eq!(page(2, None), [2, 3]);
    let good = Some("task_0");
    assert_eq!(page(3, good), [0]);
    assert_eq!(page(0, good), Vec::<u64>::new());
}

#[test]
fn an_answer_is_found_by_its_step_and_by_the_beginning_of_an_id() {
    let one = Row {
        operation_id: "op_01A".to_owned(),
        id: "aaaa".to_owned(),
        ..row(1, 0)
    };
    let other = Row {
        operation_id: "op_01AB".to_owned(),
        id: "bbbb".to_owned(),
        ..row(2, 1)
    };
    let mut reading = ledger(&[one, other]);
    let mut found = |id: &str| reading.find(id, None).map(|row| row.step_index);
    for (id, step) in [
        ("1", 1),
        ("#0", 0),
        ("op_01AB", 1),
        ("op_01A", 0),
        ("a", 0),
        ("bb", 1),
        ("#op_01AB", 1),
    ] {
        assert_eq!(found(id).unwrap(), step, "{id}");
    }
    let error = found("op_01").unwrap_err().to_string();
    assert!(error.contains("op_01A, op_01AB"), "{error}");
    for nothing in ["zz", "", "#"] {
        let error = found(nothing).unwrap_err();
        let nothing = CommandError::Nothing {
            text: nothing.trim_matches('#').to_owned(),
            session: None,
        };
        assert_eq!(error.to_string(), nothing.to_string());
    }
    let error = found("7").unwrap_err().to_string();
    assert!(error.contains("its steps are 0 to 1"), "{error}");
}

#[test]
fn a_number_is_a_step_as_it_is_shown_and_never_the_beginning_of_an_id() {
    let named = |id: &str, row: Row| Row {
        id: id.to_owned(),
        ..row
    };
    let rows = [
        named("01-a", row(1, 0)),
        named("01-b", row(2, 1)),
        named("7-c", row(3, 2)),
    ];
    let mut reading = ledger(&rows);
    let mut found = |id: &str| reading.find(id, None).map(|row| row.step_index);
    assert_eq!(found("1").unwrap(), 1);
    // Not the step 1, and of two answers neither.
    let error = found("01").unwrap_err().to_string();
    assert!(error.contains("01-a, 01-b"), "{error}");
    assert_eq!(found("7-").unwrap(), 2);
    for beyond in ["7", "99999999999999999999"] {
        let error = found(beyond).unwrap_err().to_string();
        let said = format!("the session `{SESSION}` has no step {beyond}; its steps are 0 to 2");
        assert_eq!(error, said);
    }
}

#[test]
fn an_answer_is_looked_for_in_the_session_that_is_named() {
    let other = Row {
        session_id: "sess-other".to_owned(),
        ..row(3, 0)
    };
    let mut reading = ledger(&[row(1, 0), row(2, 1), other]);
    let mut found = |id: &str, session| reading.find(id, session).map(|row| row.seq);
    assert_eq!(found("op_", Some("sess-other")).unwrap(), Some(3));
    assert_eq!(found("0", Some(SESSION)).unwrap(), Some(1));
    assert_eq!(found("0", None).unwrap(), Some(3));
    let error = found("op_1", Some("sess-other")).unwrap_err().to_string();
    assert!(error.contains("in the session `sess-other`"), "{error}");
    let error = found("op_1", Some("nobody")).unwrap_err();
    assert!(matches!(error, CommandError::NoSession { .. }), "{error}");
}

#[test]
fn a_task_is_found_by_its_newest_answer() {
    let again = Row {
        task_id: Some("task_0".to_owned()),
        ..row(3, 2)
    };
    let mut reading = ledger(&[row(1, 0), row(2, 1), again]);
    assert_eq!(reading.task("task_0", None).unwrap().step_index, 2);
    assert_eq!(reading.task("1", None).unwrap().step_index, 1);
    let error = reading.task("task_9", None).unwrap_err();
    assert!(matches!(error, CommandError::NoTask { .. }), "{error}");
}

fn decided(rows: &[Row], step: &str) -> Decision {
    let mut reading = ledger(rows);
    let row = reading.find(step, None).unwrap();
    reading.whole_of(row).unwrap().decision
}

#[test]
fn what_was_given_again_names_whose_answer_it_is() {
    let reused = Row {
        state: Some(RowState::Reused),
        reused_from: Some(row(1, 0).id),
        ..row(2, 1)
    };
    let decision = decided(&[row(1, 0), reused.clone()], "1");
    assert_eq!(decision.reason, Reason::Answered(Again::Reused));
    assert_eq!(decision.about.unwrap().step_index, 0);
    let mut reading = ledger(&[row(1, 0), reused]);
    let page = reading
        .answers(Some(SESSION), usize::MAX, &Filter::default())
        .unwrap();
    assert_eq!(page.steps[1].from, Some(0));
    let first = reading.find("0", None).unwrap();
    assert_eq!(reading.whole_of(first).unwrap().again, [1]);
}

#[test]
fn a_file_that_was_changed_is_told_as_it_was_and_as_it_is() {
    let seen = |hash: char| {
        let blake3 = hash.to_string().repeat(64);
        let content = format!(r#"{{"content":{{"bytes":3,"blake3":"{blake3}","stat":null}}}}"#);
        Some(format!(
            r#"[{{"print":{{"uri":"file:///a","sight":{content}}},"changed_meanwhile":false}},
                {{"print":{{"uri":"file:///b","sight":"unknown"}},"changed_meanwhile":false}}]"#
        ))
    };
    let old = Row {
        input_ids: seen('1'),
        ..row(1, 0)
    };
    let new = Row {
        input_ids: seen('2'),
        reason: Some("input_changed".to_owned()),
        ..row(2, 1)
    };
    let decision = decided(&[old, new], "1");
    assert_eq!(decision.reason, Reason::Ran(Why::Miss(Miss::InputChanged)));
    assert_eq!(decision.about.unwrap().step_index, 0);
    let [difference] = decision.differences.as_slice() else {
        panic!("{:?}", decision.differences);
    };
    assert_eq!(difference.what, "file:///a");
    let hash = |fact: &Fact| match fact {
        Fact::Seen(Sight::Content(content)) => content.blake3.chars().next(),
        _ => None,
    };
    let now = difference.now.as_ref().and_then(hash);
    assert_eq!((hash(&difference.then), now), (Some('1'), Some('2')));
}

#[test]
fn a_later_answer_is_not_why_an_earlier_one_was_given() {
    let changed = Row {
        reason: Some("expired".to_owned()),
        ..row(2, 1)
    };
    let decision = decided(&[row(1, 0), changed, row(3, 2)], "1");
    assert_eq!(decision.reason, Reason::Ran(Why::Miss(Miss::Expired)));
    assert_eq!(decision.about.unwrap().step_index, 0);
}

#[test]
fn a_retry_names_the_failure_before_it() {
    let before = Row {
        task_id: Some("task".to_owned()),
        ..failed(1, 0)
    };
    let retry = Row {
        task_id: Some("task".to_owned()),
        reason: Some("retry".to_owned()),
        ..row(2, 1)
    };
    let decision = decided(&[before, retry], "1");
    assert_eq!(decision.reason, Reason::Ran(Why::Retry));
    assert_eq!(decision.about.unwrap().step_index, 0);
}

#[test]
fn rows_of_before_oneact_are_shown_and_nothing_is_said_of_why() {
    // Whoever wrote them may have counted as they liked.
    let rows = [history('1', 3), history('2', 20_000_000)];
    assert_eq!(decided(&rows, "3").reason, Reason::History);
    let mut reading = ledger(&rows);
    let nothing = reading.find("5", Some(SESSION)).unwrap_err().to_string();
    assert!(nothing.contains("its steps are 0 to 20000000"), "{nothing}");
    let page = reading
        .answers(Some(SESSION), 1, &Filter::default())
        .unwrap();
    let session = page.session.unwrap();
    assert_eq!((session.opened, session.count), (None, 2));
    assert_eq!(page.steps[0].row.id, rows[1].id);
    let row = reading.find(&rows[0].id, None).unwrap();
    assert!(reading.whole_of(row).unwrap().links.is_empty());
}

#[test]
fn a_reason_of_a_later_oneact_is_told_as_it_stands() {
    let strange = Row {
        reason: Some("moon_phase".to_owned()),
        ..row(1, 0)
    };
    let reason = decided(&[strange], "0").reason;
    assert_eq!(reason, Reason::Other("moon_phase".to_owned()));
}

#[test]
fn every_reason_is_read_back_as_it_was_written() {
    let plain = [Why::New, Why::Retry, Why::Repeat, Why::TakenOver];
    for why in plain.into_iter().chain(MISSES.map(Why::Miss)) {
        assert_eq!(Why::read(why.name()), Some(why));
    }
    assert_eq!(Why::read(""), None);
}
