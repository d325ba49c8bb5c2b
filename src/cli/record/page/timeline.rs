//! The steps of a session, beside each other on one line of time.

use jiff::Timestamp;

use crate::perform::{Page, Row};

use super::{
    super::{Desk, task},
    badge, class,
    html::escaped,
    took,
};

/// Each step with when it was and how long it took, beside the others.
pub(super) fn timeline(page: &Page, desk: &Desk) -> String {
    if page.steps.is_empty() {
        return "<p>Nothing was done in this session yet.</p>\n".to_owned();
    }
    let span = Span::of(page);
    let items = page.steps.iter().map(|step| {
        let row = &step.row;
        let (left, wide) = span.place(row);
        let action = escaped(row.action_type.as_deref().unwrap_or("–"));
        let took = took(row);
        format!(
            "<li><a href=\"#step-{n}\"><span class=\"number\">{n}</span><span class=\"time\">{}</span><span>{action} \
             <span class=\"soft\">{}</span></span>{}<span class=\"took\">{took}</span><span class=\"bar \
             {}\"><i style=\"margin-left:{left}%;width:{wide}%\"></i></span></a></li>\n",
            escaped(&desk.clock(&row.timestamp)),
            escaped(&task(step)),
            badge(row),
            class(row),
            n = row.step_index,
        )
    });
    format!(
        "<nav aria-label=\"Timeline\"><ol>\n{}</ol></nav>\n",
        items.collect::<String>()
    )
}

/// From the beginning of the first step to the end of the last, in milliseconds.
struct Span {
    from: i64,
    long: i64,
}

impl Span {
    fn of(page: &Page) -> Self {
        let rows = || page.steps.iter().map(|step| ends(&step.row));
        let from = rows().map(|(begin, _)| begin).min().unwrap_or_default();
        let to = rows().map(|(_, end)| end).max().unwrap_or_default();
        Self {
            from,
            long: (to - from).max(1),
        }
    }

    /// Percent from the left, and percent in width.
    fn place(&self, row: &Row) -> (i64, i64) {
        let (begin, end) = ends(row);
        let left = ((begin - self.from) * 100 / self.long).clamp(0, 99);
        let wide = ((end - begin) * 100 / self.long).clamp(0, 100 - left);
        (left, wide)
    }
}

fn ends(row: &Row) -> (i64, i64) {
    let read = |text: &str| {
        text.parse::<Timestamp>()
            .ok()
            .map(Timestamp::as_millisecond)
    };
    let end = read(&row.timestamp).unwrap_or_default();
    (read(&row.started_at).unwrap_or(end).min(end), end)
}
