//! `toller store status`: whether a store is complete, for people and scripts.

use toller_store::{OpenOptions, StoreError, find_damage, find_damaged_codes, status};

use crate::args::paths::InputPath;
use crate::error::Remedied;
use crate::ui::Ui;

/// Say which parts of a store are missing; exit status 0 if it is complete.
///
/// A store in parts needs no further step: once all parts are complete, it is opened as one store. Files,
/// those of codes too, must be there with their whole length; `toller store verify` reads them and compares
/// their checksums.
#[derive(Debug, clap::Args)]
pub struct StatusArgs {
    /// Store, written whole or in parts
    #[arg(value_name = "STORE")]
    store: InputPath,
}

pub fn run(args: &StatusArgs, ui: &Ui) -> crate::Result<()> {
    let found = status(&args.store)?;
    let options = OpenOptions { verify: false, progress: None };
    let damaged = find_damage(&found.parts, &options)?;
    let damaged_codes = find_damaged_codes(&found.parts, &options)?;
    let (rows, expected, of) = (found.rows(), found.rows_expected(), found.of);
    let to_do = found.to_do();
    let disagreeing = found.disagreeing();
    let finished = of as usize - to_do.len();
    ui.show(
        || {
            let unfinished = found.unfinished().map(|(index, part)| {
                let rows_expected = part.manifest.spec.expected_rows();
                serde_json::json!({ "part": index, "rows": part.manifest.count, "rows_expected": rows_expected })
            });
            serde_json::json!({
                "store": args.store.display().to_string(),
                "complete": to_do.is_empty()
                    && disagreeing.is_empty()
                    && damaged.is_empty()
                    && damaged_codes.is_empty(),
                "parts": of,
                "parts_finished": finished,
                "missing": found.missing,
                "unfinished": unfinished.collect::<Vec<_>>(),
                "disagreeing": disagreeing.iter().map(|(index, _)| index).collect::<Vec<_>>(),
                "rows": rows,
                "rows_expected": expected,
                "damaged_shards": damaged.len(),
                "damaged_codes": damaged_codes.len(),
            })
        },
        |out| {
            writeln!(out, "parts        {finished} of {of} finished")?;
            writeln!(out, "rows         {rows} of {expected}")?;
            if !found.missing.is_empty() {
                writeln!(out, "not begun    {}", listed(&found.missing))?;
            }
            for (index, part) in found.unfinished() {
                let (rows, expected) = (part.manifest.count, part.manifest.spec.expected_rows());
                writeln!(out, "unfinished   {index}: {rows} of {expected} rows")?;
            }
            if !disagreeing.is_empty() {
                let indices: Vec<u32> = disagreeing.iter().map(|(index, _)| *index).collect();
                writeln!(out, "disagreeing  {}", listed(&indices))?;
            }
            let mut damaged = damaged.iter().chain(&damaged_codes);
            damaged.try_for_each(|damage| writeln!(out, "damaged      {}", damage.error))
        },
    )?;
    if let Some(damage) = damaged.first() {
        let message = format!("{}; {} shard files in all", damage.error, damaged.len());
        return Err(Remedied::new(
            message,
            "run the command that wrote the store again: it writes these files again",
        )
        .into());
    }
    found.check_agreement()?;
    if to_do.is_empty() {
        return damaged_codes.into_iter().next().map_or(Ok(()), |damage| Err(damage.error.into()));
    }
    if of > 1 {
        let message = format!("{} of {of} parts are not complete: {}", to_do.len(), listed(&to_do));
        let hint = format!(
            "run the same `toller encode` command with `--shard {}/{of}`, and so on; in Slurm, with `--shard \
             auto/{of}` or a script of `toller slurm`: sbatch --array={}",
            to_do.first().copied().unwrap_or(1),
            listed(&to_do)
        );
        return Err(Remedied::new(message, hint).into());
    }
    let path = args.store.to_path_buf();
    Err(StoreError::Incomplete { path, rows_done: rows, rows_expected: expected }.into())
}

/// Ascending numbers, with ranges, as schedulers take them: `1,4-6`.
fn listed(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let texts = runs.map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        [only] => only.to_string(),
        [] => String::new(),
    });
    texts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn numbers_are_listed_as_schedulers_take_them() {
        assert_eq!(listed(&[1, 4, 5, 6, 9, 10]), "1,4-6,9-10");
        assert_eq!(listed(&[]), "");
    }
}
