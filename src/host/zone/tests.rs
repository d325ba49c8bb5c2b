//! Zones by name, by path and by rule.

use std::fs::File;

use jiff::Timestamp;

use super::*;

#[test]
fn a_zone_read_from_its_file_is_the_one_of_the_database() {
    for name in ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires"] {
        let (Some(ours), Ok(theirs)) = (zone(name), TimeZone::get(name)) else {
            // A machine without the database has neither.
            assert!(zone(name).is_none());
            continue;
        };
        let moment: Timestamp = "2026-07-28T10:00:00Z".parse().unwrap();
        assert_eq!(
            moment.to_zoned(ours).to_string(),
            moment.to_zoned(theirs).to_string()
        );
    }
}

#[test]
fn a_zone_is_found_by_name_by_path_and_by_rule() {
    let moment: Timestamp = "2026-07-28T10:00:00Z".parse().unwrap();
    let hour = |text: &str| named_by(text).map(|zone| moment.to_zoned(zone).hour());
    for utc in ["", ":", "UTC0"] {
        assert_eq!(hour(utc), Some(10), "{utc:?}");
    }
    assert_eq!(hour("CET-1CEST,M3.5.0,M10.5.0/3"), Some(12));
    let by_path = format!("{ZONEINFO}/Europe/Berlin");
    if Path::new(&by_path).exists() {
        for berlin in [
            "Europe/Berlin",
            ":Europe/Berlin",
            &by_path,
            &format!(":{by_path}"),
        ] {
            assert_eq!(hour(berlin), Some(12), "{berlin}");
        }
    }
}

#[test]
fn no_pipe_device_or_endless_file_is_taken_for_a_zone() {
    let keep = tempfile::tempdir().unwrap();
    let pipe = keep.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let long = keep.path().join("long");
    File::create(&long).unwrap().set_len(1 << 40).unwrap();
    let link = keep.path().join("link");
    std::os::unix::fs::symlink(&pipe, &link).unwrap();
    for path in [
        pipe.as_path(),
        &long,
        &link,
        keep.path(),
        Path::new("/dev/zero"),
    ] {
        let path = path.to_str().unwrap();
        for text in [path.to_owned(), format!(":{path}")] {
            assert!(named_by(&text).is_none(), "{text}");
        }
    }
    assert!(named_by("../../../../../dev/zero").is_none());
    assert!(named_by("Nowhere/Here").is_none());
}

#[test]
fn what_is_no_iana_name_is_none_of_the_database() {
    for name in [
        "",
        ":Europe/Berlin",
        "../etc/passwd",
        "Europe/../../x",
        "/etc/localtime",
        "CET-1CEST",
        "Nowhere/Here",
    ] {
        assert!(zone(name).is_none(), "{name}");
    }
}
