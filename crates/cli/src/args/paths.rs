//! Paths and names on the command line, each of a type that says what a command does with it. Recipes know
//! from the types what a step reads and writes.

use std::fmt;
use std::io::Write;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use clap::builder::{
    PathBufValueParser, StringValueParser, TryMapValueParser, TypedValueParser, ValueParserFactory,
};
use toller_corpus::is_trec_run;
use toller_engine::check_analyzer;
use toller_files::{CompressedWriter, FileError, Input, expand, is_object_url};

use crate::error::UsageError;
use crate::stdout;
use crate::ui::Ui;

/// Endings of formats of figures and pages.
const OTHER_ENDINGS: [&str; 12] =
    ["docx", "eps", "gif", "html", "jpeg", "jpg", "pdf", "png", "ps", "svg", "tiff", "webp"];

macro_rules! values {
    ($($(#[$doc:meta])* $name:ident: $inner:ty => $borrowed:ty, $parser:ty, $check:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name($inner);

        impl ValueParserFactory for $name {
            type Parser = TryMapValueParser<$parser, fn($inner) -> Result<Self, UsageError>>;

            fn value_parser() -> Self::Parser {
                <$parser>::new().try_map(|value: $inner| $check(AsRef::<$borrowed>::as_ref(&value)).map(|()| Self(value)))
            }
        }

        impl Deref for $name {
            type Target = $borrowed;

            fn deref(&self) -> &$borrowed {
                &self.0
            }
        }

        impl From<&$name> for $inner {
            fn from(value: &$name) -> Self {
                value.0.clone()
            }
        }

        impl AsRef<$borrowed> for $name {
            fn as_ref(&self) -> &$borrowed {
                &self.0
            }
        }
    )+};
}

values! {
    /// A file or directory that is read; of a file, `-` is stdin.
    InputPath: PathBuf => Path, PathBufValueParser, readable;
    /// A file or directory that is written; of a file, `-` is stdout.
    OutputPath: PathBuf => Path, PathBufValueParser, on_disk;
    /// A directory that only saves work.
    CachePath: PathBuf => Path, PathBufValueParser, on_disk;
    /// A model: a directory, an id of the Hugging Face hub, or a known name.
    ModelName: String => str, StringValueParser, anything;
    /// An analyzer: a name, or `wordpiece:` and a model.
    AnalyzerName: String => str, StringValueParser, known_analyzer;
}

fn anything<T: ?Sized>(_: &T) -> Result<(), UsageError> {
    Ok(())
}

/// Refuses a name that no analyzer has. The model of one may be missing.
pub fn known_analyzer(name: &str) -> Result<(), UsageError> {
    check_analyzer(name).map_err(|error| UsageError::of(&error))
}

/// Refuses a URL that would be taken for the name of a file.
fn readable(path: &Path) -> Result<(), UsageError> {
    let is_url = |text: &str| ["http://", "https://", "file://"].iter().any(|start| text.starts_with(start));
    if path.to_str().is_some_and(is_url) {
        let message = "input is a path, or a URL of s3://, gs:// or az://";
        return Err(UsageError::new(message, "download other URLs first"));
    }
    Ok(())
}

/// Refuses a URL, which would become the name of a local directory.
fn on_disk(path: &Path) -> Result<(), UsageError> {
    if path.to_str().is_some_and(is_object_url) {
        let remedy = "`toller store push` sends a store to a URL";
        return Err(UsageError::new("output is written to disk", remedy));
    }
    Ok(())
}

impl InputPath {
    /// The paths of several.
    pub fn all(paths: &[Self]) -> Vec<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    /// The file, or stdin.
    pub fn input(&self) -> Input {
        Input::parse(&self.0)
    }
}

impl OutputPath {
    /// Whether data go to the user's pipe.
    pub fn is_stdout(&self) -> bool {
        self.0.as_os_str() == "-"
    }

    /// The name in messages.
    pub fn name(&self) -> String {
        if self.is_stdout() { "stdout".to_owned() } else { self.0.display().to_string() }
    }

    /// Refuses stdout for `what`, which is a directory.
    pub fn check_directory(&self, what: &str) -> Result<(), UsageError> {
        if self.is_stdout() {
            let message = format!("--output - : {what} is a directory");
            return Err(UsageError::new(message, "give --output a directory"));
        }
        Ok(())
    }

    /// Refuses stdout, where `flag` names it. `what` says what is not written there: "a figure is".
    pub fn check_file(&self, flag: &str, what: &str) -> Result<(), UsageError> {
        if self.is_stdout() {
            let message = format!("{flag} - : {what} not written to a stream");
            return Err(UsageError::new(message, format!("give {flag} a file")));
        }
        Ok(())
    }

    /// A file in this directory.
    pub fn file(&self, name: impl AsRef<Path>) -> Self {
        Self(self.0.join(name))
    }

    /// For clap: a name that does not end as files of another format do.
    pub fn ending_in(own: &'static str, what: &'static str) -> impl TypedValueParser<Value = Self> {
        Self::value_parser().try_map(move |path| path.check_ending(what, own).map(|()| path))
    }

    /// For clap: the name of a file that may be compressed.
    pub fn compressible() -> impl TypedValueParser<Value = Self> {
        Self::value_parser().try_map(|path| match CompressedWriter::check(&path) {
            Ok(()) => Ok(path),
            Err(error) => Err(UsageError::of(&error)),
        })
    }

    /// Refuses a name that ends as files of another format do: programs go by the ending.
    pub fn check_ending(&self, what: &str, own: &str) -> Result<(), UsageError> {
        let ending = self.0.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        if ending != own && OTHER_ENDINGS.contains(&&*ending) {
            return Err(UsageError::new(
                format!("{} would hold {what}, and its name ends in .{ending}", self.0.display()),
                format!("give it a name that ends in .{own}"),
            ));
        }
        Ok(())
    }

    /// The file next to this one whose name goes on with `suffix`; stdout stays stdout.
    pub fn with_suffix(&self, suffix: &str) -> Self {
        let mut name = self.0.clone().into_os_string();
        if !self.is_stdout() {
            name.push(suffix);
        }
        Self(name.into())
    }

    /// Refuses stdout if the result goes there too.
    pub fn check_free_of_json(&self, ui: &Ui) -> Result<(), UsageError> {
        self.check_flag_free_of_json("--output", ui)
    }

    /// The same for what another flag names.
    pub fn check_flag_free_of_json(&self, flag: &str, ui: &Ui) -> Result<(), UsageError> {
        if self.is_stdout() && ui.json {
            let message = format!("{flag} - and --json would both write to stdout");
            return Err(UsageError::new(message, format!("give {flag} a file")));
        }
        Ok(())
    }

    /// Lets `fill` write to stdout, or to a file that appears when it is whole. The end of its name says
    /// whether it is compressed (.gz, .zst, .xz). `fill` is given the name for messages.
    pub fn write<T>(
        &self,
        ui: &Ui,
        fill: impl FnOnce(&mut dyn Write, &Path) -> crate::Result<T>,
    ) -> crate::Result<T> {
        if self.is_stdout() {
            let mut out = ui.out();
            let filled = fill(&mut out, Path::new(stdout::NAME))?;
            out.flush()?;
            return Ok(filled);
        }
        let mut out = CompressedWriter::create(&self.0)?;
        let filled = fill(&mut out, &self.0).map_err(|failure| failure.while_writing(&self.0))?;
        out.finish().map_err(FileError::on("write", &self.0))?.commit()?;
        Ok(filled)
    }
}

/// The files and directories that a command reads, or writes on its way.
pub struct Inputs<'a> {
    files: Vec<&'a Path>,
    directories: Vec<&'a Path>,
}

