//! Which files are protected, in every spelling, and which are not.

use super::*;

fn protected(kept: &Kept, forbidden: &[&str], configured: &[&str]) -> Protected {
    let parsed = |texts: &[&str]| {
        let parsed = texts.iter().map(|text| PathPattern::parse(text).unwrap());
        parsed.collect::<Vec<_>>()
    };
    let (forbidden, configured) = (parsed(forbidden), parsed(configured));
    Protected::with(kept, &ProtectionRules::default(), &forbidden, &configured).unwrap()
}

fn class(path: &str) -> Option<Class> {
    let protected = protected(&Kept::default(), &[], &[]);
    protected
        .class_of(&RelPath::parse(path).unwrap())
        .map(|(class, _)| class)
}

#[test]
fn every_file_of_001_9_1_is_protected_r_001_154_to_156() {
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        ".env",
        ".env.local",
        "credentials.json",
        "secrets.yaml",
    ] {
        assert_eq!(class(path), Some(Class::Critical), "{path}");
    }
    for path in [
        "requirements.txt",
        "pyproject.toml",
        "setup.py",
        ".pre-commit-config.yaml",
    ] {
        assert_eq!(class(path), Some(Class::Important), "{path}");
    }
    for path in [
        "agent/agent_rules.md",
        "agent_inspector/agent_inspector.md",
        "agent_executor/agent_executor.md",
        "catalog.toml",
    ] {
        assert_eq!(class(path), Some(Class::AgentSystem), "{path}");
    }
}

#[test]
fn names_are_protected_in_every_directory_and_paths_at_the_root() {
    for path in [
        "sub/.git/config",
        "a/b/.env",
        "deploy/secrets.d/key",
        "py/setup.py",
        ".git",
    ] {
        assert!(class(path).is_some(), "{path}");
    }
    assert_eq!(class("docs/agent/agent_rules.md"), None);
}

#[test]
fn a_name_that_only_resembles_a_protected_one_is_free() {
    for path in [
        ".gitignore",
        "environment",
        ".github/CODEOWNERS",
        ".vscode/settings.json",
        "my_credentials.json",
        "secrets",
        "setup.pyc",
        "git~2",
        "agent/agent_rules.md.bak",
    ] {
        assert_eq!(class(path), None, "{path}");
    }
}

#[test]
fn no_spelling_that_a_lax_file_system_takes_for_the_name_escapes() {
    for path in [
        ".GIT/config",
        ".Env",
        ".g\u{200C}it/config",
        ".\u{FEFF}git/config",
        ".gi\u{206A}t/hooks/x",
        ".git\u{AD}/x",
        "．ｇｉｔ/config",
        "\u{2024}env",
        "\u{17F}ecrets.yml",
        ".git./config",
        ".git /config",
        ".git. ./config",
        "git~1/config",
        "GIT~1/config",
        ".git::$INDEX_ALLOCATION/config",
        ".env:stream",
        "setup.py.",
        "CREDENTIALS.JSON ",
    ] {
        assert!(class(path).is_some(), "{path:?}");
    }
}

#[test]
fn the_configurations_patterns_protect_too_and_are_named() {
    let patterns = ["*.key", "config/prod/", "/only/here.txt", "**/deep/[A-C]*"];
    let protected = protected(&Kept::default(), &[], &patterns);
    let found = |path: &str| {
        protected
            .class_of(&RelPath::parse(path).unwrap())
            .map(|(class, pattern)| (class, pattern.to_owned()))
    };
    for (path, pattern) in [
        ("a/b/tls.KEY", "*.key"),
        ("config/prod/x/y", "config/prod/"),
        ("only/here.txt", "/only/here.txt"),
        ("x/deep/Bond", "**/deep/[A-C]*"),
    ] {
        assert_eq!(found(path), Some((Class::Configured, pattern.to_owned())));
    }
    assert_eq!(found("x/config/prod/y"), None);
    assert_eq!(found("x/deep/delta"), None);
    assert_eq!(found(".env").unwrap().0, Class::Critical);
}

