//! The layouts in which collections are published: which file of a folder is what.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use regex::Regex;
use toller_files::{Input, expand};
use toller_ir::named;

use crate::error::DatasetError;

named! {
    /// How a collection is laid out on disk.
    pub enum Layout: "a layout of collections" {
        /// BEIR: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv or qrels.jsonl; or as Parquet on Hugging Face.
        Beir = "beir",
        /// MS MARCO passage ranking, as published, in Anserini or in ir_datasets.
        Msmarco = "msmarco",
        /// Mr. TyDi: collection/docs.jsonl, topic.SPLIT.tsv, qrels.SPLIT.txt.
        Mrtydi = "mrtydi",
        /// MIRACL: docs-N.jsonl, topics.miracl-*.tsv, qrels.miracl-*.tsv.
        Miracl = "miracl",
        /// BRIGHT: documents/TASK-*.parquet, examples/TASK-*.parquet.
        Bright = "bright",
        /// Tevatron: corpus.jsonl, SPLIT.jsonl with queries and their passages.
        Tevatron = "tevatron",
        /// T2Ranking: collection.tsv, queries.SPLIT.tsv, qrels.SPLIT.tsv with four levels.
        T2ranking = "t2ranking",
        /// DPR: psgs_w100.tsv and SPLIT.csv with questions and answers.
        Psgs = "psgs",
    }
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Passages.
    Corpus,
    /// Queries of one split.
    Queries,
    /// Queries of all splits.
    AllQueries,
    /// Judgments of one split.
    Qrels,
    /// Queries of one split, each with its judgments.
    Examples,
    /// Judgments that are made of others here.
    Derived,
}

/// A pattern of paths, and what they hold. `{split}` stands for a part of a name, which is the split unless
/// the rule names one, `#` for a number, and `*` for any part.
struct Rule(Role, &'static str, Option<&'static str>);

