//! `toller data entityquestions`: questions from facts.

use std::collections::{HashMap, HashSet};

use toller_datasets::{
    Facts, Figure, Part, PopularityBuckets, QuestionSets, Retrieved, Statistics, read_facts,
    write_dpr_results, write_popularity_buckets, write_question_sets,
};
use toller_eval::ranked_documents;
use toller_ir::counted;

use super::folder::FolderArgs;
use crate::args::answers::MatchingArgs;
use crate::args::id_lines;
use crate::args::paths::InputPath;
use crate::args::runs::{RunInputArgs, check_questions, warn_of_questions};
use crate::args::texts::TextsArgs;
use crate::error::{Remedied, UsageError};
use crate::ui::Ui;

#[derive(Debug, clap::Subcommand)]
pub enum EntityCommand {
    Questions(QuestionsArgs),
    Buckets(BucketsArgs),
    Results(Box<ResultsArgs>),
}

/// Make the questions of each relation from facts, by the paper's templates.
///
/// Facts are JSON objects, one a line: subject, relation (P19) and object, which is a name or a list of
/// names. Facts of other than the 24 relations are counted and left out. Training and development questions
/// share no token with the facts of the test questions.
#[derive(Clone, Debug, clap::Args)]
pub struct QuestionsArgs {
    /// Facts, compressed or not; `-` is stdin
    #[arg(value_name = "INPUT")]
    input: InputPath,

    #[command(flatten)]
    folder: FolderArgs,

    /// Test questions of a relation, at most
    #[arg(long, value_name = "N", default_value_t = 1000)]
    test: usize,

    /// Training questions of a relation, at most
    #[arg(long, value_name = "N", default_value_t = 0)]
    train: usize,

    /// Development questions of a relation, at most
    #[arg(long, value_name = "N", default_value_t = 0)]
    dev: usize,

    /// Write the training questions of P19, P159 and P170 by their second templates, too
    #[arg(long)]
    similar: bool,

    /// Seed of the samples
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
}

/// Make questions in buckets by the popularity of their subjects.
///
/// The subjects' frequencies have about the same sum in each bucket of a relation; the first bucket has the
/// most popular subjects.
#[derive(Clone, Debug, clap::Args)]
#[command(
    override_usage = "toller data entityquestions buckets [OPTIONS] --output <DIR>\n           --frequencies <FILE> <INPUT>"
)]
pub struct BucketsArgs {
    /// Facts, as for `questions`
    #[arg(value_name = "INPUT")]
    input: InputPath,

    #[command(flatten)]
    folder: FolderArgs,

    /// How often each subject occurs: a subject and a number on each line, with a tab between
    #[arg(long, value_name = "FILE")]
    frequencies: InputPath,

    /// Subjects that training questions name, one a line: all facts about them make sets of their own
    #[arg(long, value_name = "FILE")]
    seen: Option<InputPath>,

    /// Buckets of a relation
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    buckets: u32,

    /// Questions of a bucket, at most
    #[arg(long, value_name = "N", default_value_t = 1000)]
    sample: usize,

    /// Seed of the samples
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
}

/// Write what a run retrieved as DPR does: each question with its passages, and which of them have an
/// answer.
///
/// Several files of questions have a file of results each, such as P36.results.json. `toller accuracy`
/// measures the folder.
#[derive(Debug, clap::Args)]
pub struct ResultsArgs {
    /// The run
    #[arg(value_name = "RUN")]
    run: InputPath,

    #[command(flatten)]
    folder: FolderArgs,

    #[command(flatten)]
    texts: TextsArgs,

    /// Passages of each question, at most
    #[arg(long, value_name = "N", default_value_t = 100)]
    depth: usize,

    #[command(flatten)]
    matching: MatchingArgs,

    #[command(flatten)]
    input: RunInputArgs,
}

/// Carries out a command.
pub fn run(command: &EntityCommand, ui: &Ui) -> crate::Result<()> {
    match command {
        EntityCommand::Questions(args) => questions(args, ui),
        EntityCommand::Buckets(args) => buckets(args, ui),
        EntityCommand::Results(args) => results(args, ui),
    }
}

fn questions(args: &QuestionsArgs, ui: &Ui) -> crate::Result<()> {
    let _claim = args.folder.claim([&args.input], ui)?;
    let (facts, others) = read_facts(&args.input.input())?;
    check_facts(&facts, others, &args.input, ui)?;
    let QuestionsArgs { test, train, dev, similar, seed, .. } = *args;
    if similar && train == 0 && dev == 0 {
        let message = "--similar is for training and development questions, and none are asked for";
        return Err(UsageError::new(message, "give --train or --dev, or leave --similar out").into());
    }
    let sets = QuestionSets { test, train, dev, similar, seed };
    let (files, statistics) = write_question_sets(&facts, &sets, &args.folder.output)?;
    report_empty(&statistics, ui);
    args.folder.report(&files, &statistics, ui)
}

/// Names the sets without a question. A development set may be empty because few facts are shared with a
/// training set.
fn report_empty(statistics: &Statistics, ui: &Ui) {
    let is_empty = |part: &Part| matches!(part.figure("questions"), Some(Figure::Count(0)));
    let is_shared = |part: &Part| {
        let train = part.name.strip_suffix("dev").and_then(|name| statistics.part(&format!("{name}train")));
        train.is_some_and(|train| !is_empty(train))
    };
    let empty = statistics.0.iter().filter(|part| is_empty(part));
    let (shared, none): (Vec<&Part>, Vec<&Part>) = empty.partition(|part| is_shared(part));
    let names = |parts: &[&Part]| parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(", ");
    if !none.is_empty() {
        ui.warning(format!("no fact is left for {}: --test takes its facts first", names(&none)));
    }
    if !shared.is_empty() {
        let names = names(&shared);
        ui.warning(format!("no fact is left for {names}: of the few facts, --train takes the larger share"));
    }
}

