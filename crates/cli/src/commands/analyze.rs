//! `toller analyze`: the terms that an analyzer makes of texts.

use std::io::{self, Write};

use serde_json::json;
use toller_files::Input;

use crate::args::analyzer::AnalyzerArgs;
use crate::args::id_lines::lines;
use crate::engine;
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub struct AnalyzeArgs {
    #[command(flatten)]
    analyzer: AnalyzerArgs,

    /// Texts to analyze [default: the lines of standard input, as for -]
    #[arg(value_name = "TEXT")]
    texts: Vec<String>,
}

/// Prints the terms of each text as a line, with spaces between, or as JSON.
pub fn run(args: &AnalyzeArgs, ui: &Ui) -> crate::Result<()> {
    let analyzer = args.analyzer.load(&engine::open(ui)?)?;
    let mut results = Vec::new();
    let mut out = ui.out();
    let mut show = |text: &str| -> io::Result<()> {
        let terms = analyzer.analyze(text);
        if ui.json {
            results.push(json!({ "text": text, "terms": terms }));
            Ok(())
        } else {
            writeln!(out, "{}", terms.join(" "))
        }
    };
    if args.texts.is_empty() || args.texts == ["-"] {
        lines(&Input::Stdin, |_, line| Ok(show(line)?))?;
    } else {
        args.texts.iter().try_for_each(|text| show(text))?;
    }
    out.flush()?;
    drop(out);
    ui.json(|| json!({ "analyzer": analyzer.name(), "texts": results }))
}
