//! `upload_registrar` on real files.

use super::*;

fn register(from: &str, to: Option<&Path>) -> Result<Value, ToolError> {
    let mut arguments = json!({"file_path": from});
    if let Some(to) = to {
        arguments["output_path"] = json!(to);
    }
    call("upload_registrar", &arguments)
}

#[test]
fn an_upload_is_copied_whole_and_stays_where_it_is() {
    let (folder, target) = folder();
    let upload = folder.path().join("Übung 你好.mp4");
    let bytes = fs::read(medium("fox.mp4")).unwrap();
    fs::write(&upload, &bytes).unwrap();
    let answer = register(upload.to_str().unwrap(), Some(&target)).unwrap();
    assert_eq!(
        answer,
        json!({
            "output_uri": Url::from_file_path(&target).unwrap().as_str(), "bytes": bytes.len(),
            "sha256": sha256(&bytes), "content_type": "video/mp4", "original_name": "Übung 你好.mp4"
        })
    );
    assert_eq!(fs::read(&target).unwrap(), bytes);
    assert_eq!(names(&folder), ["a b.mp4", "Übung 你好.mp4"]);
}

#[test]
fn without_a_place_it_becomes_a_new_temporary_file_of_the_same_ending() {
    let answer = register(medium("fox.wav").to_str().unwrap(), None).unwrap();
    let path = Url::parse(answer["output_uri"].as_str().unwrap()).unwrap();
    let path = path.to_file_path().unwrap();
    assert_eq!(path.extension().unwrap(), "wav");
    assert_eq!(
        fs::read(&path).unwrap(),
        fs::read(medium("fox.wav")).unwrap()
    );
    fs::remove_file(path).unwrap();
}

#[test]
fn nothing_is_overwritten_and_nothing_left_of_a_refusal() {
    let (folder, target) = folder();
    fs::write(&target, "mine").unwrap();
    let upload = medium("fox.wav");
    let error = register(upload.to_str().unwrap(), Some(&target)).unwrap_err();
    assert!(error.to_string().contains("exists already"), "{error}");
    assert_eq!(fs::read(&target).unwrap(), b"mine");
    assert_eq!(names(&folder), ["a b.mp4"]);
}

#[test]
fn only_regular_files_that_are_not_empty_are_registered() {
    let (folder, target) = folder();
    let empty = folder.path().join("empty");
    fs::write(&empty, "").unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    for from in [
        empty.as_path(),
        &pipe,
        folder.path(),
        Path::new("/does/not/exist"),
    ] {
        register(from.to_str().unwrap(), Some(&target)).unwrap_err();
    }
    register("https://a.example/b.mp4", Some(&target)).unwrap_err();
    assert_eq!(names(&folder), ["empty", "pipe"]);
}
