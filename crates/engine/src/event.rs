//! What an engine reports while it works.

use std::path::Path;
use std::sync::Arc;

use toller_corpus::SkipReport;
use toller_files::Input;
use toller_gpu::DeviceError;
use toller_hub::ModelSource;
use toller_index::FlatIndex;
use toller_ir::Role;
use toller_pipeline::EncodeProgress;
use toller_sparse::BuildProgress;
use toller_store::{Damage, StoreWriter};
use toller_texts::Texts;
use toller_topk::cuda::DevicePlan;
use toller_train::{BadRecords, Inspected, LeftOut, TrainError};

/// Called with every event, from any thread of the engine.
pub type Observer = Arc<dyn Fn(&Event<'_>) + Send + Sync>;

/// Something that happened, for the front to put into words.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Long work goes on: `done` of `total` bytes (or rows, of a table in memory), where the total is known.
    /// The first report of a piece of work is its start.
    Progress {
        /// Which work.
        work: Work<'a>,
        /// What is done.
        done: u64,
        /// All of it.
        total: Option<u64>,
    },
    /// The work that was reported last has ended, well or not.
    Finished,
    /// The files of a model were found.
    ModelFound(&'a ModelSource),
    /// The engine waits for another process, which is downloading a file of the model.
    DownloadElsewhere {
        /// The file's path inside the model.
        file: &'a str,
    },
    /// The hub cannot be reached; the downloaded model is used as it is.
    ModelUnconfirmed {
        /// Why the hub cannot be reached.
        reason: &'a str,
    },
    /// A model does not define its pooling; the mean is used.
    PoolingAssumed {
        /// The model.
        model: &'a str,
    },
    /// Vectors are ranked by their inner product, but the model's files say another similarity.
    SimilarityNotUsed {
        /// The model.
        model: &'a str,
        /// Sentence-transformers' name of the similarity.
        similarity: &'a str,
    },
    /// This many batches were computed in halves, since the device had too little memory for them.
    BatchesSplit(usize),
    /// A model has tensors that its architecture has no place for.
    UnexpectedTensors {
        /// The model.
        model: &'a str,
        /// How many.
        count: usize,
        /// The first of them.
        first: &'a str,
    },
    /// Vectors of an unknown model are searched. Whether one model made both sides is not checked.
    ModelUnchecked,
    /// RM3's filter of terms leaves out much of what an inverted index has.
    TermsFiltered {
        /// The share of the documents' terms that it leaves out.
        share: f64,
    },
    /// The GPU of this name was chosen for `auto`.
    DeviceChosen(&'a str),
    /// The CPU was chosen for `auto`; with the reason, if there is a GPU that is not used.
    CpuChosen(Option<&'a DeviceError>),
    /// What the memory of a device is used for.
    DevicePlanned(&'a DevicePlan),
    /// An index of vectors was opened.
    IndexOpened(&'a FlatIndex),
    /// A folder in BEIR's form was named as a collection; this file or folder in it is read.
    BeirCorpus {
        /// The folder.
        folder: &'a Path,
        /// The file or folder.
        file: &'a Path,
    },
    /// The index of a collection's texts is built.
    TextsIndexed {
        /// Where.
        directory: &'a Path,
        /// What is wrong with the index that is there, if there is one.
        instead_of: Option<&'a str>,
    },
    /// The engine waits for another process, which is writing the index of texts.
    TextsAwaited {
        /// Where.
        directory: &'a Path,
    },
    /// The index of texts cannot be written to a directory; it is made elsewhere.
    TextsElsewhere {
        /// That directory.
        directory: &'a Path,
    },
    /// The index of texts was built.
    TextsBuilt {
        /// Its passages.
        passages: u64,
        /// Its bytes.
        bytes: u64,
    },
    /// The texts of a collection were opened.
    TextsOpened(&'a Texts),
    /// What was skipped of these files, or of a collection.
    Skipped {
        /// The files; none for a collection.
        inputs: &'a [Input],
        /// What was skipped, perhaps nothing.
        skipped: &'a SkipReport,
    },
    /// What judged queries, their judgments and negatives have that makes no example.
    LeftOut(&'a LeftOut),
    /// Bad records of training data were skipped.
    ExamplesSkipped(&'a BadRecords),
    /// All examples of a training were looked at.
    ExamplesInspected(&'a Inspected),
    /// Judged queries of a dev set that count as zero: they have no text, or no hits in the run to rank.
    DevQueriesMissing {
        /// How many.
        missing: usize,
        /// All judged queries.
        judged: usize,
    },
    /// Relevant documents that the collection of a dev set does not have: no model finds them.
    DevDocumentsMissing {
        /// How many, once for each query.
        missing: usize,
        /// All relevant documents.
        relevant: usize,
    },
    /// A checkpoint of a training is damaged. The run goes on from the one before it.
    CheckpointDamaged(&'a TrainError),
    /// A shard of a store is damaged and is written again.
    ShardDamaged(&'a Damage),
    /// An unfinished store is resumed.
    StoreResumed(&'a StoreWriter),
    /// A store is resumed through candle: the last bits of the other rows depend on their batches.
    BitsOfBatches,
    /// A store is being encoded.
    Encoding {
        /// What is encoded.
        role: Role,
        /// How far it is.
        progress: EncodeProgress,
        /// Rows of the finished store.
        rows: u64,
    },
    /// An inverted index is being built.
    Indexing {
        /// How far it is.
        progress: BuildProgress,
        /// Passages of the collection.
        passages: u64,
    },
}

/// Work that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work<'a> {
    /// A file of a model is downloaded.
    Download(&'a str),
    /// A collection is read and checked.
    Check,
    /// Checksums are verified.
    Verify,
    /// Vectors are copied to devices.
    Copy,
    /// A collection's texts are indexed.
    IndexTexts,
}
