//! What is seen in sets of frames: the visual family on the example servers.

use std::fs;

use serde_json::{Value, json};

use crate::{
    installed::{done, failed, families, ffmpeg, installed, make, perform, result},
    program::Root,
};

/// The photograph of a face that comes with scikit-image.
fn photograph(root: &Root) -> String {
    let find = "import importlib.util, os; \
                print(os.path.dirname(importlib.util.find_spec('skimage').origin))";
    let mut python = root.within(installed("models/bin/python").as_str());
    let output = python.args(["-c", find]).output().unwrap();
    let package = String::from_utf8(output.stdout).unwrap();
    format!("{}/data/astronaut.png", package.trim())
}

/// A set of six frames, `frames.zip`, a second apart: two of a face, two of a QR code that says
/// "task 4711", two of a sign that says "ONEACT TASK 4711" at half its height.
fn frames(root: &Root) {
    let python = installed("models/bin/python");
    let code = "import cv2; code = cv2.QRCodeEncoder.create().encode('task 4711'); \
                code = cv2.resize(code, (300, 300), interpolation=cv2.INTER_NEAREST); \
                cv2.imwrite('code.png', code)";
    make(root, python.as_str(), &["-c", code]);
    let fit = "scale=-1:400,pad=640:480:-1:-1:white";
    let photograph = photograph(root);
    ffmpeg(root, &["-i", &photograph, "-vf", fit, "face.jpg"]);
    ffmpeg(root, &["-i", "code.png", "-vf", fit, "code.jpg"]);
    let white = "color=white:size=640x480";
    let sign = "drawtext=text='ONEACT TASK 4711':fontsize=48:x=20:y=200";
    let drawn = ["-f", "lavfi", "-i", white, "-vf", sign, "-frames:v", "1"];
    ffmpeg(root, &[&drawn[..], &["sign.jpg"]].concat());
    let mut zip = vec!["-m", "zipfile", "-c", "frames.zip"];
    let pictures = ["face", "face", "code", "code", "sign", "sign"];
    let names: Vec<String> = (0..6)
        .map(|at| format!("frame_{:010}ms.jpg", at * 1000))
        .collect();
    for (picture, name) in pictures.iter().zip(&names) {
        fs::copy(
            root.path.join(format!("{picture}.jpg")),
            root.path.join(name),
        )
        .unwrap();
        zip.push(name);
    }
    make(root, python.as_str(), &zip);
}

/// The members `name` of the elements whose `key` is `value`.
fn of<'a>(list: &'a Value, key: &str, value: &str, name: &str) -> Vec<&'a Value> {
    let all = list.as_array().unwrap().iter();
    let some = all.filter(|one| one[key] == value);
    some.map(|one| &one[name]).collect()
}

#[test]
fn faces_codes_and_words_are_found_in_a_set_of_frames() {
    let root = families();
    frames(&root);
    let frames = "frames.zip";
    let found = result(&root, &["CAP-VIS-001"], &[frames]);
    assert_eq!(found["total_frames"], 6);
    let at = |class, member| of(&found["detections"], "class", class, member);
    assert_eq!(at("face", "time_seconds"), [0.0, 1.0], "{found}");
    assert_eq!(at("qr_code", "time_seconds"), [2.0, 3.0], "{found}");
    assert_eq!(at("qr_code", "text"), ["task 4711"; 2], "{found}");
    let codes = json!({"target_classes": ["qr_code"]});
    let answer = perform(&root, &["CAP-VIS-001"], &[frames], &codes);
    assert_eq!(done(&answer)["total_detections"], 2);

    let read = result(&root, &["CAP-VIS-003"], &[frames]);
    let sign = of(&read["texts"], "text", "ONEACT TASK 4711", "time_seconds");
    assert_eq!(sign, [4.0, 5.0], "{read}");
}

#[test]
fn text_is_read_in_the_boxes_of_detections_alone() {
    let root = families();
    frames(&root);
    let boxed = |frame, top| json!({"frame": frame, "box": [0, top, 640, 100]});
    let detections = json!({"frame_set_ref": "frames.zip", "detections": [
        boxed("frame_0000004000ms.jpg", 180), boxed("frame_0000005000ms.jpg", 0)]});
    fs::write(root.path.join("boxes.json"), detections.to_string()).unwrap();
    let read = result(&root, &["CAP-VIS-003"], &["boxes.json"]);
    assert_eq!(read["total_texts"], 1, "{read}");
    assert_eq!(read["texts"][0]["text"], "ONEACT TASK 4711");
    fs::write(root.path.join("other.json"), "{}").unwrap();
    let answer = perform(&root, &["CAP-VIS-003"], &["other.json"], &json!({}));
    assert!(failed(&answer).contains("holds no detection results"));
}

#[test]
fn detections_and_what_is_written_there_are_steps_of_one_task() {
    let root = families();
    frames(&root);
    let read = result(&root, &["CAP-VIS-001", "CAP-VIS-003"], &["frames.zip"]);
    let texts = read["texts"].as_array().unwrap();
    let sign = texts.iter().find(|one| one["text"] == "ONEACT TASK 4711");
    assert_eq!(sign, None, "the sign is in no box of a detection");
}

#[test]
fn pictures_that_are_none_are_refused() {
    let root = families();
    fs::write(root.path.join("note.png"), "this is no picture").unwrap();
    let words = |capability, input, parameters| {
        failed(&perform(&root, &[capability], &[input], &parameters)).to_owned()
    };
    assert!(words("CAP-VIS-001", "note.png", json!({})).contains("no image"));
    assert!(words("CAP-VIS-003", "note.png", json!({})).contains("no image"));
    let dragons = json!({"target_classes": ["dragon"]});
    assert!(words("CAP-VIS-001", "note.png", dragons).contains("knows no dragon"));
}

#[test]
fn frames_taken_from_a_video_are_read_by_the_next_step() {
    let root = families();
    frames(&root);
    let video = [
        "-loop", "1", "-i", "sign.jpg", "-t", "3", "-r", "5", "-pix_fmt", "yuv420p", "v.mp4",
    ];
    ffmpeg(&root, &video);
    let read = result(&root, &["CAP-PRE-003", "CAP-VIS-003"], &["v.mp4"]);
    let sign = of(&read["texts"], "text", "ONEACT TASK 4711", "time_seconds");
    assert!(sign.contains(&&json!(0.0)), "{read}");
}
