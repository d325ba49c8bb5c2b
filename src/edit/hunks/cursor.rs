//! Reads the lines of a diff, and its hunks among them.

use super::{DiffError, DiffRules, Hunk};

/// Reads a diff line by line.
#[derive(Debug)]
pub(crate) struct Cursor<'t> {
    lines: Vec<&'t str>,
    /// The next line, counted from 0.
    pub(crate) at: usize,
}

/// The first line and the number of lines, before and after.
type Ranges = [(usize, usize); 2];

impl<'t> Cursor<'t> {
    /// Where every line ends with CR LF, as if the diff had been checked out so, the text is read as one with LF.
    pub(crate) fn new(text: &'t str) -> Self {
        let lines: Vec<&str> = text.split_terminator('\n').collect();
        let bare = lines.iter().map(|line| line.strip_suffix('\r')).collect();
        let lines = Option::unwrap_or(bare, lines);
        Self { lines, at: 0 }
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

    /// The lines from there up to this one.
    pub(crate) fn text_from(&self, from: usize) -> String {
        let lines = self.lines.get(from..self.at).unwrap_or_default();
        lines.iter().flat_map(|line| [*line, "\n"]).collect()
    }

    /// Whether the header lines of a file begin there: `--- a/x` and `+++ b/x`.
    pub(crate) fn has_names(&self, at: usize) -> bool {
        let begins = |at, mark| self.line(at).is_some_and(|line| line.starts_with(mark));
        begins(at, "--- ") && begins(at + 1, "+++ ")
    }

    /// The end of a mail: `-- ` and the version of the program.
    fn is_signature(&self, at: usize) -> bool {
        let is_version = |next: &str| next.starts_with(|c: char| c.is_ascii_digit());
        self.line(at) == Some("-- ") && self.line(at + 1).is_some_and(is_version)
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
        self.no_stray()?;
        let mut is_free = false;
        while let Some(line) = self.peek().filter(|_| !self.begins_file(self.at)) {
            is_free |= line.starts_with("```") || self.is_signature(self.at);
            if line.starts_with("@@") || !is_free && line.starts_with(['+', '-']) {
                return Err(self.stray(line));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Refuses a line below a hunk that may be a line of it and has lost its mark.
    fn no_stray(&self) -> Result<(), DiffError> {
        const BELOW: [&str; 7] = ["@@", "```", "# ", "From ", "commit ", "====", "</"];
        let Some(line) = self.peek().filter(|_| !self.is_blank(self.at)) else {
            return Ok(());
        };
        let is_below = BELOW.iter().any(|begin| line.starts_with(begin));
        if is_below || self.begins_file(self.at) || self.is_signature(self.at) {
            return Ok(());
        }
        Err(self.stray(line))
    }

    fn stray(&self, line: &str) -> DiffError {
        self.error(format!(
            "`{line}` belongs to no hunk; a line of a hunk begins with `+`, with `-`, or, as context, with a blank"
        ))
    }

    /// Whether the line cannot belong to the body of a hunk.
    fn ends_body(&self, at: usize) -> bool {
        let Some(line) = self.line(at) else {
            return true;
        };
        let is_body = self.is_blank(at) || line.starts_with([' ', '+', '-', '\\']);
        !is_body || self.has_names(at) || self.is_signature(at)
    }

    fn is_blank(&self, at: usize) -> bool {
        self.line(at).is_some_and(|line| matches!(line, "" | "\r"))
    }

    /// Reads the hunks from here on, up to the first line that belongs to none.
    pub(crate) fn hunks(&mut self, rules: DiffRules) -> Result<Vec<Hunk>, DiffError> {
        let mut hunks = Vec::new();
        while let Some(header) = self.peek().filter(|line| line.starts_with("@@")) {
            hunks.push(match ranges(header) {
                Some(ranges) => self.counted(header, ranges, rules)?,
                None => self.bare()?,
            });
        }
        Ok(hunks)
    }

    /// The lines of the file that bare headers name.
    fn landmarks(&mut self) -> Result<Vec<String>, DiffError> {
        let (mut landmarks, mut is_bare) = (Vec::new(), false);
        while let Some(header) = self.peek().filter(|line| line.starts_with("@@")) {
            let named = header.trim_start_matches("@@").trim();
            // A hunk that has lost its lines would go unnoticed.
            if is_bare || ranges(header).is_some() {
                return Err(self.error("no hunk follows the `@@` line above"));
            }
            if named.ends_with("@@") || named.starts_with(['-', '+']) {
                return Err(self.error(format!(
                    "`{header}` has no usable line numbers; write `@@ -FIRST,COUNT +FIRST,COUNT @@`, or `@@` alone for \
                     a place whose old lines occur once; a combined diff, of a merge, is not read"
                )));
            }
            is_bare = named.is_empty();
            landmarks.extend((!is_bare).then(|| named.to_owned()));
            self.at += 1;
        }
        Ok(landmarks)
    }

    /// A hunk with line numbers.
    fn counted(
        &mut self,
        header: &str,
        [(start, old), (new_start, new)]: Ranges,
        rules: DiffRules,
    ) -> Result<Hunk, DiffError> {
        self.at += 1;
        let first = self.at;
        let hunk = self.body(|_, hunk| (hunk.old.len(), hunk.new.len()) == (old, new))?;
        let is_whole = self.ends_body(self.at) || self.is_blank(self.at);
        if let Some(hunk) = hunk.filter(|_| is_whole) {
            let start = Some(start);
            return Ok(Hunk { start, ..hunk });
        }
        self.at = first;
        let hunk = self.rest()?;
        self.no_stray()?;
        let (old, new) = (hunk.old.len(), hunk.new.len());
        let right = format!("@@ -{start},{old} +{new_start},{new} @@");
        if !rules.recount || self.at == first {
            return Err(error_at(
                first - 1,
                format!(
                    "the counts of `{header}` do not fit the lines below it, so the diff may be incomplete; its lines \
                     need `{right}` (`--recount`, in a plan `recount: true`, accepts them)"
                ),
            ));
        }
        Ok(Hunk {
            start: Some(start),
            recounted: Some(right),
            ..hunk
        })
    }

    /// A hunk without line numbers, with its headers, if it has any.
    pub(crate) fn bare(&mut self) -> Result<Hunk, DiffError> {
        let landmarks = self.landmarks()?;
        let first = self.at;
        let mut hunk = self.rest()?;
        if self.at == first {
            return Err(self.error("the hunk that begins here has no lines"));
        }
        if self.peek() == Some("*** End of File") {
            hunk.ends_file = true;
            self.at += 1;
        }
        Ok(Hunk { landmarks, ..hunk })
    }

    /// The body up to the first line that cannot belong to it. Empty lines at its end may be of what follows.
    fn rest(&mut self) -> Result<Hunk, DiffError> {
        let mut end = self.at;
        while !self.ends_body(end) {
            end += 1;
        }
        while end > self.at && self.is_blank(end - 1) {
            end -= 1;
        }
        Ok(self.body(|at, _| at >= end)?.unwrap_or_default())
    }

    /// Reads the lines of a body until it is whole; none if they end before.
    fn body(&mut self, is_whole: impl Fn(usize, &Hunk) -> bool) -> Result<Option<Hunk>, DiffError> {
        let mut hunk = Hunk::default();
        let mut last = None;
        loop {
            let next = self.peek();
            let mark = next.map(|line| line.chars().next().unwrap_or(' '));
            if mark != Some('\\') && is_whole(self.at, &hunk) {
                return Ok(Some(hunk));
            }
            let (Some(line), Some(mark)) = (next, mark) else {
                return Ok(None);
            };
            let text = match mark {
                ' ' | '+' | '-' => line.get(1..).unwrap_or_default(),
                // An empty line has lost its blank.
                '\r' => line,
                // The remark about the line above it is written in many languages.
                '\\' => {
                    let above = last.take();
                    let above = above.ok_or_else(|| self.error("nothing is above this remark"))?;
                    hunk.lose_feed(above);
                    self.at += 1;
                    continue;
                }
                _ => return Ok(None),
            };
            if mark != '+' {
                hunk.old.push(format!("{text}\n"));
            }
            if mark != '-' {
                hunk.new.push(format!("{text}\n"));
            }
            last = Some(mark);
            self.at += 1;
        }
    }
}

impl Hunk {
    /// Takes the line feed from the last line, which has this mark.
    fn lose_feed(&mut self, mark: char) {
        if mark != '+' {
            self.old.last_mut().map(String::pop);
        }
        if mark != '-' {
            self.new.last_mut().map(String::pop);
            self.ends_file = true;
        }
    }
}

/// Reads `@@ -1,3 +1,4 @@ section`. A count that is left out is 1.
fn ranges(header: &str) -> Option<Ranges> {
    let (ranges, _) = header.strip_prefix("@@")?.split_once("@@")?;
    let (old, new) = ranges.trim().split_once(char::is_whitespace)?;
    // No file has more lines, and sums cannot overflow.
    let number = |digits: &str| usize::try_from(digits.parse::<u32>().ok()?).ok();
    let range = |part: &str, mark| {
        let part: &str = part.strip_prefix(mark)?;
        let (first, count) = part.split_once(',').unwrap_or((part, "1"));
        Some((number(first)?, number(count)?))
    };
    Some([range(old, '-')?, range(new.trim_start(), '+')?])
}

/// What is wrong in that line, counted from 0.
pub(crate) fn error_at(at: usize, problem: impl Into<String>) -> DiffError {
    let problem = problem.into();
    DiffError {
        line: at + 1,
        problem,
    }
}
