//! The order of arguments: flags may stand in front of a verb and behind it, and `help` is a flag.

use std::ffi::OsString;

use clap::{Arg, Command};

/// `oneact help VERB` as `oneact VERB --help`.
pub(super) fn help_as_flag(mut args: Vec<OsString>) -> Vec<OsString> {
    if args.get(1).is_some_and(|first| first == "help") {
        args.remove(1);
        args.push("--help".into());
    }
    args
}

/// The same arguments with the flags in front of a verb at their end: flags may stand anywhere.
pub(super) fn flags_last(mut args: Vec<OsString>, cli: impl FnOnce() -> Command) -> Vec<OsString> {
    let mut cli = cli();
    let leads = |first: &OsString| first == "catalog" || first.as_encoded_bytes().starts_with(b"-");
    let is_verb = |arg: &OsString| cli.find_subcommand(arg).is_some();
    // Most calls have no such flag, and building the whole parser takes time. Only `catalog` has verbs of its own.
    if !args.get(1).is_some_and(leads) || !args.iter().any(is_verb) {
        return args;
    }
    cli.build();
    let known = flags(&cli);
    let (mut command, mut from, mut at, mut moved) = (&cli, 1, 1, Vec::new());
    while let Some(word) = args.get(at) {
        if let Some(verb) = command.find_subcommand(word) {
            moved.extend(args.drain(from..at));
            (command, from, at) = (verb, from + 1, from + 1);
        } else if let Some(takes) = takes_next(&word.to_string_lossy(), &known) {
            at += 1 + usize::from(takes);
        } else {
            break;
        }
    }
    // What follows `--` is no flag.
    let end = args.iter().position(|arg| arg == "--");
    let end = end.unwrap_or(args.len());
    args.splice(end..end, moved);
    args
}

/// The flags of a command and of the verbs below it, but not those that print something and end.
fn flags(command: &Command) -> Vec<&Arg> {
    let is_flag =
        |arg: &&Arg| !arg.is_positional() && !["help", "version"].contains(&arg.get_id().as_str());
    let own = command.get_arguments().filter(is_flag);
    own.chain(command.get_subcommands().flat_map(flags))
        .collect()
}

/// Whether the next argument is the value of this flag. `None` if it is none of these flags.
fn takes_next(word: &str, flags: &[&Arg]) -> Option<bool> {
    let (flag, is_whole) = if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').unzip();
        let name = name.unwrap_or(long);
        let flag = flags.iter().find(|flag| flag.get_long() == Some(name));
        (flag, value.is_some())
    } else {
        let mut shorts = word.strip_prefix('-')?.chars();
        let name = shorts.next()?;
        let flag = flags.iter().find(|flag| flag.get_short() == Some(name));
        (flag, shorts.next().is_some())
    };
    Some(flag?.get_action().takes_values() && !is_whole)
}

/// Whether the argument asks for more words: `--verbose`, `-v`, `-vV`.
pub(super) fn is_verbose(arg: &OsString) -> bool {
    let arg = arg.to_string_lossy();
    arg == "--verbose" || (arg.starts_with('-') && !arg.starts_with("--") && arg.contains('v'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_a_flag_behind_the_verb() {
        let args = |words: &str| words.split(' ').map(OsString::from).collect();
        let asked: Vec<OsString> = args("oneact help catalog check");
        let flagged: Vec<OsString> = args("oneact catalog check --help");
        assert_eq!(help_as_flag(asked), flagged);
        let other: Vec<OsString> = args("oneact show help");
        assert_eq!(help_as_flag(other.clone()), other);
    }

    #[test]
    fn flags_in_front_of_a_verb_move_behind_it() {
        use clap::CommandFactory as _;
        let args = |words: &str| words.split(' ').map(OsString::from).collect::<Vec<_>>();
        let moved = |words: &str| flags_last(args(words), super::super::Cli::command);
        for (said, meant) in [
            ("oneact --root D run F", "oneact run F --root D"),
            ("oneact --root=D -q run -- F", "oneact run --root=D -q -- F"),
            (
                "oneact --json catalog --root D show X",
                "oneact catalog show X --json --root D",
            ),
            ("oneact --profile run", "oneact --profile run"),
            ("oneact --root run run F", "oneact run F --root run"),
            ("oneact --frobnicate history", "oneact --frobnicate history"),
            ("oneact show run", "oneact show run"),
        ] {
            assert_eq!(moved(said), args(meant), "{said}");
        }
    }
}
