//! A finished plan on a page: its actions, its errors, how it is undone, and a diff of each file.

use std::fmt::Write;

use crate::{
    cli::printing::{
        duration,
        plan::{Done, Told, counted, kind, moment, place, unshown},
    },
    perform::{DiffLine, Difference, FileExhibit, ShownFile, Word},
};

use super::parts::{block, document, escaped};

/// With more files or actions than this, they are folded.
const OPEN: usize = 10;

/// Where a plan is shown, which decides the level of its headings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// On a page of its own.
    Page,
    /// In the step of a session with this number.
    Step(u64),
}

/// The page of one plan.
pub(in crate::cli) fn plan_page(told: &Told<'_>) -> String {
    let title = escaped(told.text("plan_id"));
    let mut facts = vec![
        escaped(told.text("task_id")),
        escaped(&moment(told.text("completed_at"))),
        duration(told.number("duration_ms")),
        total(told.files()),
    ];
    if told.is_undone_since() {
        facts.push("<span class=\"wait\">undone since</span>".to_owned());
    }
    let status = told.text("status");
    let class = match status {
        "SUCCESS" => "good",
        "PARTIAL" | "CANCELLED" | "ROLLED_BACK" => "wait",
        _ => "bad",
    };
    let header = format!(
        "<header>\n<h1>{title} <span class=\"state {class}\">{}</span></h1>\n<p class=\"facts\">{}</p>\n</header>\n",
        escaped(status),
        facts.join(" · ")
    );
    let from = "written from the report directory of the plan";
    document(&title, &header, &parts(told, Depth::Page), from)
}

pub(super) fn parts(told: &Told<'_>, depth: Depth) -> String {
    [
        part(depth, "Errors", &errors(told)),
        part(depth, "Files", &list(told.files(), depth)),
        part(depth, "Actions", &actions(told)),
        part(depth, "Warnings", &warnings(told)),
        part(depth, "Undo", &undo(told)),
        part(depth, "Changes", &changes(told.files(), depth)),
    ]
    .concat()
}

fn part(depth: Depth, title: &str, inside: &str) -> String {
    match depth {
        _ if inside.is_empty() => String::new(),
        Depth::Page => format!("<section>\n<h2>{title}</h2>\n{inside}</section>\n"),
        Depth::Step(_) => format!("<h3>{title}</h3>\n{inside}"),
    }
}

fn errors(told: &Told<'_>) -> String {
    let each = told.errors().map(|(action, class, message, remedy)| {
        let action = action.map(|action| format!("{} · ", escaped(action)));
        format!(
            "<div class=\"failure\"><p><strong>{}{}</strong></p><p>{}</p><p class=\"soft\">{remedy}</p></div>\n",
            action.unwrap_or_default(),
            escaped(&class.to_ascii_lowercase()),
            escaped(message)
        )
    });
    each.collect()
}

/// `3 files, +12 −4`
fn total(files: &[FileExhibit]) -> String {
    let sum = |of: fn(&FileExhibit) -> u64| files.iter().map(of).sum();
    let (more, less) = (
        sum(|file| file.summary.lines_added),
        sum(|file| file.summary.lines_removed),
    );
    format!("{} {}", counted(files.len(), "file"), counts(more, less))
}

/// Nothing for a file without lines.
fn counts(more: u64, less: u64) -> String {
    if (more, less) == (0, 0) {
        return String::new();
    }
    format!(
        "<span class=\"counts\"><span class=\"good\">+{more}</span> <span class=\"bad\">−{less}</span></span>"
    )
}

/// The id of a file on the page; `n` counts from 0.
fn anchor(depth: Depth, n: usize) -> String {
    match depth {
        Depth::Page => format!("file-{}", n + 1),
        Depth::Step(step) => format!("step-{step}-file-{}", n + 1),
    }
}

fn list(files: &[FileExhibit], depth: Depth) -> String {
    if files.is_empty() {
        return String::new();
    }
    let items = files.iter().enumerate().map(|(n, file)| {
        format!(
            "<li><a href=\"#{}\"><span class=\"soft\">{}</span><span>{}</span>{}</a></li>\n",
            anchor(depth, n),
            kind(file),
            escaped(&place(file)),
            counts(file.summary.lines_added, file.summary.lines_removed)
        )
    });
    let items: String = items.collect();
    format!("<nav class=\"files\" aria-label=\"Changed files\"><ol>\n{items}</ol></nav>\n")
}

fn actions(told: &Told<'_>) -> String {
    let items = told.actions().map(|(done, id, what)| {
        let (class, word) = match done {
            Done::Yes => ("good", "done"),
            Done::Failed => ("bad", "failed"),
            Done::Skipped => ("wait", "skipped"),
        };
        let after = told.after(id).map(|after| {
            let after = escaped(&after);
            format!(" <span class=\"soft\">{after}</span>")
        });
        format!(
            "<li><span class=\"state {class}\">{word}</span> <strong>{}</strong>{}<br>{}</li>\n",
            escaped(id),
            after.unwrap_or_default(),
            escaped(what)
        )
    });
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        return String::new();
    }
    format!(
        "<details{}><summary>{}</summary><ol class=\"actions\">\n{}</ol></details>\n",
        open(items.len()),
        counted(items.len(), "action"),
        items.concat()
    )
}

/// Whether details are unfolded at first.
fn open(count: usize) -> &'static str {
    if count > OPEN { "" } else { " open" }
}

