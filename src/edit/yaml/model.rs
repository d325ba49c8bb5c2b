//! The meaning of a YAML text: the events of `serde-saphyr`'s parser as a tree. Scalars keep their text, and
//! aliases stay aliases.

use std::{collections::HashSet, ops::Range};

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, StrInput, StructureStyle, options};

use super::lines::{after, line_before};
use crate::edit::{
    Budget, EditError, Language,
    budget::readable,
    path::{PathStep, item},
    text::without_end,
};

/// A node. A comparison ignores its place, spelling and style.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) content: Content,
    /// The members of a mapping, or the items of a sequence.
    pub(super) parts: Vec<Part>,
    /// The number of its anchor, in the order of the text; 0 without one.
    pub(super) anchor: usize,
    pub(super) tag: Option<Box<str>>,
    pub(super) style: Style,
    /// Bytes, without anchor and tag. A block scalar starts after its header. Comments and blank lines after it are not
    /// its own, unless its text holds them.
    pub(super) span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Content {
    /// Quoted, block, or plain text that is a string in every version of YAML.
    Text(Box<str>),
    /// Plain text that may be a number, a truth value, null, a date …: as written.
    Other(Box<str>),
    Sequence,
    Mapping,
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
        (self.anchor, &self.tag, &self.content, &self.parts)
            == (other.anchor, &other.tag, &other.content, &other.parts)
    }
}

impl Eq for Node {}

impl std::hash::Hash for Node {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.content, &self.parts).hash(state);
    }
}

impl Node {
    /// The index of the part to which the step leads.
    pub(super) fn index(&self, step: &PathStep) -> Option<usize> {
        match (step, &self.content) {
            (PathStep::Name(name), Content::Mapping) => {
                let mut names = self.parts.iter().map(Part::name);
                names.position(|key| key == Some(name))
            }
            (PathStep::Index(index), Content::Sequence) => item(*index, self.parts.len()),
            _ => None,
        }
    }

    /// The node to which these steps lead, to be changed.
    pub(super) fn at_mut(&mut self, steps: &[PathStep]) -> Option<&mut Self> {
        steps.iter().try_fold(self, |node, step| {
            let index = node.index(step)?;
            Some(&mut node.parts.get_mut(index)?.value)
        })
    }

    /// The last node in it, in the order of the text.
    pub(super) fn last(&self) -> &Self {
        match (self.style, self.parts.last()) {
            (Style::Block, Some(last)) => last.value.last(),
            _ => self,
        }
    }

    /// Whether nothing is written in its place.
    pub(super) fn is_empty(&self) -> bool {
        self.style == Style::Plain && self.span.is_empty()
    }

    /// It and everything in it.
    fn nodes(&self) -> Vec<&Self> {
        let mut nodes = vec![self];
        let mut done = 0;
        while let Some(node) = nodes.get(done).copied() {
            for part in &node.parts {
                nodes.extend(part.key.as_deref());
                nodes.push(&part.value);
            }
            done += 1;
        }
        nodes
    }

    /// The anchors in it.
    pub(super) fn anchors(&self) -> Vec<usize> {
        let anchors = self.nodes().into_iter().map(|node| node.anchor);
        anchors.filter(|anchor| *anchor > 0).collect()
    }

    /// How many aliases of these anchors are in it.
    pub(super) fn aliases(&self, anchors: &[usize]) -> usize {
        let is_one =
            |node: &&Self| matches!(node.content, Content::Alias(to) if anchors.contains(&to));
        self.nodes().into_iter().filter(is_one).count()
    }

