//! `toller convert`: a checkpoint of PaddlePaddle, or an old one of PyTorch, to a model directory.

use std::io::Write;

use serde_json::json;
use toller_checkpoint::convert::{ConvertOptions, convert};

use crate::args::paths::{InputPath, OutputPath};
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub struct ConvertArgs {
    /// The checkpoint: a .pdparams file, a directory of variables, __params__ or .pdiparams with its program,
    /// RocketQA's or PaddleNLP's directory, or a directory of PyTorch weights
    #[arg(value_name = "CHECKPOINT")]
    source: InputPath,

    /// The model directory to write; it must be new or empty
    #[arg(long, value_name = "DIR")]
    output: OutputPath,

    /// The configuration [default: ernie_config.json, model_config.json or config.json next to the
    /// checkpoint]
    #[arg(long, value_name = "FILE")]
    config: Option<InputPath>,

    /// The vocabulary [default: vocab.txt next to the checkpoint]
    #[arg(long, value_name = "FILE")]
    vocab: Option<InputPath>,

    /// Prefix of the variables of the encoder to convert, if a checkpoint holds several encoders
    #[arg(long, value_name = "PREFIX", allow_hyphen_values = true)]
    prefix: Option<String>,

    /// Leave out variables of unknown purpose instead of refusing the checkpoint
    #[arg(long)]
    allow_unexpected: bool,
}

/// Converts, and reports what became of every variable.
pub fn run(args: &ConvertArgs, ui: &Ui) -> crate::Result<()> {
    args.output.check_directory("a model")?;
    let options = ConvertOptions {
        config: args.config.as_ref().map(Into::into),
        vocabulary: args.vocab.as_ref().map(Into::into),
        prefix: args.prefix.clone(),
        allow_unexpected: args.allow_unexpected,
    };
    let converted = convert(&args.source, &args.output, &options)?;
    if ui.json {
        return ui.json(|| {
            let models: Vec<_> = converted
                .models
                .iter()
                .map(|model| {
                    json!({
                        "directory": model.directory.display().to_string(),
                        "architecture": model.architecture,
                        "tensors": model.tensors,
                        "parameters": model.parameters,
                    })
                })
                .collect();
            let left_out: Vec<_> = converted
                .left_out
                .iter()
                .map(|left| json!({"name": left.name, "reason": left.reason}))
                .collect();
            json!({"models": models, "left_out": left_out})
        });
    }
    let mut out = ui.out();
    for model in &converted.models {
        let (directory, class) = (model.directory.display(), &model.architecture);
        writeln!(out, "{directory}: {class}, {} tensors, {} parameters", model.tensors, model.parameters)?;
    }
    out.flush()?;
    for left in &converted.left_out {
        ui.detail(format!("left out: {} ({})", left.name, left.reason));
    }
    if !converted.left_out.is_empty() && !ui.verbose {
        ui.status(format!("left out: {}; -v names them", converted.left_out.len()));
    }
    Ok(())
}
