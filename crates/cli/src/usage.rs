//! Wrong usage, which clap finds: in plain words, and with the names that other programs use.

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Write};

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use toller_ir::Explain;

use crate::error::{self, UsageError};
use crate::flags;
use crate::json::{JsonError, Kind};
use crate::stdout::stdout;

/// The command that clap adds.
const HELP: &str = "help";

/// Options of other programs, and what has the same meaning here.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("--auto-truncate", "what is done unless --no-truncate is given"),
    ("--batch-size", "--batch-tokens, which counts tokens"),
    ("--bf16", "--dtype bf16"),
    ("--bm25", "--ranker bm25, the default"),
    ("--bm25.b", "--b"),
    ("--bm25.k1", "--k1"),
    ("--collection", "--corpus-format, where the format is not detected"),
    ("--dataset", "--corpus"),
    ("--embedding-output-dir", "--output"),
    ("--encode-output-path", "--output"),
    ("--encoded-queries", "--query-vectors"),
    ("--encoder", "--model"),
    ("--fp16", "--dtype f16"),
    ("--hits", "--k"),
    ("--hostname", "--host"),
    ("--index", "--sparse for an inverted index, and --dense for stores of vectors"),
    ("--input", "--corpus"),
    ("--max-batch-tokens", "--shared-batch-tokens"),
    ("--max-seq-length", "--max-length"),
    ("--metrics", "--measures"),
    ("--model-id", "--model"),
    ("--model-name-or-path", "--model"),
    ("--output-dir", "--output"),
    ("--passage-max-len", "--max-length"),
    ("--query-max-len", "--max-length"),
    ("--reranker", "--model in `toller rerank`, and --rerank in `toller retrieve`"),
    ("--resume", "the same command again, which goes on where it was interrupted"),
    ("--run", "the name of the run, without an option"),
    ("--runs", "the names of the runs, without an option"),
    ("--stemmer", "--language or --analyzer"),
    ("--storeDocvectors", "--doc-vectors"),
    ("--top-k", "--k"),
    ("--topics", "--queries"),
    ("--topk", "--k"),
];

/// The same for `toller train`, where some mean something else.
const OTHER_NAMES_IN_TRAINING: &[(&str, &str)] = &[
    ("--bf16", "--dtype bf16 with --backend candle"),
    ("--eval-steps", "--eval-every"),
    ("--fp16", "--dtype bf16 with --backend candle, since f16 is not trained with"),
    ("--grad-cache", "--chunk-size"),
    ("--gradient-accumulation-steps", "--accumulate"),
    ("--learning-rate", "--lr"),
    ("--lora", "not there, since training changes all weights"),
    ("--num-train-epochs", "--epochs"),
    ("--passage-prefix", "--passage-prompt"),
    ("--per-device-train-batch-size", "--batch-size"),
    ("--query-prefix", "--query-prompt"),
    ("--resume-from-checkpoint", "the same command again, which goes on where it was interrupted"),
    ("--save-steps", "--save-every"),
    ("--save-total-limit", "--keep-checkpoints"),
    ("--train-data", "--data"),
    ("--train-n-passages", "--negatives-per-query, less one for the positive"),
];

/// Prints what clap found in the arguments of `command`: a usage error, or the help that was asked for, which
/// is data. Returns the exit status.
pub fn report(error: clap::Error, command: &Command, arguments: &[OsString]) -> u8 {
    let json = wants_json(arguments);
    let mut error = without_help(&error, command, arguments).unwrap_or(error);
    let command = line_of(command, arguments);
    suggest(&mut error, &command);
    let status = u8::try_from(error.exit_code()).unwrap_or(2);
    if !error.use_stderr() {
        let mut out = stdout();
        let written = out.write_all(text(&error, console::colors_enabled()).as_bytes());
        return match written.and_then(|()| out.flush()) {
            Ok(()) => status,
            Err(failed) => error::report(&failed.into(), json),
        };
    }
    let plain = text(&error, false);
    // There is no place to report that stderr is closed.
    let _ = match plain.strip_prefix("error: ") {
        Some(plain) if json => writeln!(io::stderr(), "{}", json_line(plain, &command)),
        Some(_) => {
            let text = text(&error, console::colors_enabled_stderr());
            write!(io::stderr(), "{}", with_hint(&text, &command))
        }
        None => write!(io::stderr(), "{}", text(&error, console::colors_enabled_stderr())),
    };
    status
}

/// Whether the option for JSON is given, on a command line that cannot be parsed.
fn wants_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json")
}

