//! The meaning of a YAML text: the events of `serde-saphyr`'s parser as a tree. Scalars keep their text, and
//! aliases stay aliases.

use std::{collections::HashSet, ops::Range};

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, StrInput, StructureStyle, options};

use super::lines::{line_before, line_end, line_start};
use crate::edit::{
    Budget, EditError, Language, fits,
    path::{Step, item},
};

/// A node. A comparison ignores its place, spelling and style.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) content: Content,
    /// The number of its anchor, in the order of the text; 0 without one.
    pub(super) anchor: usize,
    pub(super) tag: Option<String>,
    pub(super) style: Style,
    /// Bytes, without anchor and tag. A block collection ends where the next token starts; a block
    /// scalar starts after its header.
    pub(super) span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Content {
    /// Quoted, block, or plain text that is a string in every version of YAML.
    Text(String),
    /// Plain text that may be a number, a truth value, null, a date …: as written.
    Other(String),
    Items(Vec<Part>),
    Members(Vec<Part>),
    /// The anchor's number.
    Alias(usize),
}

/// A member of a mapping, or an item of a sequence, which has no key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Part {
    pub(super) key: Option<Box<Node>>,
    pub(super) value: Node,
}

impl Part {
    /// What the key says, if it is a scalar.
    pub(super) fn name(&self) -> Option<&str> {
        match &self.key.as_ref()?.content {
            Content::Text(text) | Content::Other(text) => Some(text),
            _ => None,
        }
    }

    /// Where its key starts, or its value.
    pub(super) fn start(&self) -> usize {
        let key = self.key.as_ref();
        key.map_or(self.value.span.start, |key| key.span.start)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    /// Literal or folded.
    BlockScalar,
    Flow,
    Block,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.anchor == other.anchor && self.tag == other.tag && self.content == other.content
    }
}

impl Eq for Node {}

impl std::hash::Hash for Node {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.content.hash(state);
    }
}

impl Node {
    /// The members of a mapping, or the items of a sequence.
    pub(super) fn parts(&self) -> &[Part] {
        match &self.content {
            Content::Items(parts) | Content::Members(parts) => parts,
            _ => &[],
        }
    }

    pub(super) fn parts_mut(&mut self) -> Option<&mut Vec<Part>> {
        match &mut self.content {
            Content::Items(parts) | Content::Members(parts) => Some(parts),
            _ => None,
        }
    }

    /// The index of the part to which the step leads.
    pub(super) fn index(&self, step: &Step) -> Option<usize> {
        match (step, &self.content) {
            (Step::Name(name), Content::Members(members)) => {
                let mut names = members.iter().map(Part::name);
                names.position(|key| key == Some(name))
            }
            (Step::Index(index), Content::Items(items)) => item(*index, items.len()),
            _ => None,
        }
    }

    /// The node to which these steps lead, to be changed.
    pub(super) fn at_mut(&mut self, steps: &[Step]) -> Option<&mut Self> {
        steps.iter().try_fold(self, |node, step| {
            let index = node.index(step)?;
            let part = node.parts_mut()?.get_mut(index)?;
            Some(&mut part.value)
        })
    }

    /// The last node in it, in the order of the text.
    pub(super) fn last(&self) -> &Self {
        match (self.style, self.parts().last()) {
            (Style::Block, Some(last)) => last.value.last(),
            _ => self,
        }
    }

    /// Where the last of it ends: comments and blank lines after it are not its own.
    pub(super) fn end(&self, body: &str) -> usize {
        let last = self.last();
        if last.style == Style::BlockScalar {
            end_of_lines(body, last.span.end)
        } else {
            last.span.end
        }
    }

    /// Whether nothing is written in its place.
    pub(super) fn is_empty(&self) -> bool {
        self.style == Style::Plain && self.span.is_empty()
    }

    /// Whether it is such a node, or one in it.
    pub(super) fn any(&self, is_such: &impl Fn(&Self) -> bool) -> bool {
        let mut found = false;
        self.each(&mut |node| found |= is_such(node));
        found
    }

    /// Calls this for it and everything in it, in the order of the text.
    pub(super) fn each(&self, call: &mut impl FnMut(&Self)) {
        call(self);
        for part in self.parts() {
            part.key.iter().for_each(|key| key.each(call));
            part.value.each(call);
        }
    }

