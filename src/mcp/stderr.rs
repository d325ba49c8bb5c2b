//! A server's stderr. It is always read, so that the server never blocks. Only its end is kept. [`cause`] finds the line
//! that says why the server ended.

use std::{borrow::Cow, ops::Range, sync::LazyLock};

use regex::Regex;
use tokio::{io::AsyncReadExt, net::unix::pipe::Receiver};

use crate::task::Secrets;

const TAIL_BYTES: usize = 8 * 1024;
const BLOCK_BYTES: usize = 16 * 1024;
/// A server may write faster than its stderr is read.
const BLOCKS_AT_ONCE: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Stderr {
    /// None at its end.
    pipe: Option<Receiver>,
    /// The number of bytes that are kept: the tail, one byte, and the length of the longest secret.
    window: usize,
    bytes: Vec<u8>,
    pub(super) total: u64,
    /// The number of bytes before the present call.
    before_call: u64,
}

impl Stderr {
    pub(super) fn new(pipe: Receiver, secrets: &Secrets) -> Self {
        Self {
            pipe: Some(pipe),
            window: TAIL_BYTES + 1 + secrets.longest(),
            ..Self::default()
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    pub(super) async fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        self.bytes.reserve(BLOCK_BYTES);
        match pipe.read_buf(&mut self.bytes).await {
            Ok(count @ 1..) => self.note(count),
            Ok(0) | Err(_) => self.pipe = None,
        }
    }

    /// Notes that so many bytes were read, and drops those that are not kept.
    fn note(&mut self, count: usize) {
        self.total += count as u64;
        let surplus = self.bytes.len().saturating_sub(self.window);
        self.bytes.drain(..surplus);
    }

    /// Reads what is there, and returns without waiting.
    pub(super) fn catch_up(&mut self) {
        for _ in 0..BLOCKS_AT_ONCE {
            let Some(pipe) = &mut self.pipe else { return };
            self.bytes.reserve(BLOCK_BYTES);
            match pipe.try_read_buf(&mut self.bytes) {
                Ok(count @ 1..) => self.note(count),
                Ok(0) | Err(_) => return,
            }
        }
    }

    /// What comes from now on belongs to the present call.
    pub(super) fn begin_call(&mut self) {
        self.before_call = self.total;
    }

    /// The tail of what came since the present call began.
    pub(super) fn of_call(&self, secrets: &Secrets) -> String {
        let kept = self.total - self.bytes.len() as u64;
        let before = usize::try_from(self.before_call.saturating_sub(kept));
        let begin = before.unwrap_or(usize::MAX).min(self.bytes.len());
        let tail = tail(&self.bytes);
        secrets.cut_within(&self.bytes, tail.start.max(begin)..tail.end)
    }

    /// The tail without secrets. It is empty if the beginning of its line is not kept: the line could then begin with
    /// the end of a long secret, which cannot be recognised.
    pub(super) fn tail(&self, secrets: &Secrets) -> String {
        let tail = tail(&self.bytes);
        let before = self.bytes.get(..tail.start).unwrap_or_default();
        let begins = self.total == self.bytes.len() as u64 || before.contains(&b'\n');
        if begins || secrets.is_empty() {
            secrets.cut_within(&self.bytes, tail)
        } else {
            String::new()
        }
    }
}

/// The last bytes from the beginning of a line, or of a word if they are one line. If they began within a URL, its
/// password or signature could not be recognised.
fn tail(bytes: &[u8]) -> Range<usize> {
    let end = bytes.len();
    let Some(before) = end.checked_sub(TAIL_BYTES + 1) else {
        return 0..end;
    };
    let window = bytes.get(before..).unwrap_or_default();
    let start = |ends: fn(&u8) -> bool| {
        let start = window.iter().position(ends)? + 1;
        let rest = window.get(start..)?;
        (!rest.trim_ascii().is_empty()).then_some(before + start)
    };
    let line = start(|byte| *byte == b'\n');
    line.or_else(|| start(u8::is_ascii_whitespace))
        .unwrap_or(end)..end
}

/// How interpreters and programs begin a line that names an error: with the name of an error, or with words for it.
static NAMES_IT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)
        ^(uncaught\s|unhandled\s|caused\ by:\s|exception\ in\ )?[\w.$/:-]*
          (error|exception|failure|panic|fatal|err!)\b(\s\[[^\]]*\])?\s?[:(\ ]
        | ^[\w.$]*(error|exception|exit|interrupt)(:\s|$)
        | panicked\ at
        | \b(cannot|can't|could\ not|couldn't|unable\ to|failed\ to|no\ such|not\ found|denied|refused|missing
             |not\ set|required|invalid|unknown\ (option|command|argument|flag)|unrecognized|usage)\b
        ",
    )
    .ok()
});

