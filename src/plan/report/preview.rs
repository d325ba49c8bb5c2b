//! What a plan would do, as one hash: shown by a dry run, and demanded by `--expect`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    plan::record::ChangeKind,
    task::{RelPath, canonical, hexadecimal},
};

/// SHA-256 over the plan and over every file before and after it, printed `sha256:…`. The same hash is
/// the same change: of a tree that has moved since, or by a plan that differs, it is another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct PreviewHash(String);

/// What a plan would do to one file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Foreseen {
    pub(crate) path: RelPath,
    /// Where a renamed file comes from.
    pub(crate) from: Option<RelPath>,
    pub(crate) kind: ChangeKind,
    /// SHA-256 in lower-case hexadecimal; none where no file is.
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    /// Permission bits afterwards; none for a deletion.
    pub(crate) mode: Option<u32>,
}

const PREFIX: &str = "sha256:";

impl PreviewHash {
    /// `plan`: the plan's canonical JSON (RFC 8785). The order of the files does not matter.
    pub(crate) fn of(plan: &[u8], mut files: Vec<Foreseen>) -> Self {
        #[derive(Serialize)]
        struct Whole {
            plan_sha256: String,
            files: Vec<Foreseen>,
        }
        files.sort();
        let whole = Whole {
            plan_sha256: hexadecimal(&Sha256::digest(plan)),
            files,
        };
        // Strings and small numbers alone: it cannot fail. Were it to, no hash given to `--expect` fits.
        let text = serde_json::to_value(&whole).and_then(|whole| canonical(&whole));
        Self(format!(
            "{PREFIX}{}",
            hexadecimal(&Sha256::digest(text.unwrap_or_default()))
        ))
    }
}

impl PreviewHash {
    /// The text, `sha256:…`.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for PreviewHash {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits = text.strip_prefix(PREFIX).unwrap_or_default();
        let fits = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() == 64 && digits.bytes().all(fits) {
            Ok(Self(text))
        } else {
            Err(format!(
                "`{text}` is no preview hash; give `sha256:` and 64 lower-case hexadecimal digits, as \
                 --dry-run prints them"
            ))
        }
    }
}

impl FromStr for PreviewHash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::try_from(text.to_owned())
    }
}

impl From<PreviewHash> for String {
    fn from(hash: PreviewHash) -> Self {
        hash.0
    }
}

impl fmt::Display for PreviewHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> Foreseen {
        Foreseen {
            path: RelPath::parse(path).unwrap(),
            from: None,
            kind: ChangeKind::Modify,
            before: Some("00".repeat(32)),
            after: Some("11".repeat(32)),
            mode: Some(0o644),
        }
    }

    #[test]
    fn the_hash_is_the_sha_256_of_canonical_json() {
        let plan = hexadecimal(&Sha256::digest(b"{}"));
        let (zero, one) = ("00".repeat(32), "11".repeat(32));
        let text = format!(
            r#"{{"files":[{{"after":"{one}","before":"{zero}","from":null,"kind":"MODIFY","mode":420,"path":"a"}}],"plan_sha256":"{plan}"}}"#
        );
        let expected = format!("sha256:{}", hexadecimal(&Sha256::digest(text)));
        assert_eq!(
            PreviewHash::of(b"{}", vec![file("a")]).to_string(),
            expected
        );
    }

    #[test]
    fn every_part_counts_and_the_order_of_files_does_not() {
        let hash = |plan: &str, files| PreviewHash::of(plan.as_bytes(), files);
        let first = hash("{}", vec![file("a"), file("b")]);
        assert_eq!(first, hash("{}", vec![file("b"), file("a")]));
        let changed: [fn(&mut Foreseen); 6] = [
            |file| file.path = RelPath::parse("c").unwrap(),
            |file| file.from = Some(RelPath::parse("c").unwrap()),
            |file| file.kind = ChangeKind::Delete,
            |file| file.before = None,
            |file| file.after = None,
            |file| file.mode = Some(0o600),
        ];
        for change in changed {
            let mut other = file("b");
            change(&mut other);
            assert_ne!(first, hash("{}", vec![file("a"), other]));
        }
        assert_ne!(first, hash("[]", vec![file("a"), file("b")]));
    }

    #[test]
    fn what_is_printed_is_read_and_nothing_else() {
        let hash = PreviewHash::of(b"{}", Vec::new());
        assert_eq!(hash.to_string().parse(), Ok(hash.clone()));
        let upper = hash.to_string().to_uppercase();
        for bad in ["", "sha256:", &hash.to_string()[7..], &upper, "sha256:zz"] {
            assert!(bad.parse::<PreviewHash>().is_err(), "{bad}");
        }
    }
}
