//! `toller data`: benchmarks from the files that their authors publish.

mod collections;
mod dureader;
mod entity;
mod folder;
mod paq;
mod passages;
mod reading;
mod segment;
mod stats;
mod t2ranking;
mod tydi;

use toller_datasets::Layout;

use crate::ui::Ui;

#[derive(Debug, clap::Subcommand)]
pub enum DataCommand {
    List(collections::ListArgs),
    Stats(Box<stats::StatsArgs>),
    /// Build from BEIR's files: corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv, NAME-qrels/SPLIT.tsv or
    /// qrels.jsonl, or the same in Hugging Face's folders of Parquet
    Beir(collections::CollectionArgs),
    /// Build from MS MARCO's passage ranking: as published (collection.tsv, queries.SPLIT.tsv,
    /// qrels.SPLIT.tsv, TREC DL), or as Anserini or ir_datasets have it
    Msmarco(collections::CollectionArgs),
    /// Build from Mr. TyDi's files, one language: collection/docs.jsonl, topic.SPLIT.tsv, qrels.SPLIT.txt, or
    /// Anserini's topics and qrels
    Mrtydi(collections::CollectionArgs),
    Tydi(tydi::TydiArgs),
    /// Build from MIRACL's files, one language: docs-N.jsonl, topics.miracl-v1.0-*.tsv,
    /// qrels.miracl-v1.0-*.tsv
    Miracl(collections::CollectionArgs),
    /// Build from BRIGHT's files, one task: documents/TASK-*.parquet and examples/TASK-*.parquet
    #[command(mut_arg("split", |split| split.help("Build this task only; BRIGHT's splits are its tasks")))]
    Bright(collections::CollectionArgs),
    /// Build from Tevatron's files: corpus.jsonl, and SPLIT.jsonl with queries and their passages
    Tevatron(collections::CollectionArgs),
    /// Build from DPR's Wikipedia: psgs_w100.tsv, and SPLIT.csv with questions and answers
    Psgs(collections::CollectionArgs),
    Reqa(reading::ReqaArgs),
    /// Build DuReader-retrieval: labels, pools, similar queries, its own formats, other domains
    #[command(subcommand)]
    Dureader(dureader::DuReaderCommand),
    /// Build T2Ranking: the collection, passages of documents, near duplicates, pairs to judge
    #[command(subcommand)]
    T2ranking(t2ranking::T2RankingCommand),
    /// Build EntityQuestions: questions from facts, buckets of popularity, results in DPR's format
    #[command(subcommand)]
    Entityquestions(entity::EntityCommand),
    Passages(Box<passages::PassagesArgs>),
    Paq(Box<paq::PaqArgs>),
    Squad(reading::SquadArgs),
}

pub fn run(command: &DataCommand, ui: &Ui) -> crate::Result<()> {
    match command {
        DataCommand::List(args) => collections::list(args, ui),
        DataCommand::Stats(args) => stats::run(args, ui),
        DataCommand::Tydi(args) => tydi::run(args, ui),
        DataCommand::Beir(args) => collections::run(Layout::Beir, args, ui),
        DataCommand::Msmarco(args) => collections::run(Layout::Msmarco, args, ui),
        DataCommand::Mrtydi(args) => collections::run(Layout::Mrtydi, args, ui),
        DataCommand::Miracl(args) => collections::run(Layout::Miracl, args, ui),
        DataCommand::Bright(args) => collections::run(Layout::Bright, args, ui),
        DataCommand::Tevatron(args) => collections::run(Layout::Tevatron, args, ui),
        DataCommand::Psgs(args) => collections::run(Layout::Psgs, args, ui),
        DataCommand::Dureader(command) => dureader::run(command, ui),
        DataCommand::T2ranking(command) => t2ranking::run(command, ui),
        DataCommand::Entityquestions(command) => entity::run(command, ui),
        DataCommand::Passages(args) => passages::run(args, ui),
        DataCommand::Paq(args) => paq::run(args, ui),
        DataCommand::Reqa(args) => reading::reqa(args, ui),
        DataCommand::Squad(args) => reading::squad(args, ui),
    }
}