    /// Calls this for it and everything in it, in the order of the text.
    pub(super) fn each_mut(&mut self, call: &mut impl FnMut(&mut Self)) {
        call(self);
        for part in &mut self.parts {
            part.key.iter_mut().for_each(|key| key.each_mut(call));
            part.value.each_mut(call);
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match &self.content {
            Content::Text(_) | Content::Other(_) => "a scalar",
            Content::Sequence => "a sequence",
            Content::Mapping => "a mapping",
            Content::Alias(_) => "an alias",
        }
    }
}

/// Reads every document of the text. Duplicate keys, also of other spelling, are an error. A text that is
/// too long is not begun.
pub(super) fn read(body: &str, budget: &Budget<'_>) -> Result<Vec<Node>, EditError> {
    readable("YAML is read", body.len())?;
    // The last line of a block scalar has no line end if the file has none (YAML 1.2.2, rule 165).
    let options = options! { emit_comments: false, block_scalar_eof_without_line_feed: true };
    let mut reader = Reader {
        body,
        events: Parser::new_from_str_with_options(body, options),
        count: 0,
        budget,
    };
    let mut documents = Vec::new();
    loop {
        match reader.next()?.0 {
            Event::DocumentStart(..) => {
                let first = reader.next()?;
                documents.push(reader.node(first, 0)?);
            }
            Event::StreamEnd => break,
            _ => {}
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

/// An event, and its bytes.
type Token<'a> = (Event<'a>, Range<usize>);

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Token<'a>, EditError> {
        if self.count.is_multiple_of(EVENTS) {
            self.budget.go_on()?;
        }
        self.count += 1;
        match self.events.next() {
            None => Ok((Event::StreamEnd, 0..0)),
            Some(Ok((event, span))) => Ok((event, span.byte_range().unwrap_or_default())),
            Some(Err(error)) => Err(self.invalid(error.info(), error.marker().byte_offset())),
        }
    }

    fn invalid(&self, problem: impl Into<String>, at: impl Into<Option<usize>>) -> EditError {
        EditError::invalid(Language::Yaml, problem, self.body, at)
    }

    fn node(&mut self, (event, mut span): Token<'a>, depth: usize) -> Result<Node, EditError> {
        if depth > DEEPEST {
            return Err(self.invalid(format!("more than {DEEPEST} levels"), span.start));
        }
        let style = Style::of(&event);
        let mut parts = Vec::new();
        let (content, anchor, tag) = match event {
            Event::Alias(number) => (Content::Alias(number), 0, None),
            Event::Scalar(text, _, anchor, tag) => {
                if style == Style::BlockScalar {
                    span.end = self.end_of_lines(&text, span.end);
                }
                let content = if style == Style::Plain && may_be_other(&text) {
                    Content::Other(text.into())
                } else {
                    Content::Text(text.into())
                };
                (content, anchor, tag)
            }
            Event::SequenceStart(_, anchor, tag) => {
                while let Some(first) = self.inside(&mut span)? {
                    let value = self.node(first, depth + 1)?;
                    parts.push(Part { key: None, value });
                }
                (Content::Sequence, anchor, tag)
            }
            Event::MappingStart(_, anchor, tag) => {
                while let Some(first) = self.inside(&mut span)? {
                    if style == Style::Block {
                        self.no_tab(first.1.start)?;
                    }
                    parts.push(self.member(first, depth + 1)?);
                }
                self.no_duplicates(&parts)?;
                (Content::Mapping, anchor, tag)
            }
            _ => return Err(self.invalid("it ends too early", None)),
        };
        if let (Style::Block, Some(last)) = (style, parts.last()) {
            span.end = last.value.span.end;
        }
        parts.shrink_to_fit();
        Ok(Node {
            content,
            parts,
            anchor,
            tag: tag.map(|tag| tag.original().into()),
            style,
            span,
        })
    }

    /// The next event inside of a collection; at its end none, and the collection's span ends there.
    fn inside(&mut self, span: &mut Range<usize>) -> Result<Option<Token<'a>>, EditError> {
        let (event, at) = self.next()?;
        if matches!(event, Event::SequenceEnd | Event::MappingEnd) {
            span.end = at.end;
            return Ok(None);
        }
        Ok(Some((event, at)))
    }

    fn member(&mut self, first: Token<'a>, depth: usize) -> Result<Part, EditError> {
        let key = self.node(first, depth)?;
        let first = self.next()?;
        let mut value = self.node(first, depth)?;
        if value.is_empty() && value.anchor == 0 {
            // The parser places it before the colon.
            let at = after(self.body, key.span.end, ':');
            value.span = at..at;
        }
        let key = Some(Box::new(key));
        Ok(Part { key, value })
    }

    /// Where the lines of a block scalar end. The parser's span may end in the indentation of the next line.
    fn end_of_lines(&self, read: &str, end: usize) -> usize {
        let text = self.body.get(..end).unwrap_or_default();
        let text = text.trim_end_matches(' ');
        if read == "\n" || read.ends_with("\n\n") {
            return without_end(text).len();
        }
        text.trim_end_matches(['\n', '\r']).len()
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
        for (member, key) in members.iter().filter_map(|it| Some((it, it.key.as_ref()?))) {
            if !seen.insert((&key.content, &key.parts)) {
                let name = member.name().unwrap_or("…");
                return Err(self.invalid(format!("duplicate key `{name}`"), key.span.start));
            }
        }
        Ok(())
    }
}

impl Style {
    fn of(event: &Event<'_>) -> Self {
        match event {
            Event::Scalar(_, ScalarStyle::SingleQuoted, ..) => Self::SingleQuoted,
            Event::Scalar(_, ScalarStyle::DoubleQuoted, ..) => Self::DoubleQuoted,
            Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..) => Self::BlockScalar,
            Event::SequenceStart(StructureStyle::Flow, ..)
            | Event::MappingStart(StructureStyle::Flow, ..) => Self::Flow,
            Event::SequenceStart(..) | Event::MappingStart(..) => Self::Block,
            _ => Self::Plain,
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
