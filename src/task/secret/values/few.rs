//! Few and short values: exactly their forms are found. What is built for that takes some hundred times
//! the length of the values.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::forms::{self, Edges, is_base64};

pub(super) struct Few {
    finder: AhoCorasick,
    edges: Vec<Edges>,
}

impl Few {
    /// None where it cannot be built.
    pub(super) fn of(values: &[String]) -> Option<Self> {
        let mut patterns = Vec::new();
        let mut all_edges = Vec::new();
        for value in values {
            forms::each(value, |form, edges| {
                patterns.push(form.to_vec());
                all_edges.push(edges);
            });
        }
        let finder = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(patterns)
            .ok()?;
        Some(Self {
            finder,
            edges: all_edges,
        })
    }

    pub(super) fn find(&self, text: &[u8], found: &mut Vec<Range<usize>>) {
        for form in self.finder.find_overlapping_iter(text) {
            let edges = self.edges.get(form.pattern().as_usize());
            let edges = edges.copied().unwrap_or_default();
            let beside = |byte: Option<&u8>| byte.is_some_and(|byte| is_base64(*byte));
            let before = form.start().checked_sub(edges.before);
            let before = before.filter(|before| beside(text.get(*before)));
            let after = edges.after > 0 && beside(text.get(form.end()));
            let range = before.unwrap_or(form.start())..form.end() + usize::from(after);
            match found.last_mut() {
                Some(last) if range.start >= last.start && range.start < last.end => {
                    last.end = last.end.max(range.end);
                }
                _ => found.push(range),
            }
        }
    }
}
