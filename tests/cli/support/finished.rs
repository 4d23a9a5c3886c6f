//! A command that has ended: what it said, and how it ended.

use std::process::Output;

use serde_json::Value;

/// What a command left: exit status, data, messages.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The exit status; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// From the output of a process, which must be UTF-8.
    pub(crate) fn new(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Checks that the command did what it was asked for.
    #[track_caller]
    pub(crate) fn succeeds(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }

    /// Checks that the command failed with this status, wrote no data, and said all of these things.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, says: &[&str]) -> Self {
        let Self { code: found, stdout, stderr } = &self;
        assert_eq!(*found, Some(code), "{stderr}");
        assert_eq!(stdout, "", "data of a command that failed");
        assert!(!stderr.contains("panicked"), "{stderr}");
        self.says(says);
        self
    }

    /// Checks that all of these words are on stderr.
    #[track_caller]
    pub(crate) fn says(&self, words: impl IntoIterator<Item = impl AsRef<str>>) -> &Self {
        assert_contains(&self.stderr, words);
        self
    }

    /// Checks that all of these words are on stdout.
    #[track_caller]
    pub(crate) fn prints(&self, words: impl IntoIterator<Item = impl AsRef<str>>) -> &Self {
        assert_contains(&self.stdout, words);
        self
    }

    /// Stdout, which must be one JSON value and nothing else.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in:\n{}", self.stdout))
    }
}

#[track_caller]
fn assert_contains(text: &str, words: impl IntoIterator<Item = impl AsRef<str>>) {
    for words in words {
        let words = words.as_ref();
        assert!(text.contains(words), "{words:?} is not in:\n{text}");
    }
}

/// Checks that an object has these values; it may have others.
#[track_caller]
pub(crate) fn assert_has(found: &Value, expected: Value) {
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&found[key], value, "{key} in {found:#}");
    }
}