impl<'a> Inputs<'a> {
    /// These files.
    pub fn files(files: impl IntoIterator<Item = &'a InputPath>) -> Self {
        Self { files: Vec::new(), directories: Vec::new() }.and_files(files)
    }

    /// And these files.
    pub fn and_files(mut self, files: impl IntoIterator<Item = &'a InputPath>) -> Self {
        self.files.extend(files.into_iter().map(Deref::deref));
        self
    }

    /// And these directories.
    pub fn and_directories(mut self, directories: impl IntoIterator<Item = &'a Path>) -> Self {
        self.directories.extend(directories);
        self
    }

    /// Refuses to read stdin twice.
    pub fn check(&self) -> Result<(), UsageError> {
        if self.files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
            return Err(UsageError::new("stdin is named twice", "only one file can come from stdin"));
        }
        Ok(())
    }

    /// Refuses to read stdin twice, and an output that [`Inputs::check_kept`] refuses or that would be mixed
    /// with `--json`.
    pub fn check_with(&self, output: &OutputPath, ui: &Ui) -> Result<(), UsageError> {
        self.check()?;
        output.check_free_of_json(ui)?;
        self.check_kept(output)
    }

    /// Refuses an output that would overwrite one of the files, or a file of a folder among them, or lie in
    /// one of the directories.
    pub fn check_kept(&self, output: &OutputPath) -> Result<(), UsageError> {
        self.check_kept_by("--output", output)
    }

    /// The same for the output of another flag.
    pub fn check_kept_by(&self, flag: &str, output: &OutputPath) -> Result<(), UsageError> {
        let is_overwritten = |file: &&&Path| is_same_file(file, output) || is_data_of(output, file);
        let overwritten = self.files.iter().find(is_overwritten);
        match overwritten.or_else(|| self.directories.iter().find(|directory| is_inside(output, directory))) {
            None => Ok(()),
            Some(input) => Err(UsageError::new(
                format!("{flag} {} would overwrite the input {}", output.display(), input.display()),
                format!("give {flag} another name"),
            )),
        }
    }

    /// Refuses a directory in which one of the files is, since files are written there.
    pub fn check_outside(&self, directory: &OutputPath) -> Result<(), UsageError> {
        match self.files.iter().find(|file| file.exists() && is_inside(file, directory)) {
            None => Ok(()),
            Some(file) => Err(UsageError::new(
                format!("the input {} is in --output {}", file.display(), directory.display()),
                "give --output another directory: files that are written there might replace it",
            )),
        }
    }

    /// Whether one of the files is this one.
    pub fn has_file(&self, path: &Path) -> bool {
        self.files.iter().any(|file| is_same_file(file, path))
    }
}

/// The last part of a model's name or directory.
pub fn last_part(name: &str) -> &str {
    name.trim_end_matches('/').rsplit('/').next().unwrap_or(name)
}

/// Whether both are there and the same.
fn is_same_file(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// Whether a file is there, and among the data of a folder that is read. Runs are not data: people keep them
/// next to what they are made of.
fn is_data_of(file: &Path, folder: &Path) -> bool {
    let is_file = |input: &Input| input.path().is_some_and(|path| is_same_file(path, file));
    folder.is_dir()
        && file.is_file()
        && !is_trec_run(file)
        && expand([folder]).is_ok_and(|inputs| inputs.iter().any(is_file))
}

/// Whether `path`, which need not exist, lies in `directory`.
fn is_inside(path: &Path, directory: &Path) -> bool {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    parent
        .canonicalize()
        .is_ok_and(|parent| directory.canonicalize().is_ok_and(|directory| parent.starts_with(directory)))
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}
