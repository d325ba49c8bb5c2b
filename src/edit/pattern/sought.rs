//! What is sought in a text, and how often it must be there.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// Exactly so often, and all of them are replaced. Once, unless the plan says otherwise.
    Exactly(u64),
    /// At least once, and all of them are replaced.
    All,
}

/// What the plan calls the text that is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sought {
    Pattern,
    OldString,
}

impl Sought {
    /// What to do if all occurrences are meant.
    pub(super) const fn all_of_them(self) -> &'static str {
        match self {
            Self::Pattern => "give the count",
            Self::OldString => "write `\"replace_all\": true`",
        }
    }
}

impl std::fmt::Display for Sought {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Pattern => "the text to replace",
            Self::OldString => "`old_string`",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternError {
    #[error("the pattern is empty; say what to replace")]
    Empty,
    #[error("the pattern is no regular expression: {0}")]
    Syntax(String),
    #[error(
        "the pattern becomes larger than {} KiB when compiled; use smaller repetitions",
        .most >> 10
    )]
    TooLarge { most: usize },
}