    /// The same, for changes.
    pub(super) fn each_mut(&mut self, call: &mut impl FnMut(&mut Self)) {
        call(self);
        for part in self.parts_mut().into_iter().flatten() {
            part.key.iter_mut().for_each(|key| key.each_mut(call));
            part.value.each_mut(call);
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match &self.content {
            Content::Text(_) | Content::Other(_) => "a scalar",
            Content::Items(_) => "a sequence",
            Content::Members(_) => "a mapping",
            Content::Alias(_) => "an alias",
        }
    }
}

/// Reads every document of the text. Duplicate keys, also of other spelling, are an error. A text that is
/// too long is not begun.
pub(super) fn read(body: &str, budget: &Budget<'_>) -> Result<Vec<Node>, EditError> {
    fits("YAML is read", body.len())?;
    let options = options! { emit_comments: false };
    let mut reader = Reader {
        body,
        events: Parser::new_from_str_with_options(body, options),
        count: 0,
        budget,
    };
    let mut documents = Vec::new();
    while let Some((event, _)) = reader.next()? {
        if let Event::DocumentStart(..) = event {
            documents.push(reader.node(0)?);
        }
    }
    documents.shrink_to_fit();
    Ok(documents)
}

/// The parser's own limit is 255 for each style.
const DEEPEST: usize = 200;

/// Events between two questions whether to go on.
const EVENTS: usize = 4096;

struct Reader<'a> {
    body: &'a str,
    events: Parser<'a, StrInput<'a>>,
    /// Events so far.
    count: usize,
    budget: &'a Budget<'a>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Range<usize>)>, EditError> {
        if self.count.is_multiple_of(EVENTS) {
            self.budget.go_on()?;
        }
        self.count += 1;
        match self.events.next() {
            None => Ok(None),
            Some(Ok((event, span))) => Ok(Some((event, span.byte_range().unwrap_or_default()))),
            Some(Err(error)) => Err(self.invalid(error.info(), error.marker().byte_offset())),
        }
    }

    fn invalid(&self, problem: impl Into<String>, at: impl Into<Option<usize>>) -> EditError {
        Language::Yaml.invalid(problem, self.body, at)
    }

    fn too_early(&self) -> EditError {
        self.invalid("it ends too early", None)
    }

    fn need(&mut self) -> Result<(Event<'a>, Range<usize>), EditError> {
        self.next()?.ok_or_else(|| self.too_early())
    }

    fn node(&mut self, depth: usize) -> Result<Node, EditError> {
        let (event, span) = self.need()?;
        self.node_of(event, span, depth)
    }

    fn node_of(
        &mut self,
        event: Event<'a>,
        mut span: Range<usize>,
        depth: usize,
    ) -> Result<Node, EditError> {
        if depth > DEEPEST {
            return Err(self.invalid(format!("more than {DEEPEST} levels"), span.start));
        }
        let (content, anchor, tag, style) = match event {
            Event::Alias(number) => (Content::Alias(number), 0, None, Style::Plain),
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                let mut text = text.into_owned();
                text.shrink_to_fit();
                let style = Style::of_scalar(style);
                if style == Style::BlockScalar && self.ends_in_text(&span) && text.ends_with('\n') {
                    text.truncate(text.len() - 1);
                }
                let content = if plain && may_be_other(&text) {
                    Content::Other(text)
                } else {
                    Content::Text(text)
                };
                (content, anchor, tag, style)
            }
            Event::SequenceStart(style, anchor, tag) => {
                let mut items = Vec::new();
                span.end = loop {
                    match self.need()? {
                        (Event::SequenceEnd, end) => break end.end,
                        (event, span) => items.push(Part {
                            key: None,
                            value: self.node_of(event, span, depth + 1)?,
                        }),
                    }
                };
                items.shrink_to_fit();
                (
                    Content::Items(items),
                    anchor,
                    tag,
                    Style::of_structure(style),
                )
            }
            Event::MappingStart(style, anchor, tag) => {
                let mut members: Vec<Part> = Vec::new();
                span.end = loop {
                    match self.need()? {
                        (Event::MappingEnd, end) => break end.end,
                        (event, span) => {
                            if style == StructureStyle::Block {
                                self.no_tab(span.start)?;
                            }
                            let key = self.node_of(event, span, depth + 1)?;
                            let mut value = self.node(depth + 1)?;
                            if value.is_empty() && value.anchor == 0 {
                                // The parser places it before the colon.
                                let at = after(self.body, key.span.end, ':');
                                value.span = at.map_or(value.span, |at| at..at);
                            }
                            let key = Some(Box::new(key));
                            members.push(Part { key, value });
                        }
                    }
                };
                members.shrink_to_fit();
                self.no_duplicates(&members)?;
                (
                    Content::Members(members),
                    anchor,
                    tag,
                    Style::of_structure(style),
                )
            }
            _ => return Err(self.too_early()),
        };
        Ok(Node {
            content,
            anchor,
            tag: tag.map(|tag| tag.original()),
            style,
            span,
        })
    }

    /// Whether the text of a block scalar goes up to the very end of the file. Such a line has no line
    /// end, though the parser adds one (YAML 1.2.2, rule 165).
    fn ends_in_text(&self, span: &Range<usize>) -> bool {
        let end = self.body.len();
        span.end == end && !line_before(self.body, end).trim_matches(' ').is_empty()
    }

    /// Tabs are no indentation, though the parser lets them after spaces.
    fn no_tab(&self, at: usize) -> Result<(), EditError> {
        let line = line_before(self.body, at);
        if let Some(tab) = line.find('\t')
            && line.trim().is_empty()
        {
            let tab = at - line.len() + tab;
            return Err(self.invalid("a tab in the indentation; use spaces", tab));
        }
        Ok(())
    }

    fn no_duplicates(&self, members: &[Part]) -> Result<(), EditError> {
        let mut seen = HashSet::new();
        for member in members {
            if !seen.insert(member.key.as_ref().map(|key| &key.content)) {
                let name = member.name().unwrap_or("…");
                return Err(self.invalid(format!("duplicate key `{name}`"), member.start()));
            }
        }
        Ok(())
    }
}