/// Words of lines that say that there is an error, or where to read more, but not which error.
const ELSEWHERE: &str = "a complete log of this run;another exception occurred;direct cause of the following exception;\
    note: run with `rust_backtrace;for more information;--help";

/// The line that says why the server ended.
pub(super) fn cause(stderr: &str) -> Option<Cow<'_, str>> {
    let lines: Vec<&str> = stderr.lines().map(str::trim_end).collect();
    let last = lines.iter().rev().find(|line| said(line))?;
    // npm prints the error first and much more text after it.
    let npm = |line: &str| line.starts_with("npm error") || line.starts_with("npm ERR!");
    let of_npm = lines.iter().position(|line| {
        npm(line) && !line.contains(" code ") && line.split_whitespace().nth(2).is_some()
    });
    match of_npm {
        Some(at) => whole(&lines, at),
        None => causes(stderr).next().or(Some(Cow::Borrowed(last.trim()))),
    }
}

/// The lines that name an error, the last one first.
pub(crate) fn causes(stderr: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let lines: Vec<&str> = stderr.lines().map(str::trim_end).collect();
    (0..lines.len()).rev().filter_map(move |at| {
        let tells = lines
            .get(at)
            .is_some_and(|line| tells(line) || is_raised(line));
        tells.then(|| whole(&lines, at)).flatten()
    })
}

fn said(line: &str) -> bool {
    !line.trim().is_empty()
}

/// A line, with the next one if it ends with a colon.
fn whole<'s>(lines: &[&'s str], at: usize) -> Option<Cow<'s, str>> {
    let line = lines.get(at)?.trim();
    let next = lines.iter().skip(at + 1).find(|line| said(line));
    Some(match next {
        Some(next) if line.ends_with(':') => Cow::Owned(format!("{line} {}", next.trim())),
        _ => Cow::Borrowed(line),
    })
}

/// An exception of Python, which some logs indent.
static RAISED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s+[\w.]*(Error|Exception|Timeout)(: .*)?$").ok());

fn is_raised(line: &str) -> bool {
    RAISED
        .as_ref()
        .is_some_and(|pattern| pattern.is_match(line))
}

