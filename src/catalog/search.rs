//! Finds entries by words: an exact id or alias first, then the beginning of an alias, then by BM25
//! (Robertson and Zaragoza, 2009) over all describing words.

use std::collections::{HashMap, HashSet};

use super::listing::Listed;

/// A found entry.
#[derive(Debug, PartialEq)]
pub(crate) struct Hit<'l> {
    pub(crate) id: &'l str,
    pub(crate) matched: Matched<'l>,
}

/// How the query matches.
#[derive(Debug, PartialEq)]
pub(crate) enum Matched<'l> {
    Id,
    Alias(&'l str),
    AliasBeginning(&'l str),
    /// The words of the query that the entry has, in the order of the query.
    Words(Vec<String>),
}

/// BM25's usual constants: how soon a repeated word stops to count, and how much a long text is discounted.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;

/// The entries that match the query, the best first; equal ones by id.
pub(crate) fn search<'l>(listed: &[&'l Listed], query: &str) -> Vec<Hit<'l>> {
    let query = query.trim().to_lowercase();
    let documents: Vec<Vec<String>> = listed.iter().map(|entry| document(entry)).collect();
    let asked = telling(words(&query), &documents);
    let scores = Scores::of(&documents, &asked);
    let mut hits: Vec<(u8, f64, Hit<'l>)> = Vec::new();
    for (entry, document) in listed.iter().zip(&documents) {
        let alias = |fits: &dyn Fn(&str) -> bool| {
            let mut aliases = entry.words.aliases.iter().map(String::as_str);
            aliases.find(|alias| fits(&alias.to_lowercase()))
        };
        let score = scores.score(document);
        let (rank, matched) = if entry.id.to_lowercase() == query {
            (0, Matched::Id)
        } else if let Some(alias) = alias(&|alias| alias == query) {
            (0, Matched::Alias(alias))
        } else if let Some(alias) = alias(&|alias| !query.is_empty() && alias.starts_with(&query)) {
            (1, Matched::AliasBeginning(alias))
        } else if score > 0.0 {
            let has = |word: &&String| document.contains(word);
            (
                2,
                Matched::Words(asked.iter().filter(has).cloned().collect()),
            )
        } else {
            continue;
        };
        let id = entry.id.as_str();
        hits.push((rank, score, Hit { id, matched }));
    }
    hits.sort_by(|a, b| {
        let by_score = b.1.total_cmp(&a.1);
        a.0.cmp(&b.0).then(by_score).then(a.2.id.cmp(b.2.id))
    });
    hits.into_iter().map(|(_, _, hit)| hit).collect()
}

/// All words by which an entry is found.
fn document(entry: &Listed) -> Vec<String> {
    let described = &entry.words;
    let texts = [entry.id.as_str(), &described.description].into_iter();
    let texts = texts.chain(described.name.as_deref());
    let lists = [&described.aliases, &described.tags, &described.examples];
    let texts = texts.chain(lists.into_iter().flatten().map(String::as_str));
    texts.flat_map(|text| words(&text.to_lowercase())).collect()
}

/// The words of a text in lower case, in their order.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The different words that tell entries apart: those that at most half of the entries have. If there is none, all
/// different words.
fn telling(mut asked: Vec<String>, documents: &[Vec<String>]) -> Vec<String> {
    let mut known = HashSet::new();
    asked.retain(|word| word.chars().count() > 1 && known.insert(word.clone()));
    let rare = |word: &&String| {
        let with = documents
            .iter()
            .filter(|words| words.contains(word))
            .count();
        (1..=documents.len() / 2).contains(&with)
    };
    let rare: Vec<String> = asked.iter().filter(rare).cloned().collect();
    if rare.is_empty() { asked } else { rare }
}

/// The weight of each word of a query, among these documents.
struct Scores {
    weights: HashMap<String, f64>,
    average: f64,
}

impl Scores {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a catalog has less than 2^52 words"
    )]
    fn of(documents: &[Vec<String>], asked: &[String]) -> Self {
        let all = documents.len() as f64;
        let words: usize = documents.iter().map(Vec::len).sum();
        let weight = |word: &String| {
            let with = documents
                .iter()
                .filter(|words| words.contains(word))
                .count() as f64;
            (word.clone(), ((all - with + 0.5) / (with + 0.5)).ln_1p())
        };
        Self {
            weights: asked.iter().map(weight).collect(),
            average: words as f64 / all.max(1.0),
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a catalog has less than 2^52 words"
    )]
    fn score(&self, document: &[String]) -> f64 {
        let length = document.len() as f64 / self.average.max(1.0);
        let discount = SATURATION * LENGTH.mul_add(length, 1.0 - LENGTH);
        let score = |(word, weight): (&String, &f64)| {
            let times = document.iter().filter(|each| *each == word).count() as f64;
            weight * times * (SATURATION + 1.0) / (times + discount)
        };
        self.weights.iter().map(score).sum()
    }
}
