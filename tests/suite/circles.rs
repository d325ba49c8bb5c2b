//! No two files use each other, directly or through others, also if one holds the other. Imports are read as the compiler
//! reads them: grouped, renamed, and through re-exports.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use camino::Utf8Path;
use syn::{
    Attribute, Item, ItemUse, UseTree, Visibility,
    visit::{self, Visit},
};

use crate::tidy::{is_test, sources};

/// The names on the way to a module or an item, from the root of the crate.
type Names = Vec<String>;

/// What one file says of others.
#[derive(Default)]
struct File {
    uses: Vec<Names>,
    /// What it re-exports, by name.
    shows: BTreeMap<String, Names>,
}

struct Reader<'a> {
    module: &'a Names,
    modules: &'a BTreeSet<Names>,
    file: File,
}

impl Reader<'_> {
    /// The same names from the root of the crate; nothing of other crates.
    fn absolute(&self, names: &[String]) -> Option<Names> {
        let (first, rest) = names.split_first()?;
        let own = |rest: &[String]| [self.module, rest].concat();
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some(own(rest)),
            "super" => {
                let above = names.iter().take_while(|name| *name == "super").count();
                let kept = self.module.len().checked_sub(above)?;
                Some([&self.module[..kept], &names[above..]].concat())
            }
            _ => Some(own(names)).filter(|_| self.modules.contains(&own(&names[..1]))),
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !attributes.iter().any(of_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut all = Vec::new();
        flatten(&item.tree, &[], &mut all);
        for (name, names) in all {
            match (self.absolute(&names), &item.vis) {
                (None, _) => {}
                (Some(names), Visibility::Inherited) => self.file.uses.push(names),
                (Some(names), _) => drop(self.file.shows.insert(name, names)),
            }
        }
    }

    /// `pub(super)` uses nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Names = path
            .segments
            .iter()
            .map(|it| it.ident.to_string())
            .collect();
        if names.len() > 1 {
            self.file.uses.extend(self.absolute(&names));
        }
        visit::visit_path(self, path);
    }
}

fn of_tests(attribute: &Attribute) -> bool {
    let is_test = |meta: syn::Path| meta.is_ident("test");
    attribute.path().is_ident("cfg") && attribute.parse_args().is_ok_and(is_test)
}

/// Every import of a tree: the name that it gets, and what it names.
fn flatten(tree: &UseTree, before: &[String], all: &mut Vec<(String, Names)>) {
    let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(path) => flatten(&path.tree, &with(&path.ident), all),
        UseTree::Group(group) => group
            .items
            .iter()
            .for_each(|tree| flatten(tree, before, all)),
        UseTree::Name(name) if name.ident == "self" => {
            all.push((before.last().cloned().unwrap_or_default(), before.to_vec()));
        }
        UseTree::Name(name) => all.push((name.ident.to_string(), with(&name.ident))),
        UseTree::Rename(name) => all.push((name.rename.to_string(), with(&name.ident))),
        UseTree::Glob(_) => all.push(("*".to_owned(), before.to_vec())),
    }
}

/// The file that holds what these names mean, re-exports followed.
fn holder(names: &[String], files: &BTreeMap<Names, File>, followed: usize) -> Names {
    let known = (0..=names.len())
        .rev()
        .find(|count| files.contains_key(&names[..*count]));
    let (module, rest) = names.split_at(known.unwrap());
    let shown = rest.first().and_then(|name| files[module].shows.get(name));
    match shown {
        Some(shown) if followed < 8 && shown != names => {
            holder(&[shown, &rest[1..]].concat(), files, followed + 1)
        }
        _ => module.to_vec(),
    }
}

/// The names of the module that a file of `src` is.
fn module_of(path: &Utf8Path) -> Names {
    let names = path
        .with_extension("")
        .iter()
        .map(str::to_owned)
        .collect::<Names>();
    match names.split_last() {
        Some((last, before)) if last == "mod" || last == "lib" => before.to_vec(),
        _ => names,
    }
}

