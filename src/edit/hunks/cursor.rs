//! Reads the lines of a diff, and its hunks among them.

use super::{Counts, DiffError, End, Hunk, Line, Mark, Ranges, Reach};

/// Reads a diff line by line. Where every line ends with a carriage return, it is left out.
#[derive(Debug)]
pub(crate) struct Cursor<'t> {
    lines: Vec<&'t str>,
    /// The next line, counted from 0.
    pub(crate) at: usize,
    pub(crate) returns: Returns,
}

/// Whether the lines of a diff end with a carriage return and a line feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Returns {
    /// As if the whole text had been checked out so.
    Everywhere,
    Kept,
}

/// Where a body ends.
#[derive(Debug, Clone, Copy)]
enum Until {
    /// After so many old and new lines.
    Counts(usize, usize),
    /// Before this line, counted from 0.
    Line(usize),
}

/// Whether `-- ` can end the body, as in a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mails {
    End,
    None,
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let whole = text.strip_suffix('\n').unwrap_or(text);
        let mut lines: Vec<&str> = whole.split('\n').collect();
        if text.is_empty() {
            lines.clear();
        }
        let everywhere = !lines.is_empty() && lines.iter().all(|line| line.ends_with('\r'));
        if everywhere {
            for line in &mut lines {
                *line = line.strip_suffix('\r').unwrap_or(line);
            }
        }
        let returns = if everywhere {
            Returns::Everywhere
        } else {
            Returns::Kept
        };
        Self {
            lines,
            at: 0,
            returns,
        }
    }

    pub(crate) fn peek(&self) -> Option<&'t str> {
        self.line(self.at)
    }

    pub(crate) fn line(&self, at: usize) -> Option<&'t str> {
        self.lines.get(at).copied()
    }

    pub(crate) fn error(&self, problem: impl Into<String>) -> DiffError {
        error_at(self.at, problem)
    }

    /// The lines of that range as they were written.
    pub(crate) fn text(&self, from: usize, to: usize) -> String {
        let lines = self.lines.get(from..to).unwrap_or_default();
        lines.iter().map(|line| self.written(line)).collect()
    }

    /// A line with the end that the lines of the diff have.
    pub(crate) fn written(&self, line: &str) -> String {
        let end = match self.returns {
            Returns::Everywhere => "\r\n",
            Returns::Kept => "\n",
        };
        format!("{line}{end}")
    }

    /// Whether the header lines of a file begin there: `--- a/x` and `+++ b/x`.
    pub(crate) fn has_names(&self, at: usize) -> bool {
        let begins = |at, mark| self.line(at).is_some_and(|line| line.starts_with(mark));
        begins(at, "--- ") && begins(at + 1, "+++ ")
    }

    /// The end of a mail (`-- ` and the version of the program).
    pub(crate) fn is_signature(&self, at: usize) -> bool {
        let next = self.line(at + 1);
        self.line(at) == Some("-- ")
            && next.is_none_or(|next| {
                next.is_empty() || next.starts_with(|c: char| c.is_ascii_digit())
            })
    }

    /// Whether a file begins there, or something else that is said of one.
    pub(crate) fn begins_file(&self, at: usize) -> bool {
        const BEGINS: [&str; 9] = [
            "diff ",
            "Index: ",
            "Only in ",
            "Binary files ",
            "Files ",
            "Property changes on: ",
            "Submodule ",
            "*** ",
            "***************",
        ];
        let line = self.line(at).unwrap_or_default();
        BEGINS.iter().any(|begin| line.starts_with(begin)) || self.has_names(at)
    }

    /// Skips the text between the hunks of a file and the next file. What could be a line of the last hunk is an error.
    pub(crate) fn skip_text(&mut self) -> Result<(), DiffError> {
        const BELOW: [&str; 6] = ["```", "# ", "From ", "commit ", "====", "</"];
        let first = self.at;
        let mut is_free = false;
        while let Some(line) = self.peek().filter(|_| !self.begins_file(self.at)) {
            let is_below =
                self.is_blank(self.at) || BELOW.iter().any(|begin| line.starts_with(begin));
            if line.starts_with("```") || self.is_signature(self.at) {
                is_free = true;
            }
            let is_stray = self.at == first && !is_below || line.starts_with(['+', '-']);
            if line.starts_with("@@") || !is_free && is_stray {
                return Err(self.error(format!(
                    "`{line}` belongs to no hunk; a line of a hunk begins with a blank, `+` or `-`"
                )));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Whether the line cannot belong to the body of a hunk.
    fn ends_body(&self, at: usize) -> bool {
        let Some(line) = self.line(at) else {
            return true;
        };
        let is_body = line.is_empty() || line == "\r" || line.starts_with([' ', '+', '-', '\\']);
        !is_body || self.has_names(at) || self.is_signature(at)
    }

    /// Reads the hunks from here on, up to the first line that belongs to none.
    pub(crate) fn hunks(&mut self, counts: Counts) -> Result<Vec<Hunk>, DiffError> {
        let mut hunks = Vec::new();
        let mut landmarks = Vec::new();
        while let Some(header) = self.peek().filter(|line| line.starts_with("@@")) {
            let hunk = match Ranges::read(header) {
                Some(_) if !landmarks.is_empty() => {
                    return Err(self.error("no hunk follows the `@@` line above"));
                }
                Some(ranges) => self.counted(&ranges, counts)?,
                None => {
                    landmarks.extend(self.landmark(header)?);
                    self.at += 1;
                    if self.peek().is_some_and(|next| next.starts_with("@@"))
                        && !landmarks.is_empty()
                    {
                        continue;
                    }
                    self.bare(std::mem::take(&mut landmarks))?
                }
            };
            hunks.push(hunk);
        }
        Ok(hunks)
    }

    /// The line of the file that a bare header names.
    fn landmark(&self, header: &str) -> Result<Option<String>, DiffError> {
        let named = header.trim_start_matches("@@").trim();
        let looks_numbered = named.ends_with("@@") || named.starts_with(['-', '+']);
        if header.starts_with("@@@") {
            return Err(
                self.error("this is a combined diff, of a merge; make a diff against one parent")
            );
        }
        if looks_numbered {
            return Err(self.error(format!(
                "`{header}` has no usable line numbers; write `@@ -FIRST,COUNT +FIRST,COUNT @@`, or `@@` \
                 alone for a place whose old lines occur once"
            )));
        }
        Ok((!named.is_empty()).then(|| named.to_owned()))
    }

    /// A hunk with line numbers.
    fn counted(&mut self, ranges: &Ranges, counts: Counts) -> Result<Hunk, DiffError> {
        let header = self.at;
        self.at += 1;
        let body = self.at;
        let lines = self.body(Until::Counts(ranges.old.1, ranges.new.1))?;
        let fits = lines.is_some() && (self.ends_body(self.at) || self.is_blank(self.at));
        let (lines, recounted) = if let Some(lines) = lines.filter(|_| fits) {
            (lines, None)
        } else {
            self.at = body;
            let lines = self.rest(Mails::End)?;
            let right = ranges.with(&lines);
            self.no_stray()?;
            if counts == Counts::Binding || lines.is_empty() {
                let given = self.line(header).unwrap_or_default();
                return Err(error_at(
                    header,
                    format!(
                        "the counts of `{given}` do not fit the lines below it, so the diff may be incomplete; its \
                             lines need `{right}` (`--recount`, in a plan `recount: true`, accepts them)"
                    ),
                ));
            }
            (lines, Some(right))
        };
        Ok(Hunk {
            start: Some(ranges.old.0),
            landmarks: Vec::new(),
            reach: Reach::Anywhere,
            lines,
            recounted,
        })
    }

    pub(crate) fn bare(&mut self, landmarks: Vec<String>) -> Result<Hunk, DiffError> {
        let header = self.at;
        let lines = self.rest(Mails::None)?;
        self.no_stray()?;
        let reach = if self.peek().is_some_and(|line| line == "*** End of File") {
            self.at += 1;
            Reach::End
        } else {
            Reach::Anywhere
        };
        if lines.is_empty() {
            return Err(error_at(header, "the hunk that begins here has no lines"));
        }
        Ok(Hunk {
            start: None,
            landmarks,
            reach,
            lines,
            recounted: None,
        })
    }

    /// The body up to the first line that cannot belong to it. Empty lines at its end may be of what follows.
    fn rest(&mut self, mails: Mails) -> Result<Vec<Line>, DiffError> {
        let mut end = self.at;
        let is_line = |end| mails == Mails::None && self.line(end) == Some("-- ");
        while !self.ends_body(end) || is_line(end) {
            end += 1;
        }
        while end > self.at && self.is_blank(end - 1) {
            end -= 1;
        }
        Ok(self.body(Until::Line(end))?.unwrap_or_default())
    }

    /// Refuses a line that can neither belong to a hunk nor end one.
    fn no_stray(&self) -> Result<(), DiffError> {
        const ENDS: [&str; 6] = ["@@", "```", "# ", "From ", "commit ", "*** "];
        let line = self.peek().unwrap_or_default();
        let ends = ENDS.iter().any(|begin| line.starts_with(begin)) || self.begins_file(self.at);
        if line.is_empty() || ends || !self.ends_body(self.at) || self.is_signature(self.at) {
            return Ok(());
        }
        Err(self.error(format!(
            "`{line}` begins with neither a blank, `+` nor `-`, as the lines of a hunk do; a line of context needs a blank \
             before it"
        )))
    }

    fn is_blank(&self, at: usize) -> bool {
        self.line(at).is_some_and(|line| matches!(line, "" | "\r"))
    }

    /// Reads the lines of a body; none if they end before.
    fn body(&mut self, until: Until) -> Result<Option<Vec<Line>>, DiffError> {
        let mut lines: Vec<Line> = Vec::new();
        let (mut old, mut new) = (0, 0);
        loop {
            let next = self.peek();
            // The remark about the line above it is written in many languages.
            if next.is_some_and(|line| line.starts_with('\\')) {
                let Some(last) = lines.last_mut() else {
                    return Err(self.error("nothing is above this remark"));
                };
                last.end = End::Nothing;
                self.at += 1;
                continue;
            }
            let is_whole = match until {
                Until::Counts(all_old, all_new) => (old, new) == (all_old, all_new),
                Until::Line(end) => self.at >= end,
            };
            if is_whole {
                return Ok(Some(lines));
            }
            let Some(line) = next else {
                return Ok(None);
            };
            let (mark, text) = match line.chars().next() {
                Some(' ') => (Mark::Kept, line.get(1..)),
                Some('-') => (Mark::Removed, line.get(1..)),
                Some('+') => (Mark::Added, line.get(1..)),
                // An empty line has lost its blank.
                None | Some('\r') => (Mark::Kept, Some(line)),
                Some(_) => return Ok(None),
            };
            old += usize::from(mark != Mark::Added);
            new += usize::from(mark != Mark::Removed);
            lines.push(Line {
                mark,
                text: text.unwrap_or_default().to_owned(),
                end: End::Feed,
            });
            self.at += 1;
        }
    }
}

/// What is wrong in that line, counted from 0.
pub(crate) fn error_at(at: usize, problem: impl Into<String>) -> DiffError {
    let problem = problem.into();
    DiffError {
        line: at + 1,
        problem,
    }
}