impl Layout {
    /// The rules; the first that fits counts.
    fn rules(self) -> &'static [Rule] {
        use Role::{AllQueries, Corpus, Derived, Examples, Qrels, Queries};
        match self {
            Self::Beir => &[
                Rule(Corpus, "corpus.jsonl", None),
                Rule(AllQueries, "queries.jsonl", None),
                Rule(Qrels, "qrels/{split}.tsv", None),
                Rule(Qrels, "qrels/{split}.jsonl", None),
                // On Hugging Face they are a repository of their own.
                Rule(Qrels, "*-qrels/{split}.tsv", None),
                // As Parquet there; MTEB calls the folder of judgments default, and has folders of languages.
                Rule(Corpus, "corpus/{split}-#-of-*.parquet", None),
                Rule(Corpus, "corpus/*.parquet", None),
                Rule(Corpus, "*-corpus/{split}-#-of-*.parquet", None),
                Rule(Corpus, "*-corpus/*.parquet", None),
                Rule(AllQueries, "queries/{split}-#-of-*.parquet", None),
                Rule(AllQueries, "queries/*.parquet", None),
                Rule(AllQueries, "*-queries/{split}-#-of-*.parquet", None),
                Rule(AllQueries, "*-queries/*.parquet", None),
                Rule(Qrels, "qrels/{split}-#-of-*.parquet", None),
                Rule(Qrels, "default/{split}-#-of-*.parquet", None),
                Rule(Qrels, "*-qrels/{split}-#-of-*.parquet", None),
                Rule(Qrels, "qrels/{split}.parquet", None),
                // Without the name of a split.
                Rule(Qrels, "qrels.jsonl", Some("test")),
            ],
            Self::Msmarco => &[
                Rule(Corpus, "collection.tsv", None),
                Rule(Queries, "topics.msmarco-passage.dev-subset.txt", Some("dev.small")),
                Rule(Qrels, "qrels.msmarco-passage.dev-subset.txt", Some("dev.small")),
                Rule(Queries, "topics.{split}-passage.txt", None),
                Rule(Qrels, "qrels.{split}-passage.txt", None),
                Rule(Queries, "msmarco-test2019-queries.tsv", Some("dl19")),
                Rule(Qrels, "2019qrels-pass.txt", Some("dl19")),
                Rule(Queries, "msmarco-test2020-queries.tsv", Some("dl20")),
                Rule(Qrels, "2020qrels-pass.txt", Some("dl20")),
                Rule(Queries, "queries.{split}.tsv", None),
                Rule(Qrels, "qrels.{split}.tsv", None),
                // As ir_datasets keeps them.
                Rule(Queries, "dev/small/queries.tsv", Some("dev.small")),
                Rule(Qrels, "dev/small/qrels", Some("dev.small")),
                Rule(Queries, "eval/small/queries.tsv", Some("eval.small")),
                Rule(Queries, "trec-dl-2019/queries.tsv", Some("dl19")),
                Rule(Qrels, "trec-dl-2019/qrels", Some("dl19")),
                Rule(Queries, "trec-dl-2020/queries.tsv", Some("dl20")),
                Rule(Qrels, "trec-dl-2020/qrels", Some("dl20")),
                Rule(Queries, "{split}/queries.tsv", None),
                Rule(Qrels, "{split}/qrels", None),
            ],
            Self::Mrtydi => &[
                Rule(Corpus, "docs.jsonl", None),
                Rule(Queries, "topics.mrtydi-v1.1-*.{split}.txt", None),
                Rule(Qrels, "qrels.mrtydi-v1.1-*.{split}.txt", None),
                Rule(Queries, "topic.{split}.tsv", None),
                Rule(Qrels, "qrels.{split}.txt", None),
            ],
            Self::Miracl => &[
                Rule(Corpus, "docs-*.jsonl", None),
                Rule(Queries, "topics.miracl-v1.0-*-{split}.tsv", None),
                Rule(Qrels, "qrels.miracl-v1.0-*-{split}.tsv", None),
                // As ir_datasets keeps them.
                Rule(Queries, "{split}/topics.tsv", None),
                Rule(Qrels, "{split}/qrels.tsv", None),
            ],
            Self::Bright => &[
                Rule(Corpus, "documents/{split}-#-of-*.parquet", None),
                Rule(Examples, "examples/{split}-#-of-*.parquet", None),
            ],
            Self::Tevatron => &[Rule(Corpus, "corpus.jsonl", None), Rule(Examples, "{split}.jsonl", None)],
            Self::T2ranking => &[
                Rule(Corpus, "collection.tsv", None),
                Rule(Queries, "queries.{split}.tsv", None),
                Rule(Derived, "qrels.retrieval.{split}.tsv", None),
                Rule(Qrels, "qrels.{split}.tsv", None),
            ],
            Self::Psgs => &[
                Rule(Corpus, "psgs_w100.tsv", None),
                Rule(Corpus, "dpr-w100/docs.tsv", None),
                Rule(Queries, "{split}.qa.csv", None),
                Rule(Queries, "{split}.csv", None),
            ],
        }
    }

    /// The names of its files, in words.
    fn names(self) -> String {
        let name = |pattern: &str| pattern.replace("{split}", "SPLIT").replace('#', "*");
        let names = self.rules().iter().map(|Rule(_, pattern, _)| name(pattern));
        names.collect::<Vec<_>>().join(", ")
    }

    /// Whether two files are parts of one collection.
    fn are_parts(self, one: &Input, other: &Input) -> bool {
        let is_parquet = |input: &Input| plain_path(input).ends_with(".parquet");
        folder(one) == folder(other)
            && match self {
                Self::Miracl | Self::Bright => task(one) == task(other),
                Self::Beir => is_parquet(one) && is_parquet(other),
                _ => false,
            }
    }
}

/// The files of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sources {
    pub(crate) corpus: Vec<Input>,
    /// Queries of all splits.
    pub(crate) all_queries: Option<Input>,
    pub(crate) splits: BTreeMap<String, SplitFiles>,
}

/// The files of a split.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SplitFiles {
    pub(crate) queries: Option<Input>,
    pub(crate) qrels: Option<Input>,
    pub(crate) examples: Option<Input>,
}

/// Finds the files of a layout among files and in folders. Other files in folders are ignored.
pub(crate) fn find_sources(
    layout: Layout,
    paths: &[PathBuf],
    only: Option<&str>,
) -> Result<Sources, DatasetError> {
    let rules: Vec<(&Rule, Regex)> =
        layout.rules().iter().filter_map(|rule| Some((rule, rule.pattern()?))).collect();
    let mut files = Vec::new();
    let named: Vec<Input> = paths.iter().map(Input::parse).collect();
    for input in expand(paths)? {
        let name = plain_path(&input);
        let Some((role, split)) = rules.iter().find_map(|(rule, pattern)| rule.apply(pattern, &name)) else {
            if named.contains(&input) {
                let file = input.to_string();
                return Err(DatasetError::NotOfLayout {
                    file,
                    layout: layout.name(),
                    expected: layout.names(),
                });
            }
            continue;
        };
        files.push((role, split, input));
    }
    if layout == Layout::Beir {
        take_sets(&mut files);
    }
    if only.is_none() {
        check_one_collection(&files)?;
    }
    let are_sets = !names_of(&files, Role::Corpus).is_empty();
    let (mut sources, mut splits) = (Sources::default(), BTreeSet::new());
    for (role, split, input) in files {
        if !split.is_empty() {
            splits.insert(split.clone());
        }
        // A collection of a task belongs to the task's split.
        if role == Role::Derived || only.is_some_and(|only| !split.is_empty() && split != only) {
            continue;
        }
        sources.add(layout, role, split, input)?;
    }
    let is_found = are_sets || sources != Sources::default();
    if let Some(only) = only.filter(|only| is_found && !splits.contains(*only)) {
        let found = splits.into_iter().collect();
        return Err(DatasetError::NoSplit { split: only.to_owned(), found });
    }
    if sources == Sources::default() {
        let paths = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        return Err(DatasetError::NoFiles { paths, layout: layout.name(), expected: layout.names() });
    }
    sources.corpus.sort_by_key(part);
    Ok(sources)
}