fn buckets(args: &BucketsArgs, ui: &Ui) -> crate::Result<()> {
    let _claim = args.folder.claim([&args.input, &args.frequencies].into_iter().chain(&args.seen), ui)?;
    let (facts, others) = read_facts(&args.input.input())?;
    check_facts(&facts, others, &args.input, ui)?;
    let frequencies = frequencies(&args.frequencies)?;
    let seen = args.seen.as_ref().map(|file| id_lines::ids(file)).transpose()?;
    let subjects = facts.values().flatten().map(|fact| fact.subject.as_str()).collect();
    check_subjects(&subjects, args, &frequencies, seen.as_ref(), ui)?;
    let wanted = PopularityBuckets {
        frequencies: &frequencies,
        count: args.buckets as usize,
        sample: args.sample,
        seen: seen.as_ref(),
        seed: args.seed,
    };
    let (files, statistics) = write_popularity_buckets(&facts, &wanted, &args.folder.output)?;
    args.folder.report(&files, &statistics, ui)
}

/// Refuses files of frequencies and of seen subjects that name no subject of the facts, and reports subjects
/// without a frequency.
fn check_subjects(
    subjects: &HashSet<&str>,
    args: &BucketsArgs,
    frequencies: &HashMap<String, u64>,
    seen: Option<&HashSet<String>>,
    ui: &Ui,
) -> Result<(), Remedied> {
    let Some(example) = subjects.iter().min() else { return Ok(()) };
    let other = |file: &InputPath| {
        let message = format!("{} names no subject of the facts, such as {example:?}", file.display());
        Remedied::new(message, "write the subjects as the facts have them")
    };
    let known = subjects.iter().filter(|subject| frequencies.contains_key(**subject)).count();
    if known == 0 {
        return Err(other(&args.frequencies));
    }
    if let (Some(seen), Some(file)) = (seen, &args.seen)
        && !subjects.iter().any(|subject| seen.contains(*subject))
    {
        return Err(other(file));
    }
    if known < subjects.len() {
        ui.warning(format!(
            "{}: {} of {} have no frequency and count as the rarest",
            args.frequencies.display(),
            subjects.len() - known,
            counted(subjects.len(), "subject")
        ));
    }
    Ok(())
}

/// Refuses facts of no relation of the benchmark.
fn check_facts(facts: &Facts, others: usize, file: &InputPath, ui: &Ui) -> crate::Result<()> {
    if facts.is_empty() {
        let message = format!("{} has no fact of the benchmark's 24 relations", file.display());
        let hint = "facts have a \"relation\" of Wikidata, such as P19 or P36";
        return Err(Remedied::new(message, hint).into());
    }
    if others > 0 {
        ui.status(format!("left out {} of other relations", counted(others, "fact")));
    }
    Ok(())
}

fn frequencies(file: &InputPath) -> crate::Result<HashMap<String, u64>> {
    let mut frequencies = HashMap::new();
    for (subject, count) in id_lines::pairs(file, "a subject and a number")? {
        let file = file.display();
        let count = count.parse::<u64>().map_err(|_| {
            let message = format!("{file}: {count:?} is not the number of times that {subject:?} occurs");
            Remedied::new(message, "write a subject, a tab and a whole number on each line").at_file(&file)
        })?;
        if frequencies.contains_key(&subject) {
            let message = format!("{file}: there are two numbers of {subject:?}");
            return Err(Remedied::new(message, "write each subject once").at_file(file).into());
        }
        frequencies.insert(subject, count);
    }
    Ok(frequencies)
}

fn results(args: &ResultsArgs, ui: &Ui) -> crate::Result<()> {
    let _claim = args.folder.claim(std::iter::once(&args.run).chain(args.texts.files()), ui)?;
    if args.texts.queries.is_empty() || args.texts.corpus.is_empty() {
        return Err(UsageError::new("results have texts and answers", "give --queries and --corpus").into());
    }
    let (queries, files) = args.texts.read_queries_by_file(args.input.skip_bad_lines(), ui)?;
    args.matching.check(&queries, ui)?;
    let run = args.input.read(&args.run, ui)?;
    let missing = check_questions(&args.run, &run, &queries)?;
    warn_of_questions(&args.run, missing, queries.len(), ", and get none", ui);
    let mut retrieved = Vec::with_capacity(queries.len());
    for query in &queries {
        let entries = run.queries.get(&query.id).map_or(&[][..], Vec::as_slice);
        let ranked = ranked_documents(&query.id, entries)?.into_iter();
        retrieved.push(Retrieved { query, entries: ranked.take(args.depth).collect() });
    }
    let hits = retrieved.iter().flat_map(|retrieved| &retrieved.entries);
    let wanted = hits.map(|entry| entry.doc_id.as_str()).collect();
    let passages = args.texts.documents(&wanted, args.input.skip_bad_lines(), ui, |passage| passage)?;
    let (files, statistics) =
        write_dpr_results(&retrieved, &files, &passages, args.matching.mode(), &args.folder.output)?;
    args.folder.report(&files, &statistics, ui)
}