/// The files that use each other in a circle, by a table of which file uses which.
fn circles(uses: &BTreeMap<Names, BTreeSet<Names>>) -> BTreeSet<Names> {
    let reached = |from: &Names| {
        let mut reached = BTreeSet::new();
        let mut next = vec![from];
        while let Some(at) = next.pop() {
            let new = uses.get(at).into_iter().flatten();
            next.extend(new.filter(|to| reached.insert((*to).clone())));
        }
        reached
    };
    let all = uses
        .keys()
        .filter(|module| reached(module).contains(*module));
    all.cloned().collect()
}

fn read(texts: &BTreeMap<Names, String>) -> BTreeMap<Names, BTreeSet<Names>> {
    let modules: BTreeSet<Names> = texts.keys().cloned().collect();
    let read = |(module, text): (&Names, &String)| {
        let mut reader = Reader {
            module,
            modules: &modules,
            file: File::default(),
        };
        reader.visit_file(&syn::parse_file(text).unwrap());
        (module.clone(), reader.file)
    };
    let files: BTreeMap<Names, File> = texts.iter().map(read).collect();
    let uses = |(module, file): (&Names, &File)| {
        let held = file.uses.iter().map(|names| holder(names, &files, 0));
        (module.clone(), held.filter(|to| to != module).collect())
    };
    files.iter().map(uses).collect()
}

#[test]
fn no_files_use_each_other() {
    let src = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let program = sources().into_iter().filter(|path| !is_test(path));
    let texts = program.map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        let path = Utf8Path::from_path(&path).unwrap();
        (module_of(path.strip_prefix(&src).unwrap()), text)
    });
    let uses = read(&texts.collect());
    assert!(uses.len() > 300, "only {} files", uses.len());
    assert_eq!(circles(&uses), BTreeSet::new());
}

/// The circles of a crate of three files.
fn of(a: &str, b: &str, c: &str) -> Vec<String> {
    let names = |text: &str| text.split("::").map(str::to_owned).collect::<Names>();
    let texts = [
        (Vec::new(), "mod a; mod b;".to_owned()),
        (names("a"), format!("mod c; {a}")),
        (names("b"), b.to_owned()),
        (names("a::c"), c.to_owned()),
    ];
    circles(&read(&texts.into()))
        .iter()
        .map(|names| names.join("::"))
        .collect()
}

#[test]
fn a_circle_is_found_however_it_is_imported() {
    let both = ["a", "b"].map(str::to_owned).to_vec();
    assert_eq!(of("use crate::b::X;", "use crate::a::Y;", ""), both);
    assert_eq!(
        of(
            "use crate::{b::{self, X as Z}};",
            "fn f() { super::a::g() }",
            ""
        ),
        both
    );
    assert_eq!(of("use super::b::*;", "use crate::{a};", ""), both);
    assert_eq!(
        of(
            "pub(crate) use c::Y;",
            "use crate::a::Y;",
            "use crate::b::X;"
        ),
        ["a::c", "b"]
    );
    let nested = ["a", "a::c"].map(str::to_owned).to_vec();
    assert_eq!(of("use c::Y;", "", "use super::X;"), nested);
    assert_eq!(of("fn f() { c::g() }", "", "use crate::a::Z;"), nested);
    assert_eq!(
        of("pub(crate) use c::Y;", "", "use super::X;"),
        Vec::<String>::new()
    );
    assert_eq!(
        of("use c::Y;", "", "pub(super) struct X;"),
        Vec::<String>::new()
    );
    assert_eq!(
        of("use crate::b::X;", "#[cfg(test)] use crate::a::Y;", ""),
        Vec::<String>::new()
    );
    assert_eq!(
        of("use crate::b::X;", "use std::a::Y;", ""),
        Vec::<String>::new()
    );
}
