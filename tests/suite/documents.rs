//! What README and docs show is true: each catalog passes `oneact catalog check`.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};

use crate::program::{Root, text};

/// README and the pages of docs, with their names.
fn pages() -> Vec<(String, String)> {
    let root = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = root.join("docs").read_dir_utf8().unwrap();
    let docs = docs.map(|entry| entry.unwrap().path().to_owned());
    let docs = docs.filter(|path| path.extension() == Some("md"));
    let read = |path: Utf8PathBuf| {
        let page = fs::read_to_string(&path).unwrap();
        (path.file_name().unwrap().to_owned(), page)
    };
    docs.chain([root.join("README.md")]).map(read).collect()
}

/// The catalogs and parts of catalogs that a page shows.
fn catalogs(page: &str) -> Vec<String> {
    let blocks = [("```toml\n", "```"), ("catalog.toml <<'EOF'\n", "\nEOF\n")];
    let shown = blocks.into_iter().flat_map(|(begin, end)| {
        let blocks = page.split(begin).skip(1);
        blocks.map(move |block| block.split(end).next().unwrap_or_default())
    });
    let shown = shown.filter(|block| block.contains("[server.") || block.contains("[pipeline."));
    let whole = |block: &str| {
        let head = "catalog = 1\n";
        let head = if block.contains(head) { "" } else { head };
        format!("{head}{block}")
    };
    shown.map(whole).collect()
}

#[test]
fn every_catalog_that_a_page_shows_passes_the_check_without_a_warning() {
    let mut shown = 0;
    for (name, page) in pages() {
        for catalog in catalogs(&page) {
            let root = Root::with_catalog(&catalog);
            let mut command = root.command();
            let output = command.args(["catalog", "check", "--strict"]).output();
            let output = output.unwrap();
            let said = text(&output.stdout[..]);
            assert_eq!(output.status.code(), Some(0), "{name}: {said}\n{catalog}");
            shown += 1;
        }
    }
    assert!(shown >= 10, "{shown}");
}
