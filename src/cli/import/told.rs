//! What an import tells: on stderr what is missing, on stdout what was added.

use std::{collections::BTreeSet, fmt::Write as _};

use camino::Utf8Path;
use similar::TextDiff;

use crate::{
    catalog::{Command, Tool, Trust, one_line},
    cli::printing::counted,
    host,
    task::{few, visible, visible_lines},
};

/// The most names that one line shows.
const SHOWN: usize = 6;

/// The most tools whose hints are shown in a question.
const HINTED: usize = 30;

/// A server that the catalog does not have.
pub(super) struct NewServer {
    pub(super) name: String,
    pub(super) place: String,
    pub(super) command: Command,
}

#[derive(Debug, Default)]
pub(super) struct ImportReport {
    lines: Vec<String>,
    servers: u64,
    entries: u64,
    kept: Vec<String>,
    missing: usize,
    /// Variables that have to be exported before a run.
    to_export: Vec<String>,
    /// The entries whose server hints at less risk than they state.
    doubted: u64,
}

impl ImportReport {
    /// A server that could not be added, or a file that could not be read.
    pub(super) fn missing(&mut self, name: &str, why: &str) {
        self.missing += 1;
        let about = if name.is_empty() {
            String::new()
        } else {
            format!("{}: ", visible(name))
        };
        tracing::error!("{about}{}", visible(why));
    }

    pub(super) fn note(&mut self, name: &str, what: &str) {
        self.lines
            .push(format!("{} {}", visible(name), visible(what)));
    }

    pub(super) fn kept(&mut self, name: &str) {
        if !self.kept.iter().any(|known| known == name) {
            self.kept.push(name.to_owned());
        }
    }

    pub(super) fn is_missing(&self) -> bool {
        self.missing > 0
    }

    pub(super) fn added(
        &mut self,
        name: &str,
        command: &Command,
        tools: &[Tool],
        entries: &[(String, String)],
        trust: Trust,
    ) {
        self.servers += 1;
        self.entries += entries.len() as u64;
        let unset = command.secrets.iter().map(|(name, _)| name);
        for name in unset.filter(|name| host::variable(name).is_none()) {
            if !self.to_export.contains(name) {
                self.to_export.push(name.clone());
            }
        }
        if trust == Trust::Worst {
            self.doubted += tools.iter().filter(|tool| tool.hints_lower()).count() as u64;
        }
        let count = counted(entries.len() as u64, "tool");
        let shown = match few(entries.iter().map(|(_, id)| id), SHOWN, ", ") {
            none if none.is_empty() => none,
            ids => format!(": {ids}"),
        };
        self.lines.push(format!("{name} has {count}{shown}"));
        let mut seen = BTreeSet::new();
        for tool in tools.iter().filter(|tool| !seen.insert(&tool.name)) {
            let tool = visible(&one_line(&tool.name)).into_owned();
            let line = format!("  {tool} is listed again; the first tool of that name is used");
            self.lines.push(line);
        }
        // An id that cannot be found out from the name of the tool.
        for (tool, id) in entries {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let same = id.ends_with(&tool.replace('-', "_").to_lowercase());
            if !tool.chars().all(plain) || !same {
                let line = format!("  {} is called as {id}", visible(&one_line(tool)));
                self.lines.push(line);
            }
        }
    }

    /// The text if the catalog stays as it is.
    pub(super) fn nothing(&self, path: &Utf8Path) -> String {
        format!(
            "{}Nothing was changed in {}.\n",
            self.body(),
            visible(path.as_str())
        )
    }

    /// The text for a catalog that was written.
    pub(super) fn done(&self, path: &Utf8Path) -> String {
        let mut text = self.body();
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "Added {} and {} to {}.",
            counted(self.servers, "server"),
            counted(self.entries, "entry"),
            visible(path.as_str())
        );
        if !self.to_export.is_empty() {
            let _ = writeln!(
                text,
                "\nNot written, because it looks like a secret. Export it before a run:\n  export {}=…",
                self.to_export.join("=… ")
            );
        }
        if self.doubted > 0 {
            let _ = writeln!(
                text,
                "\nThe effects of {} were not confirmed, so the worst is assumed. A comment in each shows what the\n\
                 server says: correct `effects` there, or begin a new catalog with --trust-hints.",
                counted(self.doubted, "entry"),
            );
        }
        text + NEXT
    }

    fn body(&self) -> String {
        let lines = self.lines.iter().map(|line| format!("{line}\n"));
        let kept = match self.kept.as_slice() {
            [] => String::new(),
            names => format!(
                "The catalog has these servers already, so they are kept as they are: {}\n",
                names.join(", ")
            ),
        };
        lines.chain([kept]).collect()
    }
}

/// What a person may want to know next.
const NEXT: &str = "
Next:
  oneact tools            list the tools with their parameters, and how to call each
  oneact doctor           check the catalog and the servers
Calls of high risk are performed without asking. To have them wait for you, add to catalog.toml:
  [defaults]
  approval = { when = \"risk >= high\" }
`oneact serve catalog` offers models only the entries that say is_action = true.
";

/// The servers that would be started, for a person who is asked.
pub(super) fn listed(new: &[NewServer]) -> String {
    let mut text = String::new();
    let mut file = "";
    for NewServer {
        name,
        place,
        command,
    } in new
    {
        let (of, _) = place.rsplit_once(':').unwrap_or((place, ""));
        if of != file {
            file = of;
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}", visible(of));
        }
        let _ = writeln!(text, "  {name}: {}", visible(&command.shown()));
    }
    text
}

/// The tools about which a server says that they do less harm than MCP assumes, for a person who is asked.
pub(super) fn hinted(server: &str, tools: &[&Tool]) -> String {
    let line = |tool: &&Tool| format!("  {}: {}", visible(&one_line(&tool.name)), tool.said());
    let lines = few(tools.iter().map(line), HINTED, "\n");
    format!("{server} says of its tools:\n{lines}\n")
}

/// The change of the catalog as a unified diff.
pub(super) fn diff(path: &Utf8Path, old: &[u8], new: &[u8]) -> String {
    let [old, new] = [old, new].map(String::from_utf8_lossy);
    let name = path.file_name().unwrap_or("catalog.toml");
    let before = if old.is_empty() {
        "/dev/null".to_owned()
    } else {
        format!("a/{name}")
    };
    let diff = TextDiff::from_lines(old.as_ref(), new.as_ref());
    let diff = diff
        .unified_diff()
        .header(&before, &format!("b/{name}"))
        .to_string();
    visible_lines(&diff).into_owned()
}
