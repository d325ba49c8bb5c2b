//! Names for several of one kind, of which no two are the same.

use std::collections::{HashMap, HashSet};

/// The names in their order; of those that come again the second is `NAME#2`.
pub fn numbered<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    // The last number that each name was given.
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let own = |name: &'a str| {
        let number = numbers.entry(name).or_insert(1);
        let mut own = name.to_owned();
        while !taken.insert(own.clone()) {
            *number += 1;
            own = format!("{name}#{number}");
        }
        own
    };
    names.into_iter().map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_have_the_same_name() {
        let names = numbered(["A", "B", "A", "A", "A#2"]);
        assert_eq!(names, ["A", "B", "A#2", "A#3", "A#2#2"]);
    }

    /// Compared one by one, these would be 10^14 comparisons.
    #[test]
    fn a_hundred_thousand_equal_names_are_numbered_in_one_pass() {
        let names = numbered(std::iter::repeat_n("A", 100_000));
        assert_eq!(names.last().map(String::as_str), Some("A#100000"));
    }
}
