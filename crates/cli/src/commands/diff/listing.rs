//! What is shown of two runs: queries that differ, and the texts that belong to them.

use toller_report::{Contrast, Judged, Texts, Wanted};

use super::DiffArgs;
use crate::args::qrels::QrelsArgs;
use crate::args::runs::{run_names, warn_of_missing, warn_of_none_judged};
use crate::error::UsageError;
use crate::ui::Ui;

/// Two runs compared, and texts.
pub(super) struct Listing {
    pub(super) contrast: Contrast,
    pub(super) texts: Texts,
}

impl Listing {
    /// Reads and compares the runs, then reads the texts of what is shown.
    pub(super) fn read(args: &DiffArgs, qrels: &QrelsArgs, ui: &Ui) -> crate::Result<Self> {
        let qrels = qrels.read(args.input.skip_bad_lines(), ui)?;
        let runs = args.input.read_each(&args.runs, ui)?;
        for (path, run) in args.runs.iter().zip(&runs) {
            warn_of_none_judged(&path.input().to_string(), run, &qrels, ui);
            warn_of_missing(&path.input().to_string(), run, &qrels, ui);
        }
        let ([before, after], Ok(names)) = (&runs[..], run_names(&args.runs).try_into()) else {
            return Err(UsageError::new("a comparison needs two runs", "name two runs").into());
        };
        let contrast = Contrast::new(&qrels, names, [before, after], &args.options())?;
        let mut wanted = Wanted::default();
        contrast.want(&mut wanted);
        let texts = args.texts.read(&wanted, args.input.skip_bad_lines(), ui)?;
        Ok(Self { contrast, texts })
    }

    /// What a grade means.
    pub(super) fn judged(&self, grade: Option<i32>) -> Judged {
        Judged::of(grade, self.contrast.relevance_level)
    }
}