#[test]
fn oneacts_own_files_are_forbidden_and_its_other_outputs_are_not() {
    let own = ["data/ledger.sqlite", "var/State", "kept/Store/.incoming"];
    let own = own.map(|path| RelPath::parse(path).unwrap());
    let own = own.to_vec();
    let kept = Kept {
        own,
        ..Kept::default()
    };
    let protected = protected(&kept, &["*.lock"], &[]);
    let by = |path: &str| {
        protected
            .class_of(&RelPath::parse(path).unwrap())
            .map(|(class, _)| class)
    };
    for path in [
        ".oneact/ledger.sqlite",
        ".OneAct/x",
        "agent_outputs/reports/1/rollback_manifest.json",
        "agent_logs/executor/x.log",
        "sub/.oneact/ledger.db",
        "sub/deep/agent_outputs/reports/.unfinished/x",
        "Sub/Agent_Outputs/Reports./1/journal",
        "sub/agent_logs/executor/x.log",
        "agent_outputs/reports",
        "data/ledger.sqlite",
        "DATA/ledger.sqlite",
        "data/ledger.sqlite.",
        "data./ledger.sqlite::$DATA",
        "var/state/outbox/x.json",
        "var/State",
        "kept/store/.incoming/x",
    ] {
        assert_eq!(by(path), Some(Class::Own), "{path}");
    }
    let displaces = |path: &str| protected.displaces(&RelPath::parse(path).unwrap());
    for path in [
        "var",
        "Data.",
        "kept",
        "kept/store",
        "kept/store/s9",
        "kept/store./s9",
        "kept/store/s9/d1.txt/x",
        "agent_logs",
        "Agent_Logs.",
        "AGENT_OUTPUTS::$DATA",
        "sub/agent_outputs",
        "sub/deep/\u{FF41}gent_logs",
        "sub/agent_outputs/assets",
        "sub/Agent_Outputs /Assets/s9",
    ] {
        assert!(displaces(path), "{path}");
    }
    for free in [
        "data/ledger.sqlite.md",
        "data/ledger",
        "var/States",
        "var/x",
        "va",
        "x/var/State",
        "kept/store/s9/d1.txt",
        "kept/stores",
        "kep",
        "agent_outputs/notes.md",
        "agent_logs/notes.md",
        "sub/agent_outputs.md",
        "sub/agent_outputs/assets/s9/d1.txt",
    ] {
        assert!(by(free).is_none() && !displaces(free), "{free}");
    }
    // As directories they may be made.
    for dir in [
        "var",
        "data",
        "kept/store/s9",
        "sub/agent_outputs",
        "agent_logs",
    ] {
        assert_eq!(by(dir), None, "{dir}");
    }
    assert_eq!(by("a/Cargo.lock"), Some(Class::Forbidden));
    assert_eq!(by("agent_outputs/notes.md"), None);
}

#[test]
fn what_other_programs_run_is_of_the_class_executes_at_any_depth() {
    for path in [
        ".github/workflows/ci.yml",
        "sub/.GitHub/workflows/ci.yml",
        ".gitlab-ci.yml",
        "a/.husky/pre-push",
        ".githooks/x",
        "sub/.envrc",
        "a/b/.vscode/tasks.json",
        ".mcp.json",
        "x/.claude/settings.json",
        ".cursor/mcp.json",
        "home/.ssh/authorized_keys",
        ".gitmodules",
        ".ENVRC.",
    ] {
        assert_eq!(class(path), Some(Class::Executes), "{path}");
    }
}

#[test]
fn the_programs_of_servers_are_of_the_class_executes_and_exceptions_are_not() {
    let path = |text: &str| RelPath::parse(text).unwrap();
    let kept = Kept {
        programs: vec![path("tools/s.py"), path(".husky/x")],
        ..Kept::default()
    };
    let mut rules = ProtectionRules::default();
    rules.executes.as_mut().unwrap().except = vec![PathPattern::parse(".husky").unwrap()];
    let with = |rules: &ProtectionRules| Protected::with(&kept, rules, &[], &[]).unwrap();
    let protected = with(&rules);
    let of = |text: &str| protected.class_of(&path(text)).map(|(class, _)| class);
    assert_eq!(of("Tools/s.py"), Some(Class::Executes));
    assert_eq!(of("tools/s.py.bak"), None);
    assert_eq!(of(".husky/x"), None);
    assert_eq!(of(".envrc"), Some(Class::Executes));
    assert!(protected.counts(&path("run.sh")));
    assert!(!protected.counts(&path(".husky/y")));
    // On most file systems, this is another directory.
    assert!(protected.counts(&path(".Husky/y")));
    rules.executes = None;
    let undoing = with(&rules);
    for free in ["tools/s.py", ".envrc", "run.sh"] {
        assert_eq!(undoing.class_of(&path(free)), None, "{free}");
        assert!(!undoing.counts(&path(free)), "{free}");
    }
    assert!(undoing.class_of(&path(".git/config")).is_some());
}
