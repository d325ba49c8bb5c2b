//! Each rule of the risk is needed, and no statement lowers a risk.

use super::*;

fn effects([read_only, destructive, idempotent, open_world]: [bool; 4]) -> Effects {
    Effects {
        read_only: Some(read_only),
        destructive: Some(destructive),
        idempotent: Some(idempotent),
        open_world: Some(open_world),
    }
}

/// Adds or changes, can be repeated, in a closed world.
fn adds() -> Hazards {
    Hazards {
        effects: effects([false, false, true, false]),
        ..Hazards::default()
    }
}

fn amplified(text: &str) -> Hazards {
    Hazards {
        amplifiers: Amplifiers::read(&toml::from_str(text).unwrap()).unwrap(),
        ..adds()
    }
}

fn with(effects: Effects) -> Hazards {
    Hazards {
        effects,
        ..Hazards::default()
    }
}

/// An action, and the risk of design §3.2.
fn cases() -> Vec<(Hazards, Risk)> {
    let irreversible = "reversibility = \"irreversible\"\n";
    let regretted = "regret_potential = \"high\"\n";
    vec![
        (with(effects([true, false, false, true])), Risk::Low),
        (adds(), Risk::Low),
        (with(effects([false, false, true, true])), Risk::Medium),
        (with(effects([false, false, false, false])), Risk::Medium),
        (amplified("reversibility = \"partial\""), Risk::Medium),
        (amplified("regret_potential = \"medium\""), Risk::Medium),
        (with(effects([false, true, true, false])), Risk::High),
        (amplified(irreversible), Risk::High),
        (amplified(regretted), Risk::High),
        (
            amplified(&format!("{irreversible}{regretted}")),
            Risk::Critical,
        ),
        (with(Effects::default()), Risk::High),
        (
            Hazards {
                backup: Backup::Kept,
                ..with(effects([false, true, false, false]))
            },
            Risk::Medium,
        ),
    ]
}

#[test]
fn every_action_has_the_risk_of_the_table() {
    for (hazards, risk) in cases() {
        assert_eq!(assess(&hazards).risk, risk, "{hazards:?}");
    }
}

#[test]
fn every_rule_is_needed() {
    for (left_out, rule) in RULES.iter().enumerate() {
        let others = RULES
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != left_out)
            .map(|(_, rule)| rule);
        let differs = cases()
            .into_iter()
            .any(|(hazards, risk)| by(others.clone(), &hazards).risk != risk);
        assert!(differs, "{}", rule.because);
    }
}

#[test]
fn what_a_task_states_raises_a_risk_and_never_lowers_it() {
    let high = assess(&with(effects([false, true, true, false])));
    for stated in Risk::ALL {
        let both = high.clone().max(Assessment::stated(stated));
        assert_eq!(both.risk, stated.max(Risk::High));
        assert!(!both.because.is_empty());
    }
}

#[test]
fn the_risk_of_several_steps_is_the_highest_with_the_reasons_of_all_steps_of_that_risk() {
    let open = assess(&with(effects([false, false, true, true])));
    let again = assess(&with(effects([false, false, false, false])));
    let high = assess(&with(effects([false, true, true, false])));
    let both = open.clone().max(again.clone());
    assert_eq!(both.risk, Risk::Medium);
    assert_eq!(both.because.len(), 2);
    assert_eq!(both.clone().max(open), both);
    assert_eq!(again.max(high.clone()), high);
}

#[test]
fn the_vocabulary_is_closed_and_other_spellings_are_told() {
    let read = |text: &str| Amplifiers::read(&toml::from_str(text).unwrap());
    for (text, reversibility, regret) in [
        (
            "irreversibility = \"low\"",
            Some(Reversibility::Reversible),
            None,
        ),
        (
            "irreversibility = \"medium\"",
            Some(Reversibility::Partial),
            None,
        ),
        (
            "irreversibility = \"high\"",
            Some(Reversibility::Irreversible),
            None,
        ),
        ("reversible = true", Some(Reversibility::Reversible), None),
        (
            "reversible = false",
            Some(Reversibility::Irreversible),
            None,
        ),
        (
            "regret_potential = \"moderate\"",
            None,
            Some(Regret::Medium),
        ),
    ] {
        let amplifiers = read(text).unwrap();
        assert_eq!(
            (amplifiers.reversibility, amplifiers.regret),
            (reversibility, regret),
            "{text}"
        );
        assert_eq!(amplifiers.respelled.len(), 1, "{text}");
    }
    assert_eq!(
        read("reversibility = \"partial\"").unwrap().respelled.len(),
        0
    );
    for (text, named) in [
        ("regret = \"high\"", "`regret`"),
        ("regret_potential = \"huge\"", "`medium`"),
        ("reversibility = \"low\"", "`irreversible`"),
        ("reversible = \"no\"", "`reversible`"),
        ("reversible = true\nirreversibility = \"high\"", "twice"),
    ] {
        let why = read(text).unwrap_err();
        assert!(why.contains(named), "{text}: {why}");
    }
}

fn hints(text: &str) -> Effects {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_hints_of_a_server_raise_the_risk_and_never_lower_it() {
    let mild =
        r#"{"read_only": false, "destructive": false, "idempotent": true, "open_world": false}"#;
    for (says, server, risk) in [
        (mild, "{}", None),
        (mild, r#"{"read_only": true}"#, None),
        (mild, r#"{"open_world": true}"#, Some(Risk::Medium)),
        (mild, r#"{"idempotent": false}"#, Some(Risk::Medium)),
        (mild, r#"{"destructive": true}"#, Some(Risk::High)),
        (
            r#"{"read_only": true}"#,
            r#"{"read_only": false}"#,
            Some(Risk::High),
        ),
        (r#"{"read_only": true}"#, r#"{"open_world": true}"#, None),
        (
            r#"{"destructive": true}"#,
            r#"{"read_only": true, "destructive": false}"#,
            None,
        ),
        ("{}", r#"{"destructive": true}"#, None),
    ] {
        let entry = Hazards {
            effects: hints(says),
            ..Hazards::default()
        };
        let raised = entry.raised(hints(server));
        assert_eq!(raised.map(|raised| raised.risk), risk, "{says} {server}");
    }
}

#[test]
fn only_a_hint_that_is_worse_than_what_the_entry_says_is_a_difference() {
    let entry = hints(r#"{"read_only": true, "open_world": true}"#);
    let server = hints(r#"{"read_only": false, "destructive": true, "open_world": false}"#);
    assert_eq!(worse(entry, server), [("read_only", false)]);
}
