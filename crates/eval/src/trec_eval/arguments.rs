//! trec_eval's arguments.

use std::num::NonZeroUsize;

use super::TrecEvalError;

/// How the file of judgments is read (`-R`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JudgmentFormat {
    /// One grade for each query and document.
    #[default]
    Qrels,
    /// Several groups of judges, named in the second column; measures are averaged over the groups.
    QrelsGroups,
    /// Levels by which groups of judges prefer documents to others, with subgroups.
    Preferences,
    /// Qrels that are read as preferences; the second column names the group.
    QrelsPreferences,
}

/// What trec_eval was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The file of judgments.
    pub qrels: String,
    /// The file of results.
    pub run: String,
    /// The values of each query are printed (`-q`).
    pub per_query: bool,
    /// Judged queries without results count as zero (`-c`).
    pub complete: bool,
    /// The values over all queries are not printed (`-n`).
    pub no_summary: bool,
    /// Documents without a grade are removed from the rankings (`-J`).
    pub judged_only: bool,
    /// The lowest relevant grade, if not 1 (`-l`).
    pub level: Option<u32>,
    /// How many documents of each query count (`-M`).
    pub depth: Option<NonZeroUsize>,
    /// The number of documents in the collection (`-N`).
    pub collection: u64,
    /// The format of the judgments (`-R`).
    pub format: JudgmentFormat,
    /// The file of means and deviations (`-Z`).
    pub z_scores: Option<String>,
    /// The measures (`-m`): a name or a group of names, and the text of the parameters.
    pub measures: Vec<(String, Option<String>)>,
}

impl Arguments {
    /// Reads the arguments that follow the program's name. As with getopt, short options can be joined, a
    /// value can be joined to its option, and options can follow the files.
    ///
    /// # Errors
    /// If they are not trec_eval's.
    pub fn parse(arguments: &[String]) -> Result<Self, TrecEvalError> {
        let mut parsed = Self::default();
        let mut files: Vec<&str> = Vec::new();
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            if argument == "--" {
                files.extend(rest.by_ref());
            } else if let Some(long) = argument.strip_prefix("--") {
                let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
                let option = long_option(name)?;
                let value = match takes_value(option) {
                    true => Some(value.or_else(|| rest.next()).ok_or_else(|| no_value(option))?),
                    false => None,
                };
                parsed.set(option, value.unwrap_or_default())?;
            } else if let Some(options) = argument.strip_prefix('-').filter(|options| !options.is_empty()) {
                for (at, option) in options.char_indices() {
                    if takes_value(option) {
                        let joined = &options[at + option.len_utf8()..];
                        let value = if joined.is_empty() { rest.next() } else { Some(joined) };
                        parsed.set(option, value.ok_or_else(|| no_value(option))?)?;
                        break;
                    }
                    parsed.set(option, "")?;
                }
            } else {
                files.push(argument);
            }
        }
        let [qrels, run] = files[..] else {
            return Err(usage(format!(
                "expected the files of judgments and results, found {} files",
                files.len()
            )));
        };
        (parsed.qrels, parsed.run) = (qrels.to_owned(), run.to_owned());
        Ok(parsed)
    }

    fn set(&mut self, option: char, value: &str) -> Result<(), TrecEvalError> {
        let bad = || usage(format!("-{option} {value} is not a number"));
        match option {
            'q' => self.per_query = true,
            'c' => self.complete = true,
            'n' => self.no_summary = true,
            'J' => self.judged_only = true,
            'l' => self.level = Some(value.parse().map_err(|_| bad())?),
            'M' => self.depth = Some(value.parse().map_err(|_| bad())?),
            'N' => self.collection = value.parse().map_err(|_| bad())?,
            'Z' => self.z_scores = Some(value.to_owned()),
            'm' => {
                let (name, parameters) = value.split_once('.').map_or((value, None), |(n, p)| (n, Some(p)));
                if parameters == Some("") {
                    return Err(usage(format!("improper measure in parameter '{name}'")));
                }
                self.measures.push((name.to_owned(), parameters.map(str::to_owned)));
            }
            'R' => {
                self.format = match value {
                    "qrels" => JudgmentFormat::Qrels,
                    "qrels_jg" => JudgmentFormat::QrelsGroups,
                    "prefs" => JudgmentFormat::Preferences,
                    "qrels_prefs" => JudgmentFormat::QrelsPreferences,
                    _ => {
                        let formats = "qrels, qrels_jg, prefs or qrels_prefs";
                        return Err(usage(format!("illegal rel_format '{value}': it is {formats}")));
                    }
                }
            }
            'T' if value == "trec_results" => {}
            'T' => return Err(usage(format!("illegal retrieval results format '{value}'"))),
            // What it prints on stderr for debugging is not reproduced.
            'D' => {}
            _ => return Err(usage(format!("unknown option -{option}"))),
        }
        Ok(())
    }
}

fn takes_value(option: char) -> bool {
    "mlMNZRTD".contains(option)
}

/// The short option that a long one stands for; a beginning that no other option has is enough, as for
/// getopt.
fn long_option(name: &str) -> Result<char, TrecEvalError> {
    const LONG: [(&str, char); 12] = [
        ("query_eval_wanted", 'q'),
        ("measure", 'm'),
        ("complete_rel_info_wanted", 'c'),
        ("level_for_rel", 'l'),
        ("nosummary", 'n'),
        ("Debug_level", 'D'),
        ("Judged_docs_only", 'J'),
        ("Number_docs_in_coll", 'N'),
        ("Max_retrieved_per_topic", 'M'),
        ("Rel_info_format", 'R'),
        ("Results_format", 'T'),
        ("Zscore", 'Z'),
    ];
    let mut meant = LONG.iter().filter(|(long, _)| long.starts_with(name));
    match (meant.next(), meant.next()) {
        (Some((_, option)), None) if !name.is_empty() => Ok(*option),
        _ => Err(usage(format!("unknown option --{name}"))),
    }
}

fn no_value(option: char) -> TrecEvalError {
    usage(format!("-{option} needs a value"))
}

fn usage(message: String) -> TrecEvalError {
    TrecEvalError::Usage { message }
}

#[cfg(test)]
mod tests {
    use super::{Arguments, JudgmentFormat, TrecEvalError};

    fn parse(line: &str) -> Result<Arguments, TrecEvalError> {
        Arguments::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn as_getopt() -> Result<(), TrecEvalError> {
        let arguments =
            parse("-qcM100 -m all_trec qrels run -mP.5,10 --level_for_rel=2 --nosum -R qrels_jg")?;
        assert_eq!((&*arguments.qrels, &*arguments.run), ("qrels", "run"));
        assert!(arguments.per_query && arguments.complete && arguments.no_summary);
        assert_eq!((arguments.depth.map(Into::into), arguments.level), (Some(100), Some(2)));
        assert_eq!(arguments.format, JudgmentFormat::QrelsGroups);
        let measures = [("all_trec".to_owned(), None), ("P".to_owned(), Some("5,10".to_owned()))];
        assert_eq!(arguments.measures, measures);
        Ok(())
    }

    #[test]
    fn what_trec_eval_refuses() {
        for line in [
            "qrels", "-x qrels run", "-l two qrels run", "-m P. qrels run", "qrels run -M", "--x q r",
            "-M0 q r",
        ] {
            assert!(matches!(parse(line), Err(TrecEvalError::Usage { .. })), "{line}");
        }
    }
}
