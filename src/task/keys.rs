//! Keys that are not known: the key that each was probably meant for, and how a message shows it.

use std::collections::BTreeSet;

/// The most characters of a key that is compared with others, and of a text that a message shows.
const MOST_COMPARED: usize = 40;
const MOST_SHOWN: usize = 100;

/// Names under which a task or a plan asks not to be performed. Only the command line can ask for that.
pub(crate) const DRY_RUN: (&str, &str) = ("--dry-run", "dry_run dry_run_only is_dry_run simulate");

/// Names under which a task or a plan asks for the approval of a person.
pub(crate) const APPROVAL: &str = "human_approval_required requires_approval approval_required";

/// The known key of which this is another name. Each known key is given with the names in use for it, in one text.
/// Capitals, hyphens and underscores make no difference.
pub(crate) fn named<'k>(
    key: &str,
    known: impl IntoIterator<Item = (&'k str, &'k str)>,
) -> Option<&'k str> {
    let key = plain(key);
    let is_key = |names: &str| names.split(' ').any(|name| plain(name) == key);
    let mut known = known.into_iter();
    known.find_map(|(known, names)| is_key(names).then_some(known))
}

/// The key that an unknown one was probably meant for: [`named`] with typing errors. `*args` stands for every name that
/// ends so.
pub(crate) fn meant<'k>(
    key: &str,
    known: impl IntoIterator<Item = (&'k str, &'k str)>,
) -> Option<&'k str> {
    if key.chars().nth(MOST_COMPARED).is_some() {
        return None;
    }
    let key = plain(key);
    let known = known.into_iter();
    let names = known.flat_map(|(known, names)| names.split(' ').map(move |name| (known, name)));
    let near = names.filter_map(|(known, name)| Some((slips(&key, name, known)?, known)));
    let nearest = near.min_by_key(|(slips, _)| *slips);
    nearest.map(|(_, known)| known)
}

/// With how many typing errors a key is this name of a known key; `None` if they are too many. The shorter the name, the
/// fewer.
fn slips(key: &str, name: &str, known: &str) -> Option<usize> {
    if let Some(ending) = name.strip_prefix('*') {
        return key.ends_with(ending).then_some(MOST_COMPARED);
    }
    let is_known = name == known;
    let name = plain(name);
    let (length, key_length) = (name.chars().count(), key.chars().count());
    let most = match length {
        0..=3 => 0,
        4 => usize::from(is_known && key_length > length),
        _ => (length / 4).min(3),
    };
    let slips = strsim::damerau_levenshtein(key, &name);
    (slips <= most && key_length.abs_diff(length) <= 1).then_some(slips)
}

/// The letters and digits of a name in lower case: hyphens, underscores and spaces make no difference.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// The beginning of a foreign text, with unprintable characters escaped.
pub(crate) fn printable(text: &str) -> String {
    let short: String = text.chars().take(MOST_SHOWN).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{}{more}", short.escape_debug())
}

/// The same in quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", printable(text))
}

/// `a`, `b`, `c`
pub(crate) fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words = words.into_iter().map(|word| format!("`{word}`"));
    words.collect::<Vec<_>>().join(", ")
}

/// The first few of these texts, and how many more there are.
pub(crate) fn few(texts: impl IntoIterator<Item: ToString>, most: usize, between: &str) -> String {
    let texts = texts.into_iter().map(|text| text.to_string());
    let texts: Vec<String> = texts.collect();
    let told = texts.get(..most).unwrap_or(&texts).join(between);
    let mark = between.get(..1).unwrap_or_default();
    match texts.len().saturating_sub(most) {
        0 => told,
        more => format!("{told}{mark} and {more} more"),
    }
}

/// The most similar known name for a hint, whatever its case. It need not be as near as what is [`meant`].
pub(crate) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let known: Vec<(String, &str)> = known
        .into_iter()
        .map(|it| (it.to_lowercase(), it))
        .collect();
    let plain = known.iter().map(|(plain, _)| plain.as_str());
    let near = alike(&name.to_lowercase(), 0.6, plain)?;
    let mut known = known.iter();
    known.find(|(plain, _)| plain == near).map(|(_, it)| *it)
}

/// The longest known name that is compared, in bytes.
const LONGEST: usize = 200;

/// The most similar known name, if its likeness is at least this: 1 is the same, 0 is nothing in common.
pub(crate) fn alike<'k>(
    name: &str,
    least: f64,
    known: impl IntoIterator<Item = &'k str>,
) -> Option<&'k str> {
    let like = |known| (strsim::normalized_damerau_levenshtein(name, known), known);
    let short = known.into_iter().filter(|known| known.len() <= LONGEST);
    let near = short.map(like).filter(|(likeness, _)| *likeness >= least);
    let nearest = near.max_by(|a, b| a.0.total_cmp(&b.0));
    nearest.map(|(_, known)| known)
}

/// The end of a sentence about a name that is not known.
pub(crate) fn hint<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let near = nearest(name, known);
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// The message `unknown key`, with the name that was probably meant, or with all known names.
pub(crate) fn unknown_key<'a>(
    unknown: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    if let Some(near) = nearest(unknown, known.clone()) {
        return format!("unknown key `{unknown}`; did you mean `{near}`?");
    }
    let known: BTreeSet<&str> = known.into_iter().collect();
    format!("unknown key `{unknown}`; known here: {}", listed(known))
}
