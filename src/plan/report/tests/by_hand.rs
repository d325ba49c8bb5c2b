//! What the reports tell a person to do, done by a shell.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::Command,
};

use super::{
    super::manifest::by_hand::{self, ManualStep},
    *,
};

fn put(root: &Path, name: &str, text: &str, mode: u32) {
    let at = root.join(name);
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    fs::write(&at, text).unwrap();
    let modified = MODIFIED.parse::<Timestamp>().unwrap();
    fs::File::options()
        .append(true)
        .open(&at)
        .unwrap()
        .set_modified(modified.into())
        .unwrap();
    fs::set_permissions(&at, fs::Permissions::from_mode(mode)).unwrap();
}

/// The tree after the plan, with its backups.
fn applied() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for told in &TOLD {
        if let Some(text) = told.after {
            put(root.path(), told.path, text, told.mode);
        }
        if let Some(text) = told.before {
            let name = told.from.unwrap_or(told.path);
            put(root.path(), &backup(&path(name)), text, told.mode);
        }
    }
    root
}

/// Fails unless every file is as it was before the plan: content, mode, time; and nothing else is there.
fn assert_as_before(root: &Path) {
    for told in &TOLD {
        let name = told.from.unwrap_or(told.path);
        let Some(text) = told.before else {
            assert!(!root.join(name).exists(), "{name}");
            continue;
        };
        let at = root.join(name);
        assert_eq!(fs::read_to_string(&at).unwrap(), text, "{name}");
        let meta = fs::metadata(&at).unwrap();
        assert_eq!(meta.permissions().mode() & 0o7777, told.mode, "{name}");
        assert_eq!(meta.mtime_nsec(), 123_456_789, "{name}");
    }
    assert!(!root.join("src/-renamed.txt").exists());
    assert!(!root.join("new dir").exists());
}

fn sh(root: &Path, script: &str) {
    let ran = Command::new("sh")
        .args(["-eu", "-c", script])
        .current_dir(root)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{script}\n{said}");
}

#[test]
fn the_notes_suffice_to_restore_everything_by_hand_r_001_68() {
    let root = applied();
    let notes = by_hand::manual(&manifest_of(story()));
    let lines = || notes.lines().map(str::trim);
    let commands: Vec<&str> = lines()
        .filter_map(|line| line.strip_prefix("do: "))
        .collect();
    assert_eq!(commands.len(), 6, "{notes}");
    // The checks, too, are what they say: run before and after.
    let checks = |kind: &str| -> Vec<String> {
        let kept = lines().filter_map(|line| line.strip_prefix(kind).map(str::to_owned));
        kept.collect()
    };
    let check = |said: &str| {
        if let Some(name) = said.strip_prefix("there is no ") {
            return sh(root.path(), &format!("test ! -e {name}"));
        }
        let said = said.strip_prefix('`').unwrap();
        let (command, hash) = said.split_once("` prints ").unwrap();
        let compared = format!("case \"$({command})\" in {hash}\\ *) ;; *) exit 1 ;; esac");
        sh(root.path(), &compared);
    };
    let (before, after) = (checks("before: "), checks("after: "));
    for (n, command) in commands.iter().enumerate() {
        before.get(n).into_iter().for_each(|said| check(said));
        sh(root.path(), command);
        after.get(n).into_iter().for_each(|said| check(said));
    }
    assert_as_before(root.path());
}

#[test]
fn a_renamed_file_that_was_changed_too_is_restored_from_its_backup() {
    let root = tempfile::tempdir().unwrap();
    let mut story = story();
    let renamed = Told {
        after: Some("kept, and more\n"),
        ..TOLD[3]
    };
    put(root.path(), renamed.path, "kept, and more\n", 0o644);
    put(root.path(), &backup(&path("name.txt")), "kept\n", 0o600);
    story.undo.as_mut().unwrap().changes = vec![change(&renamed)];
    let manifest = manifest_of(story);
    let step = ManualStep::of(&manifest.checkpoints[0]);
    sh(root.path(), &step.command);
    assert_eq!(
        fs::read_to_string(root.path().join("name.txt")).unwrap(),
        "kept\n"
    );
    assert!(!root.path().join(renamed.path).exists());
}

/// The backup lacks the bits if the plan could not keep the owner.
#[test]
fn a_restored_file_has_the_set_user_id_bits_of_its_backup_alone() {
    let mut story = story();
    let told_of = Told {
        mode: 0o6755,
        ..TOLD[1]
    };
    story.undo.as_mut().unwrap().changes = vec![change(&told_of)];
    let manifest = manifest_of(story);
    for mode in [0o755, 0o6755] {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), told_of.path, "new\n", 0o755);
        put(root.path(), &backup(&path(told_of.path)), "old\n", mode);
        sh(
            root.path(),
            &ManualStep::of(&manifest.checkpoints[0]).command,
        );
        let meta = fs::metadata(root.path().join(told_of.path)).unwrap();
        assert_eq!(meta.permissions().mode() & 0o7777, mode);
    }
}

#[test]
fn the_script_calls_oneact_with_its_own_directory_c_28() {
    let root = applied();
    let script = script(&manifest_of(story()));
    put(root.path(), &run().file(SCRIPT), &script, 0o755);
    put(
        root.path(),
        "bin/oneact",
        "#!/bin/sh\nprintf '%s\\n' \"$@\"; cd \"$ONEACT_ROOT\" && pwd -P\n",
        0o755,
    );
    let ran = Command::new(root.path().join(run().file(SCRIPT)))
        .args(["--checkpoint", "x y"])
        .current_dir("/")
        .env(
            "PATH",
            format!("{}/bin:/usr/bin:/bin", root.path().display()),
        )
        .output()
        .unwrap();
    let real = fs::canonicalize(root.path()).unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    let expected = format!(
        "rollback\n{real}/{directory}\n--checkpoint\nx y\n{real}\n",
        real = real.display(),
        directory = run().directory
    );
    assert_eq!(said, expected, "{}", String::from_utf8_lossy(&ran.stderr));
    let code: Vec<&str> = script
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    assert_eq!(code.len(), 5, "{script}");
}

#[test]
fn no_name_gets_out_of_the_comments_or_the_quotes() {
    let mut story = story();
    story.run.plan_id = "x\ntouch pwned\r\u{85}rm -rf /".to_owned();
    let name = "'; touch pwned; '$(touch pwned)`touch pwned`";
    let odd = Told {
        path: name,
        ..TOLD[0]
    };
    story.undo.as_mut().unwrap().changes = vec![change(&odd)];
    let manifest = manifest_of(story);
    let root = tempfile::tempdir().unwrap();
    put(root.path(), name, "new\n", 0o644);
    put(root.path(), "r/rollback.sh", &script(&manifest), 0o755);
    put(root.path(), "bin/oneact", "#!/bin/sh\n", 0o755);
    let ran = Command::new(root.path().join("r/rollback.sh"))
        .current_dir(root.path())
        .env(
            "PATH",
            format!("{}/bin:/usr/bin:/bin", root.path().display()),
        )
        .status()
        .unwrap();
    assert!(ran.success());
    sh(
        root.path(),
        &ManualStep::of(&manifest.checkpoints[0]).command,
    );
    assert!(!root.path().join("pwned").exists());
    assert!(!root.path().join(name).exists());
}
