//! Settings that `object_store` takes as they are. It panics because of some when the first request is made,
//! and names none.

use ureq::http::Uri;

use crate::RemoteError;

/// Variables whose value must be the address of a server.
const ADDRESSES: [&str; 9] = [
    "AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_STS",
    "AWS_METADATA_ENDPOINT", "AZURE_ENDPOINT", "AZURE_STORAGE_ENDPOINT", "AZURE_MSI_ENDPOINT",
    "AZURE_IDENTITY_ENDPOINT",
];

/// A variable that holds a file of JSON, which may have several lines.
const SEVERAL_LINES: &str = "GOOGLE_SERVICE_ACCOUNT_KEY";

/// Checks a variable that `object_store` reads, as far as a mistake in it would not be explained.
pub(crate) fn check(name: &str, value: &str) -> Result<(), RemoteError> {
    let wrong = |problem: String| Err(RemoteError::Setting { name: name.to_owned(), problem });
    if name != SEVERAL_LINES && value.contains(char::is_control) {
        return wrong("has a line break or another control character".to_owned());
    }
    if ADDRESSES.contains(&name) && !is_server(value) {
        return wrong(format!("is {value:?}; expected an address such as https://server:9000"));
    }
    if name == "GOOGLE_APPLICATION_CREDENTIALS"
        && let Err(error) = std::fs::File::open(value)
    {
        return wrong(format!("names {value:?}: {error}"));
    }
    Ok(())
}

/// Whether a text is the address of a server.
fn is_server(text: &str) -> bool {
    let address = text.parse::<Uri>().ok();
    address.is_some_and(|address| {
        matches!(address.scheme_str(), Some("http" | "https"))
            && address.host().is_some_and(|host| !host.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::RemoteError;

    #[test]
    fn mistakes_are_named() {
        for right in ["http://127.0.0.1:9", "https://minio.example", "http://[::1]:9000/path"] {
            assert_eq!(check("AWS_ENDPOINT_URL", right), Ok(()), "{right}");
        }
        for wrong in
            ["127.0.0.1:9", "http://", "http://[::1", "not a url", "http://127.0.0.1:9/a b", "ftp://x"]
        {
            let refused = check("AWS_ENDPOINT_URL", wrong);
            assert!(
                matches!(&refused, Err(RemoteError::Setting { name, .. }) if name == "AWS_ENDPOINT_URL"),
                "{wrong}"
            );
        }
        assert!(check("AWS_ACCESS_KEY_ID", "a\nb").is_err());
        assert!(check("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/at/all").is_err());
        for (name, value) in [
            ("AWS_STS_REGIONAL_ENDPOINTS", "regional"),
            ("AWS_USE_FIPS_ENDPOINT", "true"),
            ("AZURE_USE_FABRIC_ENDPOINT", "true"),
            ("GOOGLE_SERVICE_ACCOUNT_KEY", "{\n}\n"),
        ] {
            assert_eq!(check(name, value), Ok(()), "{name}");
        }
    }
}