/// The names of the splits or tasks that files of a role belong to.
fn names_of(files: &[(Role, String, Input)], role: Role) -> BTreeSet<&str> {
    let of_role = files.iter().filter(|(of, name, _)| *of == role && !name.is_empty());
    of_role.map(|(_, name, _)| name.as_str()).collect()
}

/// Several names of Parquet files in one folder are those of sets, as in NanoBEIR, and each set is a split. A
/// lone name is that of the folder or of a split, and the file holds what it holds for all splits.
fn take_sets(files: &mut [(Role, String, Input)]) {
    for (role, of_set) in [(Role::Corpus, Role::Corpus), (Role::AllQueries, Role::Queries)] {
        let are_sets = names_of(files, role).len() > 1;
        for (found, name, _) in files.iter_mut().filter(|(found, ..)| *found == role) {
            match are_sets && !name.is_empty() {
                true => *found = of_set,
                false => name.clear(),
            }
        }
    }
}

/// Refuses the collections of several splits or tasks, of which one has to be chosen.
fn check_one_collection(files: &[(Role, String, Input)]) -> Result<(), DatasetError> {
    let names = names_of(files, Role::Corpus);
    if names.len() < 2 {
        return Ok(());
    }
    Err(DatasetError::SeveralCollections(names.into_iter().map(str::to_owned).collect()))
}

/// The number of a part: `docs-10.jsonl` comes after `docs-9.jsonl`.
fn part(input: &Input) -> u64 {
    let path = plain_path(input);
    let name = path.rsplit('/').next().unwrap_or_default();
    name.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
}

impl Sources {
    fn add(&mut self, layout: Layout, role: Role, split: String, input: Input) -> Result<(), DatasetError> {
        if role == Role::Corpus {
            if let Some(other) = self.corpus.first().filter(|other| !layout.are_parts(other, &input)) {
                return Err(twice("collection", other, &input));
            }
            self.corpus.push(input);
            return Ok(());
        }
        let (place, what) = match role {
            Role::AllQueries => (&mut self.all_queries, "file of queries"),
            Role::Queries => (&mut self.splits.entry(split).or_default().queries, "file of queries"),
            Role::Qrels => (&mut self.splits.entry(split).or_default().qrels, "file of judgments"),
            Role::Corpus | Role::Derived | Role::Examples => {
                (&mut self.splits.entry(split).or_default().examples, "file of examples")
            }
        };
        match place {
            Some(other) => Err(twice(what, other, &input)),
            None => {
                *place = Some(input);
                Ok(())
            }
        }
    }
}

fn twice(what: &'static str, first: &Input, second: &Input) -> DatasetError {
    DatasetError::TwoFiles { what, first: first.to_string(), second: second.to_string() }
}

/// Parts of one folder whose names begin alike, up to the first hyphen, are one collection.
fn folder(input: &Input) -> Option<PathBuf> {
    Some(input.path()?.parent()?.to_owned())
}

fn task(input: &Input) -> String {
    plain_path(input)
        .rsplit('/')
        .next()
        .and_then(|name| name.split('-').next())
        .unwrap_or_default()
        .to_owned()
}

/// The path with slashes, without the ending of its compression.
fn plain_path(input: &Input) -> String {
    let path = input.to_string();
    let names = input.file_name().zip(input.plain_name());
    let folder = names.and_then(|(name, plain)| Some((path.strip_suffix(name)?, plain)));
    folder.map_or_else(|| path.clone(), |(folder, plain)| format!("{folder}{plain}")).replace('\\', "/")
}

