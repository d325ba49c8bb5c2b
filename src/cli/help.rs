//! What `--help` and the manual pages say beside the flags: verbs in groups, and for each verb examples and exit codes.
//! The texts stand in `pages.txt`.

use clap::Command;

const PAGES: &str = include_str!("pages.txt");

/// A group of verbs: its title, and its pages.
struct VerbGroup {
    title: &'static str,
    pages: Vec<VerbPage>,
}

struct VerbPage {
    /// The verb, or `catalog` and a verb below it.
    verb: &'static str,
    examples: &'static str,
    codes: &'static str,
}

fn groups() -> impl Iterator<Item = VerbGroup> {
    PAGES.split("\n# ").skip(1).map(|group| {
        let mut parts = group.split("\n== ");
        VerbGroup {
            title: parts.next().unwrap_or_default(),
            pages: parts.filter_map(page).collect(),
        }
    })
}

fn page(text: &'static str) -> Option<VerbPage> {
    let (verb, text) = text.split_once('\n')?;
    let (examples, codes) = text.split_once("\n\n")?;
    let (examples, codes) = (examples.trim_end(), codes.trim_end());
    Some(VerbPage {
        verb,
        examples,
        codes,
    })
}

/// The command with its verbs in groups, and with the text of each verb's page.
pub(super) fn with_pages(cli: Command) -> Command {
    let template = template(&cli);
    let verbs = groups().flat_map(|group| group.pages);
    let verbs = verbs.filter(|page| !page.verb.contains(' '));
    verbs
        .fold(cli, |cli, page| {
            cli.mut_subcommand(page.verb, |verb| verb.after_help(of(page.verb)))
        })
        .after_help(of("run"))
        .help_template(template)
}

/// What the help of that verb says below its flags.
pub(super) fn of(verb: &str) -> String {
    let mut pages = groups().flat_map(|group| group.pages);
    let page = pages.find(|page| page.verb == verb);
    page.map_or_else(String::new, |page| {
        let (examples, codes) = (indented(page.examples), indented(page.codes));
        format!("Examples:\n{examples}\n\nExit codes:\n{codes}")
    })
}

/// The template of `oneact --help`, which lists the verbs in groups.
fn template(cli: &Command) -> String {
    let line = |page: &VerbPage| {
        let about = cli.find_subcommand(page.verb).and_then(Command::get_about);
        let about = about.map(ToString::to_string);
        format!("  {:<12} {}\n", page.verb, about.unwrap_or_default())
    };
    let group = |group: VerbGroup| {
        let verbs = group.pages.iter().filter(|page| !page.verb.contains(' '));
        let verbs: String = verbs.map(line).collect();
        format!("\n{}:\n{verbs}", group.title)
    };
    let verbs: String = groups().map(group).collect();
    let head = "{about-with-newline}\n{usage-heading} {usage}";
    format!("{head}\n{verbs}\nOptions of a run:\n{{options}}{{after-help}}\n")
}

fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| format!("  {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::{super::Cli, *};

    /// A verb's name, and the command of it.
    fn verbs() -> Vec<(String, Command)> {
        let mut cli = with_pages(Cli::command());
        cli.build();
        let shown = |command: &Command| -> Vec<Command> {
            let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
            shown.cloned().collect()
        };
        let each = |verb: Command| {
            let name = verb.get_name().to_owned();
            let below = shown(&verb).into_iter();
            let below = below.map(|below| (format!("{name} {}", below.get_name()), below));
            below
                .chain([(name.clone(), verb.clone())])
                .collect::<Vec<_>>()
        };
        shown(&cli).into_iter().flat_map(each).collect()
    }

    #[test]
    fn every_verb_has_one_page_with_examples_of_its_own_and_exit_codes() {
        let mut named: Vec<_> = verbs().into_iter().map(|(name, _)| name).collect();
        let pages: Vec<_> = groups().flat_map(|group| group.pages).collect();
        let mut written: Vec<_> = pages.iter().map(|page| page.verb.to_owned()).collect();
        named.sort();
        written.sort();
        assert_eq!(written, named);
        for page in pages {
            let verb = format!("oneact {}", page.verb);
            let mut lines = page.examples.lines();
            assert!(lines.any(|line| line.contains(&verb)), "{verb}");
            assert!(
                page.codes.contains("0    ") || page.verb == "catalog",
                "{verb}"
            );
        }
    }

    #[test]
    fn the_help_of_a_verb_begins_with_its_sentence_and_ends_with_its_page() {
        for (name, mut verb) in verbs() {
            let about = verb.get_about().unwrap().to_string();
            assert!(verb.get_long_about().is_none(), "{name}");
            let help = verb.render_long_help().to_string();
            assert!(help.starts_with(&about), "{name}: {help}");
            assert!(help.trim_end().ends_with(&of(&name)), "{name}: {help}");
        }
    }

    #[test]
    fn no_line_of_a_page_is_broken() {
        assert!(PAGES.lines().all(|line| line.chars().count() <= 96));
    }
}
