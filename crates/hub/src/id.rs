//! The id of a repository of the hub, with a revision.

/// A repository of the hub and a revision, `org/name@revision`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepoId {
    /// `org/name`, or the name of one of the first models.
    pub(crate) id: String,
    /// A branch, a tag or a commit.
    pub(crate) revision: String,
}

/// What the names of models begin with that the hub had before it had owners. It redirects them, and caches
/// have them under these names.
const FIRST_MODELS: [&str; 6] =
    ["albert-", "bert-", "distilbert-", "distilroberta-", "roberta-", "xlm-roberta-"];

impl RepoId {
    /// Parses `org/name` or `org/name@revision` by the rules of the hub. The first models of the hub are also
    /// known by their names alone, as `bert-base-uncased`.
    ///
    /// # Errors
    /// Why the text cannot be an id.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let (id, revision) = text.split_once('@').unwrap_or((text, "main"));
        let (org, name) = id.split_once('/').unwrap_or(("", id));
        if org.is_empty() && (id.contains('/') || !FIRST_MODELS.iter().any(|first| id.starts_with(first))) {
            return Err("an id of the hub is org/name");
        }
        if id.len() > 96 || !(org.is_empty() || is_id_part(org)) || !is_id_part(name) {
            return Err("an id of the hub is org/name, of letters, digits, -, _ and .");
        }
        if !is_revision(revision) {
            return Err("after the @ comes a branch, a tag or a commit");
        }
        Ok(Self { id: id.to_owned(), revision: revision.to_owned() })
    }
}

fn is_id_part(part: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !part.is_empty()
        && part.bytes().all(is_allowed)
        && !part.starts_with(['-', '.'])
        && !part.ends_with(['-', '.'])
        && !part.contains("--")
        && !part.contains("..")
}

/// Whether a revision, used as a path below a folder, stays inside the folder.
fn is_revision(revision: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'+');
    !revision.is_empty()
        && revision.split('/').all(|part| {
            !part.is_empty() && part.bytes().all(is_allowed) && !part.starts_with('.') && !part.contains("..")
        })
}

#[cfg(test)]
mod tests {
    use super::RepoId;

    #[test]
    fn ids_and_revisions() {
        let parsed = |text| RepoId::parse(text).map(|repo| (repo.id, repo.revision)).ok();
        let pair = |id: &str, revision: &str| Some((id.to_owned(), revision.to_owned()));
        assert_eq!(parsed("org/name"), pair("org/name", "main"));
        assert_eq!(parsed("BAAI/bge-base-en-v1.5@refs/pr/1"), pair("BAAI/bge-base-en-v1.5", "refs/pr/1"));
        assert_eq!(parsed("a/b@v1.0"), pair("a/b", "v1.0"));
        assert_eq!(parsed("bert-base-uncased"), pair("bert-base-uncased", "main"));
        assert_eq!(parsed("xlm-roberta-base@v1"), pair("xlm-roberta-base", "v1"));
        for wrong in [
            "bert-", "bert-base/", "/bert-base", "bert--base", "", "name", "/name", "org/", "a/b/c", "./b",
            "../b", "a/..", "-a/b", "a/b-", "a--b/c", "a b/c", "a/b@", "a/b@../../x", "a/b@/x", "a/b@x//y",
            "a/b@x\\y", "a/b@x y", "C:\\a/b", "ä/b",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