/// What the command itself says, where `help` does not know a word: clap suggests similar names only there.
/// `toller help -h` is help.
fn without_help(error: &clap::Error, command: &Command, arguments: &[OsString]) -> Option<clap::Error> {
    let help = arguments.iter().position(|argument| argument == HELP)?;
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let others = arguments.iter().enumerate().filter(|(at, _)| *at != help).map(|(_, argument)| argument);
    let said = command.clone().try_get_matches_from(others).err()?;
    (said.kind() == ErrorKind::InvalidSubcommand || !said.use_stderr()).then_some(said)
}

/// The command that the arguments name, as in `toller train dual`. `help` does not count.
fn line_of(command: &Command, arguments: &[OsString]) -> String {
    let (mut command, mut line) = (command, command.get_name().to_owned());
    for argument in arguments.iter().skip(1).filter(|argument| *argument != HELP) {
        if let Some(below) = command.find_subcommand(argument) {
            command = below;
            line = format!("{line} {}", below.get_name());
        }
    }
    line
}

/// What clap says, with its tips as hints; without tips, with the hint where to read more.
fn with_hint(text: &str, command: &str) -> String {
    let said = text.split("\n\nFor more information").next().unwrap_or(text).trim_end();
    if said.contains("tip:") {
        format!("{}\n", said.replace("  tip:", "hint:"))
    } else {
        format!("{said}\n\nhint: see `{command} --help`\n")
    }
}

/// What to do about it, on one line, if that is known.
pub fn hint(error: &clap::Error) -> Option<String> {
    remedy(error).or_else(|| tip(&text(error, false).split("\n\n").map(in_one_line).collect::<Vec<_>>()))
}

/// What clap's tips say, among the paragraphs of its text.
fn tip(paragraphs: &[String]) -> Option<String> {
    paragraphs.iter().find_map(|paragraph| paragraph.strip_prefix("tip: ")).map(str::to_owned)
}

/// The remedy of an error that the parser of a value found.
fn remedy(error: &clap::Error) -> Option<String> {
    let found: &UsageError = error.source()?.downcast_ref()?;
    Some(flags::spelled(&found.remedy()?, flags::flag))
}

/// What is wrong, on one line.
pub fn message(error: &clap::Error) -> String {
    let text = text(error, false);
    let first = text.split("\n\n").next().unwrap_or(&text);
    in_one_line(first.strip_prefix("error: ").unwrap_or(first))
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Everything that clap says, in plain words.
fn text(error: &clap::Error, with_colours: bool) -> String {
    let rendered = error.render();
    let text = if with_colours { rendered.ansi().to_string() } else { rendered.to_string() };
    let said = error.source().map(ToString::to_string).unwrap_or_default();
    match in_plain_words(&said) {
        Some(plain) => text.replace(&format!(": {said}"), &format!(": {plain}")),
        None => text,
    }
}

/// What a value must be, where Rust's parsers and clap's ranges say it in words of programmers.
fn in_plain_words(said: &str) -> Option<String> {
    if let Some((_, range)) = said.split_once(" is not in ") {
        let (from, to) = range.split_once("..")?;
        return Some(match to.strip_prefix('=') {
            Some(to) => format!("a whole number from {from} to {to}"),
            // The range ends where the type does.
            None => format!("a whole number from {from}"),
        });
    }
    let plain = match said {
        "invalid digit found in string" | "cannot parse integer from empty string" => "a whole number",
        "number would be zero for non-zero type" => "a whole number from 1",
        "number too large to fit in target type" | "out of range integral type conversion attempted" => {
            "the number is too large"
        }
        "number too small to fit in target type" => "the number is too small",
        "invalid float literal" | "cannot parse float from empty string" => "a number",
        _ => return None,
    };
    Some(plain.to_owned())
}

/// Puts a better tip in the place of clap's, if there is one.
fn suggest(error: &mut clap::Error, command: &str) {
    if let Some(remedy) = remedy(error) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![remedy.into()]));
        return;
    }
    if command == "toller eval" && is_missing(error, "--qrels <FILE>") {
        let tip = "the judgments are --qrels FILE; after --trec-eval, the arguments are those of trec_eval";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    if is_missing(error, "<RUN>...") && usage.replace("<RUN>...", "").contains(">...") {
        let tip = "name the runs before options that take several files, such as --corpus, which take all that follows";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return };
    let is_of_words = |other: &ContextValue| other.to_string().contains("[WORDS]");
    let others = [error.get(ContextKind::InvalidArg), error.get(ContextKind::PriorArg)];
    if error.kind() == ErrorKind::ArgumentConflict && others.into_iter().flatten().any(is_of_words) {
        let tip = "what stands alone is taken for words to search for; --sparse takes one index";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return;
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return;
    }
    let name = given.replace('_', "-");
    let in_training = OTHER_NAMES_IN_TRAINING.iter().filter(|_| command.starts_with("toller train"));
    let known = in_training.chain(OTHER_NAMES).find(|(other, _)| *other == name);
    let tip = match known {
        Some((_, here)) => format!("what other programs call {given} is {here}"),
        None if name
            .strip_prefix('-')
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit())) =>
        {
            format!("a number below 0 is joined to its option, as in --option={given}")
        }
        // No value begins so.
        None if name.starts_with("--") => {
            if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
                tips.retain(|tip| !tip.to_string().starts_with("to pass "));
                if !tips.is_empty() {
                    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
                }
            }
            return;
        }
        None => return,
    };
    error.remove(ContextKind::SuggestedArg);
    // It would have whatever options the command also takes, and not the one that was meant.
    error.remove(ContextKind::Usage);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
}

