//! Finds entries by words: an exact id or alias first, then the beginning of an alias, then by the words that few entries
//! have.

use std::collections::HashSet;

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

/// The entries that match the query, the best first; equal ones by id.
pub(crate) fn search<'l>(listed: &[&'l Listed], query: &str) -> Vec<Hit<'l>> {
    let query = query.trim().to_lowercase();
    let documents: Vec<HashSet<String>> = listed.iter().map(|entry| document(entry)).collect();
    let asked = telling(words(&query), &documents);
    let mut hits: Vec<(u8, f64, Hit<'l>)> = Vec::new();
    for (entry, document) in listed.iter().zip(&documents) {
        let alias = |fits: &dyn Fn(&str) -> bool| {
            let mut aliases = entry.common.aliases.iter().map(String::as_str);
            aliases.find(|alias| fits(&alias.to_lowercase()))
        };
        let found = asked.iter().filter(|(word, _)| document.contains(word));
        let score = found.clone().map(|(_, weight)| weight).sum();
        let (rank, matched) = if entry.id.to_lowercase() == query {
            (0, Matched::Id)
        } else if let Some(alias) = alias(&|alias| alias == query) {
            (0, Matched::Alias(alias))
        } else if let Some(alias) = alias(&|alias| !query.is_empty() && alias.starts_with(&query)) {
            (1, Matched::AliasBeginning(alias))
        } else if score > 0.0 {
            let words = found.map(|(word, _)| word.clone());
            (2, Matched::Words(words.collect()))
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
fn document(entry: &Listed) -> HashSet<String> {
    let common = &entry.common;
    let texts = [entry.id.as_str(), &common.description].into_iter();
    let texts = texts.chain(common.name.as_deref());
    let lists = [&common.aliases, &common.tags, &common.examples];
    let texts = texts.chain(lists.into_iter().flatten().map(String::as_str));
    texts.flat_map(|text| words(&text.to_lowercase())).collect()
}

/// The words of a text in lower case, in their order.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// The different words that tell entries apart, with their weights: those that at most half of the entries have. If there is
/// none, all different words.
fn telling(mut asked: Vec<String>, documents: &[HashSet<String>]) -> Vec<(String, f64)> {
    let mut known = HashSet::new();
    asked.retain(|word| word.chars().count() > 1 && known.insert(word.clone()));
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let weighed = asked.into_iter().map(|word| {
        let with = documents.iter().filter(|words| words.contains(&word));
        let share = number(with.count()) / number(documents.len().max(1));
        (word, share)
    });
    let weighed: Vec<(String, f64)> = weighed.filter(|(_, share)| *share > 0.0).collect();
    let has_rare = weighed.iter().any(|(_, share)| *share <= 0.5);
    let telling = weighed
        .into_iter()
        .filter(|(_, share)| !has_rare || *share <= 0.5);
    telling
        .map(|(word, share)| (word, share.recip().ln_1p()))
        .collect()
}
