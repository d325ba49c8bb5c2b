//! Names for several of one kind, of which no two are the same.

/// The names in their order; of those that come again the second is `NAME#2`.
pub fn numbered<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for name in names {
        let mut own = name.to_owned();
        let mut number = 1;
        while all.contains(&own) {
            number += 1;
            own = format!("{name}#{number}");
        }
        all.push(own);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_have_the_same_name() {
        let names = numbered(["A", "B", "A", "A", "A#2"]);
        assert_eq!(names, ["A", "B", "A#2", "A#3", "A#2#2"]);
    }
}