fn warnings(told: &Told<'_>) -> String {
    let each = told.warnings();
    let each = each.map(|warning| format!("<p>{}</p>\n", escaped(warning)));
    each.collect()
}

fn undo(told: &Told<'_>) -> String {
    let (sentence, command) = told.undo();
    let command = command.map(|command| block(&command)).unwrap_or_default();
    let made: Vec<String> = told.made().map(escaped).collect();
    let made = match made.as_slice() {
        [] => String::new(),
        made => format!(
            "<p class=\"soft\">Directories that the plan made: {}</p>\n",
            made.join(", ")
        ),
    };
    format!("<p>{}</p>\n{command}{made}", escaped(&sentence))
}

fn changes(files: &[FileExhibit], depth: Depth) -> String {
    let open = open(files.len());
    let heading = match depth {
        Depth::Page => "h3",
        Depth::Step(_) => "h4",
    };
    let each = files.iter().enumerate().map(|(n, file)| {
        let place = escaped(&place(file));
        // A link to something inside opens the details.
        format!(
            "<details class=\"file\"{open}><summary><{heading}>{place}</{heading}> <span class=\"soft\">{}</span> \
             {}</summary>\n<div id=\"{}\">{}</div></details>\n",
            kind(file),
            counts(file.summary.lines_added, file.summary.lines_removed),
            anchor(depth, n),
            change(file)
        )
    });
    each.collect()
}

fn change(file: &FileExhibit) -> String {
    let actions: Vec<String> = file.actions.iter().map(|action| escaped(action)).collect();
    let mut text = format!("<p class=\"soft\">By {}", actions.join(", "));
    if let (Some(before), Some(after)) = (&file.before, &file.after)
        && before.mode != after.mode
    {
        let (before, after) = (escaped(&before.mode), escaped(&after.mode));
        // Writing to a String cannot fail.
        let _ = write!(text, " · permissions {before} → {after}");
    }
    if let ShownFile::Compared(Difference::Lines { hidden, .. }) = &file.shown
        && *hidden > 0
    {
        let _ = write!(text, " · {} hidden", counted(*hidden, "value"));
    }
    text.push_str("</p>\n");
    if let ShownFile::Compared(Difference::Lines { lines, .. }) = &file.shown {
        text.push_str(&table(lines));
    }
    if let Some(why) = unshown(file) {
        let _ = writeln!(text, "<p>{}</p>", escaped(&why));
        let is_compared = matches!(file.shown, ShownFile::Compared(_) | ShownFile::TooLarge);
        if !is_compared && !file.summary.preview.is_empty() {
            text.push_str(&block(&file.summary.preview));
        }
    }
    text
}

fn table(lines: &[DiffLine]) -> String {
    let mut text = "<table class=\"diff\"><thead class=\"unseen\"><tr><th>before</th><th>after</th><th>change</th>\
                    <th>line</th></tr></thead><tbody>\n"
        .to_owned();
    for line in lines {
        // Writing to a String cannot fail.
        let _ = match line {
            DiffLine::Place(place) => {
                writeln!(text, "<tr class=\"at\"><td colspan=\"4\">{place}</td></tr>")
            }
            DiffLine::Unended => writeln!(
                text,
                "<tr class=\"at\"><td colspan=\"4\">No line ending at the end of the file</td></tr>"
            ),
            DiffLine::Kept(before, after, line) => writeln!(
                text,
                "<tr><td>{before}</td><td>{after}</td><td></td><td>{}</td></tr>",
                escaped(line)
            ),
            DiffLine::Removed(before, words) => writeln!(
                text,
                "<tr class=\"less\"><td>{before}</td><td></td><td>−</td><td>{}</td></tr>",
                marked(words, "del")
            ),
            DiffLine::Added(after, words) => writeln!(
                text,
                "<tr class=\"more\"><td></td><td>{after}</td><td>+</td><td>{}</td></tr>",
                marked(words, "ins")
            ),
        };
    }
    text + "</tbody></table>\n"
}

fn marked(words: &[Word], tag: &str) -> String {
    let each = words.iter().map(|word| match word {
        Word::Same(text) => escaped(text),
        Word::Changed(text) => format!("<{tag}>{}</{tag}>", escaped(text)),
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_its_numbers_and_words_and_stays_text() {
        let lines = [
            DiffLine::Place("@@ -7 +7 @@".to_owned()),
            DiffLine::Kept(7, 8, "<b>".to_owned()),
            DiffLine::Removed(8, vec![Word::Changed("</td><script>".to_owned())]),
            DiffLine::Added(
                9,
                vec![Word::Same("a ".to_owned()), Word::Changed("&\r".to_owned())],
            ),
            DiffLine::Unended,
        ];
        let shown = table(&lines);
        for row in [
            "<tr class=\"at\"><td colspan=\"4\">@@ -7 +7 @@</td></tr>\n",
            "<tr><td>7</td><td>8</td><td></td><td>&lt;b&gt;</td></tr>\n",
            "<tr class=\"less\"><td>8</td><td></td><td>−</td><td><del>&lt;/td&gt;&lt;script&gt;</del></td></tr>\n",
            "<tr class=\"more\"><td></td><td>9</td><td>+</td><td>a <ins>&amp;^M</ins></td></tr>\n",
            "No line ending at the end of the file",
        ] {
            assert!(shown.contains(row), "{shown}");
        }
    }
}
