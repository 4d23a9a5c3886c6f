//! Why an object store does not do what was asked.

use std::error::Error;
use std::iter;

use toller_ir::{Explain, Remedy};

/// Why an object store does not do what was asked. The URL is in the error around this one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// The text is not a URL of an object or a folder.
    #[error("{0} is not the URL of an object")]
    Url(String),
    /// There is no such object, or no such bucket.
    #[error("there is no such object{0}")]
    NotFound(String),
    /// The credentials do not permit this.
    #[error("access is denied (403){0}")]
    Denied(String),
    /// The credentials are not accepted.
    #[error("the credentials are not accepted (401){0}")]
    Unauthenticated(String),
    /// There are no credentials.
    #[error("no credentials are set")]
    NoCredentials,
    /// The bucket is in another region.
    #[error("the bucket is in another region{0}")]
    Region(String),
    /// The object is not the version that was opened.
    #[error("the object was replaced while it was read")]
    Replaced,
    /// A key in the bucket that no URL can name.
    #[error("the key of an object cannot be used: {0}")]
    Key(String),
    /// Another writer was first.
    #[error("another writer has changed the object")]
    Conflict,
    /// A variable of the environment that cannot be used.
    #[error("{name} {problem}")]
    Setting {
        /// The variable.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Anything else: the network, the server, or the settings.
    #[error("{0}")]
    Other(String),
}

/// What a client without credentials says: it misses a setting, or it asked the machine's own service.
const NO_CREDENTIALS: [&str; 5] = [
    "//169.254.", "//metadata", "Missing AccessKeyId", "Missing SecretAccessKey", "Account must be specified",
];

impl RemoteError {
    /// What an error of `object_store` means.
    pub(crate) fn of(error: &object_store::Error) -> Self {
        let first: &(dyn Error + 'static) = error;
        let chain = || iter::successors(Some(first), |&cause| cause.source());
        if let Some(wrong) = chain().find_map(|cause| cause.downcast_ref::<object_store::path::Error>()) {
            return Self::Key(in_one_line(&wrong.to_string()));
        }
        let causes: Vec<String> = chain().map(ToString::to_string).collect();
        let all = causes.join(" ");
        let code = field(&all, "Code");
        let detail = detail(&all);
        match error {
            object_store::Error::NotFound { .. } => Self::NotFound(detail),
            object_store::Error::PermissionDenied { .. } => Self::Denied(detail),
            object_store::Error::Unauthenticated { .. } => Self::Unauthenticated(detail),
            object_store::Error::Precondition { .. } => Self::Replaced,
            object_store::Error::AlreadyExists { .. } => Self::Conflict,
            _ if NO_CREDENTIALS.iter().any(|sign| all.contains(sign)) => Self::NoCredentials,
            _ if all.contains("redirect without LOCATION")
                || matches!(code, Some("PermanentRedirect" | "AuthorizationHeaderMalformed")) =>
            {
                Self::Region(detail)
            }
            _ if code == Some("NoSuchBucket") => Self::NotFound(detail),
            _ if !detail.is_empty() => Self::Other(format!("the server refused the request{detail}")),
            _ => Self::Other(causes.last().map_or_else(String::new, |cause| in_one_line(cause))),
        }
    }
}

/// What a server says in its answer, in parentheses.
fn detail(answer: &str) -> String {
    let said = field(answer, "Message").or_else(|| field(answer, "Code"));
    said.map(|said| format!(" ({})", in_one_line(said))).unwrap_or_default()
}

/// The content of the first element of this name.
fn field<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(content, _)| content)
}

/// At most 200 characters, in one line.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect()
}

impl Explain for RemoteError {
    fn remedy(&self) -> Option<Remedy> {
        let text = match self {
            Self::Url(_) => "URLs are s3://BUCKET/KEY, gs://BUCKET/KEY or az://CONTAINER/KEY",
            Self::NotFound(_) => {
                "check the bucket and the key; where several files are read, a folder ends in `/`, and `*` stands for a \
                 part of a name"
            }
            Self::Denied(_) => {
                "use credentials with access to the bucket; a public bucket of S3 needs AWS_SKIP_SIGNATURE=true"
            }
            Self::Unauthenticated(_) | Self::NoCredentials => {
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (`aws configure export-credentials` \
                 prints them; AWS_SKIP_SIGNATURE=true for a public bucket), GOOGLE_APPLICATION_CREDENTIALS, or \
                 AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"
            }
            Self::Region(_) => "set AWS_REGION to the bucket's region",
            Self::Key(_) => "rename that object, or give the URLs of the other objects",
            Self::Replaced => "run the same command again, when nobody writes the object",
            Self::Conflict => "run the same command again",
            Self::Setting { .. } => "correct the variable in the environment",
            Self::Other(_) => {
                "check the network, HTTPS_PROXY and the settings of your provider (such as AWS_ENDPOINT_URL, \
                 GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_NAME), and run the same command again"
            }
        };
        Some(text.into())
    }
}

#[cfg(test)]
mod tests {
    use object_store::aws::AmazonS3Builder;

    use super::RemoteError;
    use crate::connection::Connector;

    #[test]
    fn half_of_the_credentials_are_none() {
        let secret = AmazonS3Builder::new().with_bucket_name("bucket").with_region("eu-central-1");
        let connector = Connector(toller_hub::ResolveOptions::from_env());
        let error = secret.with_secret_access_key("secret").with_http_connector(connector).build().err();
        assert_eq!(error.map(|error| RemoteError::of(&error)), Some(RemoteError::NoCredentials));
    }
}