impl Rule {
    fn pattern(&self) -> Option<Regex> {
        let escaped = regex::escape(self.1).replace(r"\{split\}", "(?<split>[^/]+?)").replace(r"\#", r"\d+");
        let escaped = escaped.replace(r"\*", "[^/]*?");
        Regex::new(&format!("(?:^|/){escaped}$")).ok()
    }

    /// What a path holds, and its split, if the rule fits.
    fn apply(&self, pattern: &Regex, path: &str) -> Option<(Role, String)> {
        let found = pattern.captures(path)?;
        let split = self.2.or_else(|| found.name("split").map(|split| split.as_str()));
        Some((self.0, split.unwrap_or_default().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use toller_ir::Explain;

    use super::{Layout, find_sources};
    use crate::error::DatasetError;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    /// The splits that are found, each with whether it has queries, judgments and examples.
    fn splits(layout: Layout, files: &[&str]) -> Vec<(String, [bool; 3])> {
        let folder = folder(files);
        let sources = find_sources(layout, &[folder.path().to_owned()], None).unwrap();
        let has = |files: &super::SplitFiles| {
            [&files.queries, &files.qrels, &files.examples].map(std::option::Option::is_some)
        };
        sources.splits.iter().map(|(name, files)| (name.clone(), has(files))).collect()
    }

    #[test]
    fn names_say_what_files_hold() {
        let both = [true, true, false];
        assert_eq!(
            splits(
                Layout::Msmarco,
                &[
                    "collection.tsv", "queries.dev.small.tsv.gz", "qrels.dev.small.tsv", "queries.eval.tsv",
                    "msmarco-test2019-queries.tsv.gz", "2019qrels-pass.txt", "top1000.dev",
                    "x/dev/queries.tsv", "x/trec-dl-2020/qrels", "x/trec-dl-2020/queries.tsv",
                    "x/dev/small.txt",
                ]
            ),
            [
                ("dev".to_owned(), [true, false, false]),
                ("dev.small".to_owned(), both),
                ("dl19".to_owned(), both),
                ("dl20".to_owned(), both),
                ("eval".to_owned(), [true, false, false]),
            ]
        );
        assert_eq!(
            splits(Layout::Mrtydi, &["topics.mrtydi-v1.1-ar.test.txt.gz", "qrels.mrtydi-v1.1-ar.test.txt"]),
            [("test".to_owned(), both)]
        );
        assert_eq!(
            splits(
                Layout::Miracl,
                &["qrels/qrels.miracl-v1.0-sw-dev.tsv", "topics/topics.miracl-v1.0-sw-test-a.tsv"]
            ),
            [("dev".to_owned(), [false, true, false]), ("test-a".to_owned(), [true, false, false])]
        );
        assert_eq!(
            splits(Layout::Tevatron, &["train.jsonl.gz", "corpus.jsonl.gz"]),
            [("train".to_owned(), [false, false, true])]
        );
    }

    #[test]
    fn a_named_file_belongs_to_the_layout() {
        let files = folder(&[
            "corpus.jsonl", "notes.txt", "scifact-qrels/test.tsv", "scifact.ZIP", "scifact.tar.xz",
            "scifact.tgz",
        ]);
        let find = |names: &[&str]| {
            let paths: Vec<_> = names.iter().map(|name| files.path().join(name)).collect();
            find_sources(Layout::Beir, &paths, None)
        };
        assert_eq!(find(&[""]).unwrap().corpus.len(), 1);
        // The judgments' repository on Hugging Face.
        assert!(find(&["corpus.jsonl", "scifact-qrels"]).unwrap().splits["test"].qrels.is_some());
        let message = find(&["corpus.jsonl", "notes.txt"]).unwrap_err().to_string();
        assert!(message.ends_with("notes.txt: no file of the layout 'beir' is called that"), "{message}");
        for archive in ["scifact.ZIP", "scifact.tar.xz", "scifact.tgz"] {
            let remedy = find(&[archive]).unwrap_err().remedy().map(|remedy| remedy.to_string());
            assert!(remedy.is_some_and(|remedy| remedy.starts_with("unpack it first; ")), "{archive}");
        }
        assert!(find(&["", "notes.txt"]).is_err());
    }

    #[test]
    fn beir_is_also_published_as_parquet() {
        let files = folder(&[
            "corpus/corpus-00001-of-00002.parquet",
            "corpus/corpus-00000-of-00002.parquet",
            "queries/queries-00000-of-00001.parquet",
            "scifact-qrels/test-00000-of-00001.parquet",
            "qrels/train.parquet",
            "README.md",
        ]);
        let sources = find_sources(Layout::Beir, &[files.path().to_owned()], None).unwrap();
        let names: Vec<_> = sources.corpus.iter().map(|part| part.plain_name().unwrap()).collect();
        assert_eq!(names, ["corpus-00000-of-00002.parquet", "corpus-00001-of-00002.parquet"]);
        assert!(sources.all_queries.is_some());
        assert_eq!(sources.splits.keys().collect::<Vec<_>>(), ["test", "train"]);
        assert!(sources.splits.values().all(|split| split.qrels.is_some()));
        let both = folder(&["corpus.jsonl", "corpus/corpus-0.parquet"]);
        assert!(matches!(
            find_sources(Layout::Beir, &[both.path().to_owned()], None),
            Err(DatasetError::TwoFiles { what: "collection", .. })
        ));
    }

    /// As NanoBEIR has them.
    #[test]
    fn sets_of_one_folder_are_splits() {
        let mut names = Vec::new();
        for set in ["NanoNQ", "NanoNQ-de"] {
            for kind in ["corpus", "queries", "qrels"] {
                names.push(format!("{kind}/{set}-00000-of-00001.parquet"));
            }
        }
        let files = folder(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let find = |only| find_sources(Layout::Beir, &[files.path().to_owned()], only);
        let names = ["NanoNQ".to_owned(), "NanoNQ-de".to_owned()];
        let message = find(None).unwrap_err().to_string();
        assert_eq!(message, "there are several collections: NanoNQ, NanoNQ-de");
        for set in &names {
            let sources = find(Some(set)).unwrap();
            let name = Some(format!("{set}-00000-of-00001.parquet"));
            let of_split = &sources.splits[set];
            assert_eq!((sources.splits.len(), sources.all_queries), (1, None));
            for found in [sources.corpus.first(), of_split.queries.as_ref(), of_split.qrels.as_ref()] {
                assert_eq!(found.and_then(|input| input.plain_name()).map(str::to_owned), name);
            }
        }
        assert!(matches!(find(Some("NanoQ")), Err(DatasetError::NoSplit { found, .. }) if found == names));
        // A folder of one set is read as any other.
        let one = [files.path().join("corpus/NanoNQ-00000-of-00001.parquet")];
        assert_eq!(find_sources(Layout::Beir, &one, None).unwrap().corpus.len(), 1);
    }

    /// As MTEB has languages.
    #[test]
    fn folders_of_languages_belong_to_beir() {
        let files = folder(&[
            "ar-corpus/test-00000-of-00001.parquet", "ar-queries/test-00000-of-00001.parquet",
            "ar-qrels/test-00000-of-00001.parquet", "de-corpus/corpus.parquet",
        ]);
        let folders = ["ar-corpus", "ar-queries", "ar-qrels"].map(|name| files.path().join(name));
        for only in [None, Some("test")] {
            let sources = find_sources(Layout::Beir, &folders, only).unwrap();
            assert!(sources.corpus.len() == 1 && sources.all_queries.is_some());
            assert!(sources.splits["test"].qrels.is_some());
        }
        assert!(matches!(
            find_sources(Layout::Beir, &[files.path().to_owned()], None),
            Err(DatasetError::TwoFiles { what: "collection", .. })
        ));
    }

    #[test]
    fn a_collection_is_one() {
        let parts = folder(&["docs-9.jsonl.gz", "docs-10.jsonl.gz"]);
        let sources = find_sources(Layout::Miracl, &[parts.path().to_owned()], None).unwrap();
        let names: Vec<_> = sources.corpus.iter().map(|part| part.plain_name().unwrap()).collect();
        assert_eq!(names, ["docs-9.jsonl", "docs-10.jsonl"]);

        let tasks = folder(&["documents/pony-0-of-1.parquet", "documents/aops-0-of-1.parquet"]);
        let paths = [tasks.path().to_owned()];
        let several = find_sources(Layout::Bright, &paths, None);
        assert!(matches!(several, Err(DatasetError::SeveralCollections(names)) if names == ["aops", "pony"]));
        assert_eq!(find_sources(Layout::Bright, &paths, Some("pony")).unwrap().corpus.len(), 1);

        let two = folder(&["a/corpus.jsonl", "b/corpus.jsonl", "a/qrels/test.tsv", "b/qrels/test.tsv"]);
        let message = find_sources(Layout::Beir, &[two.path().to_owned()], None).unwrap_err().to_string();
        assert!(message.contains("corpus.jsonl") && message.contains("two"), "{message}");
        let none = find_sources(Layout::Beir, &[two.path().join("a/qrels")], Some("dev"));
        assert!(matches!(none, Err(DatasetError::NoFiles { .. })));
        assert!(find_sources(Layout::Beir, &[Path::new("nothing").to_owned()], None).is_err());
    }
}
