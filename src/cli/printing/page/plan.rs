//! A finished plan on a page: its actions, its errors, how it is undone, and a diff of each file.

use crate::{
    cli::printing::{
        plan::{PlanReport, kind, moment, place, unshown},
        units::counted,
    },
    perform::{DiffLine, DiffMark, Difference, FileExhibit, Word},
};

use super::parts::{block, document, escaped, list};

/// With more files than this, they are folded.
const OPEN: usize = 10;

/// The page of one plan.
pub(crate) fn plan_page(told: &PlanReport<'_>) -> String {
    let title = escaped(told.text("plan_id"));
    let mut facts = vec![
        escaped(told.text("task_id")),
        escaped(&moment(told.text("completed_at"))),
        told.duration(),
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
    let main = format!("<section>\n<h2>Report</h2>\n{}</section>\n", parts(told));
    document(&title, &header, &main, from)
}

/// What the plan did, and the changes of its files.
pub(super) fn parts(told: &PlanReport<'_>) -> String {
    list(told.facts()) + &changes(told.files())
}

/// `3 files, +12 −4`
fn total(files: &[FileExhibit]) -> String {
    let more = files.iter().map(|file| file.summary.lines_added).sum();
    let less = files.iter().map(|file| file.summary.lines_removed).sum();
    format!(
        "{} {}",
        counted(files.len() as u64, "file"),
        counts(more, less)
    )
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

fn changes(files: &[FileExhibit]) -> String {
    let open = if files.len() > OPEN { "" } else { " open" };
    let each = files.iter().map(|file| {
        format!(
            "<details class=\"file\"{open}><summary><h4>{}</h4> <span class=\"soft\">{}</span> {}</summary>\n\
             <div>{}</div></details>\n",
            escaped(&place(file)),
            kind(file),
            counts(file.summary.lines_added, file.summary.lines_removed),
            change(file)
        )
    });
    each.collect()
}

fn change(file: &FileExhibit) -> String {
    let by = format!(
        "<p class=\"soft\">By {}</p>\n",
        escaped(&file.actions.join(", "))
    );
    let told = unshown(file).map(|why| format!("<p>{}</p>\n", escaped(&why)));
    let shown = match &file.shown {
        Difference::Lines(lines) => table(lines),
        Difference::None | Difference::Binary | Difference::TooLarge => String::new(),
        _ if file.summary.preview.is_empty() => String::new(),
        _ => block(&file.summary.preview),
    };
    by + &told.unwrap_or_default() + &shown
}

fn table(lines: &[DiffLine]) -> String {
    let rows = lines.iter().map(|line| {
        let number = |at: usize| if at == 0 { String::new() } else { at.to_string() };
        let [before, after] = line.numbers.map(number);
        let (class, sign, tag) = match line.mark {
            DiffMark::Remark => {
                let remark = marked(&line.words, "b");
                return format!("<tr class=\"at\"><td colspan=\"4\">{remark}</td></tr>\n");
            }
            DiffMark::Kept => ("kept", "", "b"),
            DiffMark::Removed => ("less", "−", "del"),
            DiffMark::Added => ("more", "+", "ins"),
        };
        let words = marked(&line.words, tag);
        format!(
            "<tr class=\"{class}\"><td>{before}</td><td>{after}</td><td>{sign}</td><td>{words}</td></tr>\n"
        )
    });
    let rows: String = rows.collect();
    format!(
        "<table class=\"diff\"><thead class=\"unseen\"><tr><th>before</th><th>after</th><th>change</th><th>line</th>\
         </tr></thead><tbody>\n{rows}</tbody></table>\n"
    )
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
        let line = |mark, numbers, words: &[Word]| DiffLine {
            mark,
            numbers,
            words: words.to_vec(),
        };
        let same = |text: &str| Word::Same(text.to_owned());
        let changed = |text: &str| Word::Changed(text.to_owned());
        let shown = table(&[
            line(DiffMark::Remark, [0, 0], &[same("@@ -7 +7 @@")]),
            line(DiffMark::Kept, [7, 8], &[same("<b>")]),
            line(DiffMark::Removed, [8, 0], &[changed("</td><script>")]),
            line(DiffMark::Added, [0, 9], &[same("a "), changed("&\r")]),
        ]);
        for row in [
            "<tr class=\"at\"><td colspan=\"4\">@@ -7 +7 @@</td></tr>\n",
            "<tr class=\"kept\"><td>7</td><td>8</td><td></td><td>&lt;b&gt;</td></tr>\n",
            "<tr class=\"less\"><td>8</td><td></td><td>−</td><td><del>&lt;/td&gt;&lt;script&gt;</del></td></tr>\n",
            "<tr class=\"more\"><td></td><td>9</td><td>+</td><td>a <ins>&amp;^M</ins></td></tr>\n",
        ] {
            assert!(shown.contains(row), "{shown}");
        }
    }
}
