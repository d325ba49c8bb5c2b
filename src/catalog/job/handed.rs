//! Objects of a store that a tool cannot read by itself: it gets a copy in the scratch directory, or a presigned URL.

use camino::{Utf8Path, Utf8PathBuf};

use crate::task::{Location, Uri};

use crate::catalog::entry::bind::Form;

/// An object that a tool gets in another form. The run makes the copy or the URL just before the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Handed {
    pub(crate) uri: Uri,
    pub(crate) way: Way,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Way {
    /// A file in the scratch directory, which the parameter names.
    Copy(Utf8PathBuf),
    /// The parameter at this JSON Pointer keeps the URI of the object in everything that is recorded; only the tool gets
    /// the URL.
    Presigned(String),
}

impl Handed {
    /// How the parameter at `to` gets the object at `uri`; none if the tool gets the URI as it is. `label` is unique among
    /// the inputs of the step.
    pub(crate) fn of(
        uri: &Uri,
        form: Form,
        to: &str,
        scratch: &Utf8Path,
        label: &str,
    ) -> Option<Self> {
        let Location::Object { key, .. } = uri.location() else {
            return None;
        };
        let way = match form {
            Form::Uri => return None,
            Form::Presigned => Way::Presigned(to.to_owned()),
            Form::Path => Way::Copy(scratch.join(format!("input-{label}{}", ending(key)))),
        };
        Some(Self {
            uri: uri.clone(),
            way,
        })
    }

    /// What the parameter says of it.
    pub(crate) fn shown(&self) -> String {
        match &self.way {
            Way::Copy(path) => path.to_string(),
            Way::Presigned(_) => self.uri.as_str().to_owned(),
        }
    }
}

/// The ending of the last part of a key, with its dot. Tools often know a format by it.
fn ending(key: &str) -> String {
    let name = key.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_plain = ending.len() <= 10 && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match ending {
        "" => String::new(),
        ending if is_plain => format!(".{ending}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_ending_of_its_object_and_nothing_else_of_its_name() {
        let shown = |uri: &str, form| {
            let uri = Uri::parse(uri).unwrap();
            let handed = Handed::of(&uri, form, "/a", Utf8Path::new("/s"), "1-store_1");
            handed.map(|handed| handed.shown())
        };
        for (uri, path) in [
            ("s3://b/a/b.wav", "/s/input-1-store_1.wav"),
            ("s3://b/a.d/b", "/s/input-1-store_1"),
            ("gs://b/x.$(id)", "/s/input-1-store_1"),
        ] {
            assert_eq!(shown(uri, Form::Path).as_deref(), Some(path));
        }
        assert_eq!(
            shown("az://b/k", Form::Presigned).as_deref(),
            Some("az://b/k")
        );
        assert_eq!(shown("s3://b/k", Form::Uri), None);
        assert_eq!(shown("/a/b", Form::Path), None);
    }
}
