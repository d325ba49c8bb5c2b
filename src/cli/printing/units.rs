//! Numbers, durations and sizes as people read them.

/// `1284` as `1 284`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// `1 file`, `2 files`, `1 entry`, `2 entries`
pub(crate) fn counted(number: u64, what: &str) -> String {
    match (number, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {what}s"),
    }
}

/// `0.4 s`, `3 min 05 s`
pub(crate) fn duration(ms: u64) -> String {
    if ms < 100_000 {
        let tenths = ms.saturating_add(50) / 100;
        return format!("{}.{} s", tenths / 10, tenths % 10);
    }
    let seconds = ms / 1000;
    format!("{} min {:02} s", seconds / 60, seconds % 60)
}

/// `1.4 MB`
pub(crate) fn size(bytes: u64) -> String {
    if bytes < 1000 {
        return format!("{bytes} bytes");
    }
    let (mut tenths, mut unit) = (bytes / 100, "kB");
    for larger in ["MB", "GB", "TB"] {
        if tenths >= 10_000 {
            (tenths, unit) = (tenths / 1000, larger);
        }
    }
    if tenths >= 100 {
        format!("{} {unit}", tenths / 10)
    } else {
        format!("{}.{} {unit}", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_are_told_in_few_digits() {
        let told = [0, 449, 48_249, 99_949, 185_000].map(duration);
        assert_eq!(told, ["0.0 s", "0.4 s", "48.2 s", "99.9 s", "3 min 05 s"]);
        let told = [0, 999, 1_400, 99_900, 1_400_000, 20_000_000, 3_200_000_000].map(size);
        assert_eq!(
            told,
            [
                "0 bytes",
                "999 bytes",
                "1.4 kB",
                "99 kB",
                "1.4 MB",
                "20 MB",
                "3.2 GB"
            ]
        );
    }

    #[test]
    fn numbers_are_grouped_by_thousands_and_counted() {
        let all = [0, 999, 1000, 1284, 1_234_567].map(grouped);
        assert_eq!(all, ["0", "999", "1 000", "1 284", "1 234 567"]);
        let told = [counted(1, "file"), counted(2, "file"), counted(0, "entry")];
        assert_eq!(told, ["1 file", "2 files", "0 entries"]);
    }
}