/// Whether a line names an error. An indented line belongs to another one.
fn tells(line: &str) -> bool {
    let lower = line.to_lowercase();
    !line.starts_with(char::is_whitespace)
        && !ELSEWHERE.split(';').any(|words| lower.contains(words))
        && NAMES_IT
            .as_ref()
            .is_some_and(|pattern| pattern.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_secret_that_is_longer_than_what_is_kept_is_not_shown() {
        let secret = "some words ".repeat(20_000);
        let secrets = Secrets::new([secret.clone()]);
        let kept = |said: &str| Stderr {
            pipe: None,
            window: 200_000,
            bytes: said.as_bytes()[said.len() - 200_000..].to_vec(),
            total: said.len() as u64,
            before_call: 0,
        };
        assert_eq!(kept(&format!("token {secret}bad")).tail(&secrets), "");
        let last = kept(&format!("token {secret}bad\nlast line"));
        assert_eq!(last.tail(&secrets), "last line");
        let without = kept(&"word ".repeat(60_000)).tail(&Secrets::default());
        assert!(without.starts_with("word "));
    }

    fn shown(said: &str) -> &str {
        said.get(tail(said.as_bytes())).unwrap()
    }

    #[test]
    fn a_tail_begins_with_a_whole_line_or_word() {
        let line = format!("{}\n", "z".repeat(63));
        let rest = line.repeat(200);
        let rest = |less: usize| rest.get(..TAIL_BYTES - less).unwrap();
        for (before, inside) in [
            ("https://h/?X-Amz-Signature=", "SIG tail\n"),
            ("postgres://u:", "pw@h\n"),
            ("x", "y\n"),
        ] {
            let said = format!("{before}{inside}{}", rest(inside.len()));
            assert_eq!(shown(&said), rest(inside.len()));
        }
        let whole = format!("first\n{}", rest(0));
        assert_eq!(shown(&whole), rest(0));
        let blanks = format!(
            "?sig={} word {}\n",
            "A".repeat(20),
            "b".repeat(TAIL_BYTES - 10)
        );
        assert!(shown(&blanks).starts_with("bbb") || shown(&blanks).starts_with("word bbb"));
        assert_eq!(shown(&"A".repeat(TAIL_BYTES + 1)), "");
        assert_eq!(shown("?sig=a"), "?sig=a");
        assert_eq!(shown(""), "");
    }

    #[test]
    fn the_line_that_names_the_error_is_told_whatever_comes_after_it() {
        for (stderr, told) in [
            (
                "node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\nError: Cannot find module '/srv/x.js'\n    \
                 at Module._resolveFilename (node:internal/modules/cjs/loader:1225:15) {\n  code: 'MODULE_NOT_FOUND',\n  \
                 requireStack: []\n}\n\nNode.js v22.11.0\n",
                "Error: Cannot find module '/srv/x.js'",
            ),
            (
                "node:internal/process/esm:1\nError [ERR_MODULE_NOT_FOUND]: Cannot find package 'x' imported from /a.js\n    \
                 at a\n\nNode.js v20.1.0",
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x' imported from /a.js",
            ),
            (
                "/a.js:1\nfoo bar\n    ^^^\n\nSyntaxError: Unexpected identifier 'bar'\n    at wrap\n\nNode.js v20.1.0",
                "SyntaxError: Unexpected identifier 'bar'",
            ),
            (
                "Traceback (most recent call last):\n  File \"/a.py\", line 1, in <module>\n    import x\n\
                 ModuleNotFoundError: No module named 'x'\n",
                "ModuleNotFoundError: No module named 'x'",
            ),
            (
                "python3: can't open file '/srv/none.py': [Errno 2] No such file or directory\n",
                "python3: can't open file '/srv/none.py': [Errno 2] No such file or directory",
            ),
            (
                "Exception in thread \"main\" java.lang.RuntimeException: outer\n\tat A.main(A.java:1)\nCaused by: \
                 java.io.IOException: disk\n\tat B\n\t... 1 more\n",
                "Caused by: java.io.IOException: disk",
            ),
            (
                "thread 'main' panicked at src/main.rs:2:5:\nthe key is empty\nnote: run with `RUST_BACKTRACE=1` \
                 environment variable to display a backtrace\n",
                "thread 'main' panicked at src/main.rs:2:5: the key is empty",
            ),
            (
                "panic: open /a: it is gone\n\ngoroutine 1 [running]:\nmain.main()\n\t/a.go:5 +0x1d\nexit status 2\n",
                "panic: open /a: it is gone",
            ),
            (
                "npm error code E404\nnpm error 404 Not Found - GET https://registry.npmjs.org/x - Not found\nnpm error \
                 404\nnpm error A complete log of this run can be found in: /root/.npm/_logs/1.log\n",
                "npm error 404 Not Found - GET https://registry.npmjs.org/x - Not found",
            ),
            (
                "sh: 1: nothing-here: not found\n",
                "sh: 1: nothing-here: not found",
            ),
            (
                "starting\nError: API_KEY is not set\nbye\n",
                "Error: API_KEY is not set",
            ),
            (
                "[11/28/26 10:00:00] ERROR    Error executing tool pay  server.py:442\n                    │ raise \
                 TimeoutError(\"x\")                    │\n                    TimeoutError: the bank is silent\n",
                "TimeoutError: the bank is silent",
            ),
            ("no words for it\nbut the last\n\n", "but the last"),
        ] {
            assert_eq!(cause(stderr).as_deref(), Some(told), "{stderr}");
        }
        assert_eq!(cause(" \n\n"), None);
    }
}
