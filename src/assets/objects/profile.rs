//! Reads a profile from the files of the AWS command line (`~/.aws/credentials` and `~/.aws/config`): fixed keys,
//! region and endpoint. A profile that gets its keys in another way is refused.

use std::{collections::BTreeMap, fs, io};

use camino::Utf8PathBuf;

use crate::host;

/// What a profile says: the values of [`KEYS`].
pub(super) type Profile = BTreeMap<String, String>;

const KEYS: [&str; 5] = [
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
    "region",
    "endpoint_url",
];

/// Keys that have nothing to do with the access to a bucket.
const WITHOUT_EFFECT: [&str; 2] = ["output", "cli_"];

/// The profile of that name; none if neither file has it.
pub(super) fn profile(name: &str) -> Result<Option<Profile>, String> {
    let mut profile = Profile::default();
    let mut found = false;
    for (variable, usual, section) in [
        ("AWS_CONFIG_FILE", "config", format!("profile {name}")),
        (
            "AWS_SHARED_CREDENTIALS_FILE",
            "credentials",
            name.to_owned(),
        ),
    ] {
        let usual = || {
            Some(
                Utf8PathBuf::from(host::variable("HOME")?)
                    .join(".aws")
                    .join(usual),
            )
        };
        let Some(path) = host::variable(variable).map(Into::into).or_else(usual) else {
            continue;
        };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(format!("`{path}` cannot be read: {error}")),
        };
        found |= read(&mut profile, &text, &[name, &section])
            .map_err(|why| format!("the profile `{name}` in `{path}` {why}"))?;
    }
    Ok(found.then_some(profile))
}

/// Reads the section with one of these names. Whether there is one.
fn read(profile: &mut Profile, text: &str, sections: &[&str]) -> Result<bool, String> {
    let (mut found, mut inside) = (false, false);
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(section) = trimmed.strip_prefix('[') {
            let (section, _) = section.split_once(']').unwrap_or((section, ""));
            let words: Vec<&str> = section.split_whitespace().collect();
            inside = sections.contains(&words.join(" ").as_str());
            found |= inside;
            continue;
        }
        // A line that begins with white space belongs to a key with several values.
        if !inside || line.starts_with([' ', '\t']) {
            continue;
        }
        let (key, value) = trimmed.split_once('=').unwrap_or((trimmed, ""));
        let (key, value) = (key.trim(), value.trim());
        if KEYS.contains(&key) {
            profile.insert(key.to_owned(), value.to_owned());
        } else if !WITHOUT_EFFECT.iter().any(|known| key.starts_with(known)) {
            return Err(format!(
                "has the key `{key}`, which oneact does not read; it reads {}. Set the keys in the environment instead",
                KEYS.join(", ")
            ));
        }
    }
    profile.retain(|_, value| !value.is_empty());
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, name: &str) -> Result<Option<Profile>, String> {
        let mut profile = Profile::default();
        let found = super::read(&mut profile, text, &[name, &format!("profile {name}")])?;
        Ok(found.then_some(profile))
    }

    const TEXT: &str = "# keys\n[default]\naws_access_key_id = A\naws_secret_access_key=b=c\n; more\n\n[profile  dev]\n\
        region = eu-west-1\noutput=json\ncli_pager =\nendpoint_url = http://127.0.0.1:9000\naws_session_token = t\n\
        [profile sso]\nsso_session = x\n[profile nested]\nregion = r\ns3 =\n";

    #[test]
    fn the_keys_of_the_named_profile_are_read_and_no_others() {
        let read_all = |name| {
            let profile = read(TEXT, name).unwrap().unwrap().into_iter();
            profile.collect::<Vec<(String, String)>>()
        };
        let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs
                .iter()
                .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
                .collect()
        };
        let default = [("aws_access_key_id", "A"), ("aws_secret_access_key", "b=c")];
        assert_eq!(read_all("default"), owned(&default));
        let dev = [
            ("aws_session_token", "t"),
            ("endpoint_url", "http://127.0.0.1:9000"),
            ("region", "eu-west-1"),
        ];
        assert_eq!(read_all("dev"), owned(&dev));
        assert!(read(TEXT, "other").unwrap().is_none());
    }

    #[test]
    fn keys_from_elsewhere_are_refused_by_name() {
        for (name, key) in [("sso", "sso_session"), ("nested", "`s3`")] {
            let error = read(TEXT, name).err().unwrap();
            assert!(error.contains(key), "{error}");
        }
    }
}
