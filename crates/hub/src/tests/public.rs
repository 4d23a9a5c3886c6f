//! Public files.

use std::fs;
use std::ops::ControlFlow;

use toller_ir::Explain;

use super::options;
use super::stand_in::{COMMIT, Mood, StandIn};
use crate::{PublicFile, ResolveError, ResolveOptions, download};

/// A file of the stand-in, and its MD5.
const NAME: &str = "archive.zip";
const BYTES: &[u8] = b"0123456789";
const MD5: &str = "781e5e245d69b566979b86e28d23f2c7";

fn go_on(_: crate::ResolveEvent<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn a_download_goes_on_where_it_stopped_and_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let web = StandIn::start(&[(NAME, BYTES)]);
    let url = format!("{}/org/model/resolve/{COMMIT}/{NAME}", web.endpoint);
    let file = PublicFile { url: &url, bytes: Some(10), md5: Some(MD5) };
    let (path, options) = (folder.path().join(NAME), options(folder.path(), &web.endpoint));
    let incomplete = folder.path().join(format!("{NAME}.incomplete"));

    fs::write(&incomplete, &BYTES[..4]).unwrap();
    assert!(download(&file, &path, &options, &mut go_on).unwrap());
    assert_eq!(fs::read(&path).unwrap(), BYTES);
    assert_eq!(web.requests()[0].headers.get("range").map(String::as_str), Some("bytes=4-"));
    assert!(!incomplete.exists());

    // What is there is checked; the web is not asked.
    let asked = web.requests().len();
    let offline = ResolveOptions { offline: true, ..options.clone() };
    assert!(!download(&file, &path, &offline, &mut go_on).unwrap());
    fs::write(&path, b"0123456780").unwrap();
    let wrong = download(&file, &path, &options, &mut go_on).unwrap_err();
    assert!(matches!(&wrong, ResolveError::NotPublished { what, .. } if what.contains(MD5)), "{wrong}");
    assert!(wrong.remedy().is_some());
    assert_eq!(web.requests().len(), asked);
    fs::remove_file(&path).unwrap();
    let offline = download(&file, &path, &offline, &mut go_on).unwrap_err();
    assert!(matches!(offline, ResolveError::Offline), "{offline}");
}

#[test]
fn a_file_that_is_not_the_published_one_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let web = StandIn::start(&[(NAME, BYTES)]);
    let url = format!("{}/org/model/resolve/{COMMIT}/{NAME}", web.endpoint);
    let (path, options) = (folder.path().join(NAME), options(folder.path(), &web.endpoint));
    let other = PublicFile { url: &url, bytes: None, md5: Some("00000000000000000000000000000000") };
    let wrong = download(&other, &path, &options, &mut go_on).unwrap_err();
    assert!(matches!(wrong, ResolveError::NotPublished { .. }), "{wrong}");
    let longer = PublicFile { url: &url, bytes: Some(9), md5: None };
    let wrong = download(&longer, &path, &options, &mut go_on).unwrap_err();
    assert!(matches!(wrong, ResolveError::Oversized { limit_bytes: 9, .. }), "{wrong}");
    assert!(!path.exists());

    // Nothing stays of a file that does not come.
    let absent = PublicFile { url: &format!("{url}-absent"), bytes: None, md5: None };
    let path = folder.path().join("absent.zip");
    let wrong = download(&absent, &path, &options, &mut go_on).unwrap_err();
    assert!(matches!(wrong, ResolveError::Status { status: 404, .. }), "{wrong}");
    assert!(!path.exists() && !folder.path().join("absent.zip.incomplete").exists());
}

#[test]
fn a_download_survives_a_broken_connection_and_stops_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let web = StandIn::start(&[(NAME, &[7; 300_000])]);
    let url = format!("{}/org/model/resolve/{COMMIT}/{NAME}", web.endpoint);
    let file = PublicFile { url: &url, bytes: Some(300_000), md5: None };
    let (path, options) = (folder.path().join(NAME), options(folder.path(), &web.endpoint));

    let stop = |event: crate::ResolveEvent<'_>| match event {
        crate::ResolveEvent::Advanced { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let stopped = download(&file, &path, &options, &mut { stop }).unwrap_err();
    assert!(matches!(stopped, ResolveError::Interrupted), "{stopped}");
    let kept = fs::metadata(folder.path().join(format!("{NAME}.incomplete"))).unwrap().len();
    assert!(0 < kept && kept < 300_000 && !path.exists(), "{kept}");

    web.set(Mood::Dies { file: NAME, times: 1 });
    assert!(download(&file, &path, &options, &mut go_on).unwrap());
    assert_eq!(fs::read(&path).unwrap(), [7; 300_000]);
}