impl Style {
    fn of_scalar(style: ScalarStyle) -> Self {
        match style {
            ScalarStyle::SingleQuoted => Self::SingleQuoted,
            ScalarStyle::DoubleQuoted => Self::DoubleQuoted,
            ScalarStyle::Literal | ScalarStyle::Folded => Self::BlockScalar,
            ScalarStyle::Plain => Self::Plain,
        }
    }

    fn of_structure(style: StructureStyle) -> Self {
        match style {
            StructureStyle::Flow => Self::Flow,
            StructureStyle::Block => Self::Block,
        }
    }
}

/// Whether a reader of YAML 1.1 or 1.2 may take plain text for null, a truth value, a number, a date, a time, a
/// merge key or the like. In doubt, the answer is yes.
pub(super) fn may_be_other(text: &str) -> bool {
    const WORDS: [&str; 16] = [
        "", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", "=", "<<", ".inf",
        ".nan", "-.inf",
    ];
    let lower = text.to_ascii_lowercase();
    WORDS.contains(&lower.as_str()) || lower == "+.inf" || may_be_number(&lower)
}

/// Starts like a number and has nothing that no number, date or time has.
fn may_be_number(lower: &str) -> bool {
    let digits = lower.trim_start_matches(['-', '+', '.']);
    let number = |c: char| c.is_ascii_hexdigit() || "_:.+-xotz, ".contains(c);
    digits.starts_with(|c: char| c.is_ascii_digit()) && lower.chars().all(number)
}

/// The end of the last line before this byte that is not empty. A line that only begins before it is
/// not looked at, if it begins with blanks.
fn end_of_lines(body: &str, at: usize) -> usize {
    let text = body.get(..at).unwrap_or_default();
    let last = line_start(body, at);
    let text = match text.get(last..) {
        Some(line) if line.trim_matches(' ').is_empty() => text.get(..last).unwrap_or_default(),
        _ => text,
    };
    text.trim_end_matches(['\n', '\r']).len()
}

/// The next byte that is neither blank nor in a comment.
pub(super) fn skip(body: &str, mut at: usize) -> usize {
    loop {
        let rest = body.get(at..).unwrap_or_default();
        let blank = rest.len() - rest.trim_start().len();
        at += blank;
        if !body.get(at..).is_some_and(|rest| rest.starts_with('#')) {
            return at;
        }
        at = line_end(body, at);
    }
}

/// The byte after this indicator, if it comes next.
pub(super) fn after(body: &str, at: usize, indicator: char) -> Option<usize> {
    let at = skip(body, at);
    let rest = body.get(at..)?;
    rest.starts_with(indicator)
        .then_some(at + indicator.len_utf8())
}

/// The byte after so many anchors and tags that come next.
pub(super) fn after_properties(body: &str, mut at: usize, count: usize) -> Option<usize> {
    for _ in 0..count {
        at = skip(body, at);
        let rest = body.get(at..)?.strip_prefix(['&', '!'])?;
        let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '{' | '}');
        at += 1 + match rest.strip_prefix('<') {
            Some(_) => rest.find('>')? + 1,
            None => rest.find(ends).unwrap_or(rest.len()),
        };
    }
    Some(at)
}