/// Whether this argument is required and missing.
fn is_missing(error: &clap::Error, argument: &str) -> bool {
    let missing =
        error.get(ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::MissingRequiredArgument);
    matches!(missing, Some(ContextValue::Strings(missing)) if missing.iter().any(|name| name == argument))
}

/// A usage error as JSON: its first paragraph is the message, and its tips, or else the usage or where to
/// read more, are the hint.
fn json_line(text: &str, command: &str) -> String {
    let mut paragraphs = text.split("\n\n").map(in_one_line);
    let message = paragraphs.next().unwrap_or_default();
    let others: Vec<String> = paragraphs.collect();
    let usage = || others.iter().find(|paragraph| paragraph.starts_with("Usage: ")).cloned();
    let hint = tip(&others).or_else(usage).unwrap_or_else(|| format!("see `{command} --help`"));
    JsonError { kind: Kind::Usage, message: &message, hint: Some(&hint), place: None }.line()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::CommandFactory;
    use clap::error::ErrorKind;

    use super::{OTHER_NAMES, OTHER_NAMES_IN_TRAINING, in_plain_words, line_of, with_hint, without_help};
    use crate::args::Cli;
    use crate::flags::has_option;

    #[test]
    fn every_option_of_a_tip_is_there() {
        let toller = Cli::command();
        let train = toller.find_subcommand("train").unwrap();
        for (names, command) in [(OTHER_NAMES, &toller), (OTHER_NAMES_IN_TRAINING, train)] {
            for flag in names.iter().flat_map(|(_, here)| here.split([' ', ','])) {
                let is_there = !flag.starts_with("--") || has_option(command, flag);
                assert!(is_there, "{} does not take {flag}", command.get_name());
            }
        }
    }

    #[test]
    fn every_usage_error_has_a_hint() {
        let toller = Cli::command();
        let line =
            |arguments: &str| line_of(&toller, &arguments.split(' ').map(Into::into).collect::<Vec<_>>());
        assert_eq!(line("toller -q data dureader label x"), "toller data dureader label");
        assert_eq!(line("toller nonsense"), "toller");
        assert_eq!(line("toller help data nonsense"), "toller data");
        assert_eq!(
            with_hint("error: bad\n\nFor more information, try '--help'.\n", "toller eval"),
            "error: bad\n\nhint: see `toller eval --help`\n"
        );
        assert_eq!(
            with_hint("error: bad\n\n  tip: good\n\nUsage: x\n", "x"),
            "error: bad\n\nhint: good\n\nUsage: x\n"
        );
    }

    #[test]
    fn help_suggests_similar_names() {
        let said = |line: &str| {
            let arguments: Vec<OsString> = line.split(' ').map(Into::into).collect();
            let mut toller = Cli::command();
            let error = toller.try_get_matches_from_mut(&arguments).unwrap_err();
            without_help(&error, &toller, &arguments)
        };
        for (line, similar) in [("toller help serch", "'search'"), ("toller -q help data statts", "'stats'")]
        {
            let error = said(line).unwrap();
            assert_eq!(error.kind(), ErrorKind::InvalidSubcommand, "{line}");
            assert!(error.to_string().contains(similar), "{error}");
        }
        assert_eq!(said("toller help -h").unwrap().kind(), ErrorKind::DisplayHelp);
        for line in ["toller help index nonsense", "toller help", "toller search --nonsense help"] {
            assert!(said(line).is_none(), "{line}");
        }
    }

    #[test]
    fn ranges_are_in_plain_words() {
        let plain = |said| in_plain_words(said).unwrap_or_default();
        assert_eq!(plain("99999 is not in 0..=65535"), "a whole number from 0 to 65535");
        assert_eq!(plain("0 is not in 1..18446744073709551615"), "a whole number from 1");
        assert_eq!(in_plain_words("one word, as in my-run"), None);
    }
}
