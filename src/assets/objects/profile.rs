//! Reads a profile from the files of the AWS command line (`~/.aws/credentials` and `~/.aws/config`): fixed keys,
//! region and endpoint. A profile that gets its keys in another way is refused.

use std::{fs, io};

use camino::Utf8PathBuf;
use url::Url;

use crate::host;

/// What a profile says.
#[derive(Default, PartialEq, Eq)]
pub(super) struct Profile {
    pub(super) key_id: Option<String>,
    pub(super) secret_key: Option<String>,
    pub(super) token: Option<String>,
    pub(super) region: Option<String>,
    pub(super) endpoint: Option<Url>,
}

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
        found |= profile
            .read(&text, &[name, &section])
            .map_err(|why| format!("the profile `{name}` in `{path}` {why}"))?;
    }
    Ok(found.then_some(profile))
}

impl Profile {
    /// Reads the section with one of these names. Whether there is one.
    fn read(&mut self, text: &str, sections: &[&str]) -> Result<bool, String> {
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
            } else if inside {
                let (key, value) = trimmed.split_once('=').unwrap_or((trimmed, ""));
                // A line that begins with white space belongs to a key with several values.
                let nested = line.starts_with([' ', '\t']);
                self.take(key.trim(), value.trim(), nested)?;
            }
        }
        Ok(found)
    }

    fn take(&mut self, key: &str, value: &str, nested: bool) -> Result<(), String> {
        let said = (!value.is_empty()).then(|| value.to_owned());
        match key {
            _ if nested => {}
            "aws_access_key_id" => self.key_id = said,
            "aws_secret_access_key" => self.secret_key = said,
            "aws_session_token" => self.token = said,
            "region" => self.region = said,
            "endpoint_url" => {
                let endpoint = Url::parse(value)
                    .map_err(|error| format!("has an `endpoint_url` that is no URL: {error}"))?;
                self.endpoint = Some(endpoint);
            }
            _ if WITHOUT_EFFECT.iter().any(|known| key.starts_with(known)) => {}
            other => {
                return Err(format!(
                    "has the key `{other}`, which oneact does not read; it reads aws_access_key_id, aws_secret_access_key, \
                     aws_session_token, region and endpoint_url. Set the keys in the environment instead"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, name: &str) -> Result<Option<Profile>, String> {
        let mut profile = Profile::default();
        let found = profile.read(text, &[name, &format!("profile {name}")])?;
        Ok(found.then_some(profile))
    }

    const TEXT: &str = "# keys\n[default]\naws_access_key_id = A\naws_secret_access_key=b=c\n; more\n\n[profile  dev]\n\
        region = eu-west-1\noutput=json\ncli_pager =\nendpoint_url = http://127.0.0.1:9000\naws_session_token = t\n\
        [profile sso]\nsso_session = x\n[profile nested]\nregion = r\ns3 =\n";

    #[test]
    fn the_keys_of_the_named_profile_are_read_and_no_others() {
        let default = read(TEXT, "default").unwrap().unwrap();
        assert_eq!(default.key_id.as_deref(), Some("A"));
        assert_eq!(default.secret_key.as_deref(), Some("b=c"));
        assert_eq!(default.region, None);
        let dev = read(TEXT, "dev").unwrap().unwrap();
        assert_eq!(dev.region.as_deref(), Some("eu-west-1"));
        assert_eq!(dev.token.as_deref(), Some("t"));
        assert_eq!(dev.endpoint.unwrap().port(), Some(9000));
        assert_eq!(dev.key_id, None);
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
