//! Writes the pins of tools into the text of a catalog. Everything else of the text stays as it is.

use toml_edit::{DocumentMut, Item, Value};

use crate::task::Pin;

/// The text with these pins, by the ids of their capabilities. The error says which one has no place.
pub(crate) fn pinned(text: &str, pins: &[(String, Pin)]) -> Result<String, String> {
    let (mark, lines) = match text.strip_prefix('\u{feff}') {
        Some(lines) => ("\u{feff}", lines),
        None => ("", text),
    };
    let returns = lines.matches("\r\n").count();
    if returns > 0 && returns < lines.matches('\n').count() {
        return Err("its lines end in two ways, so the pins have to be added by hand".to_owned());
    }
    let mut document: DocumentMut = lines
        .parse()
        .map_err(|error: toml_edit::TomlError| error.to_string())?;
    for (id, pin) in pins {
        let capabilities = document.get_mut("capability");
        let entry = capabilities.and_then(|all| all.as_table_like_mut()?.get_mut(id));
        let entry = entry
            .and_then(Item::as_table_like_mut)
            .ok_or_else(|| format!("the catalog has no table [capability.{id}]"))?;
        let mut value = Value::from(pin.to_string());
        if let Some(old) = entry.get("pin").and_then(Item::as_value) {
            *value.decor_mut() = old.decor().clone();
        }
        entry.insert("pin", value.into());
    }
    let mut lines = document.to_string();
    if returns > 0 {
        lines = lines.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    Ok(format!("{mark}{lines}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_the_order_of_keys_stay() {
        let pin = Pin::of("echo", None, None, None);
        let pins = ["A", "B", "C"].map(|id| (id.to_owned(), pin.clone()));
        let before = "catalog = 1 # format\n\n[capability.A] # first\nmcp   = { tool = \"echo\" }\n\n[capability.A.result]\n\
                      kind = \"metadata\"\n\n# second\n[capability.B]\npin = \"old\"   # of May\nmcp = {}\n";
        let inline = "[capability]\nC = { mcp = { tool = \"echo\" } }\n";
        let after = pinned(before, &pins[..2]).unwrap();
        let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
        assert_eq!(
            pinned(&windows(before), &pins[..2]).unwrap(),
            windows(&after)
        );
        assert!(pinned(&before.replacen('\n', "\r\n", 1), &pins[..2]).is_err());
        let added = format!("mcp   = {{ tool = \"echo\" }}\npin = \"{pin}\"\n");
        let expected = before
            .replace("mcp   = { tool = \"echo\" }\n", &added)
            .replace("\"old\"", &format!("\"{pin}\""));
        assert_eq!(after, expected);
        let inside = pinned(inline, &pins[2..]).unwrap();
        let parsed: toml::Table = inside.parse().unwrap();
        assert_eq!(
            parsed["capability"]["C"]["pin"].as_str(),
            Some(&*pin.to_string())
        );
        assert!(pinned(before, &pins).is_err());
    }
}
