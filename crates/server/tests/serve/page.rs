//! The page and its files, and the runs that it compares.

use crate::support::{Answer, Running};

/// What a browser says that it takes.
const BROWSER: [(&str, &str); 1] = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];

fn browse(server: &Running, path: &str) -> Answer {
    server.client().send("GET", path, &BROWSER, b"")
}

fn text(answer: &Answer) -> &str {
    std::str::from_utf8(&answer.body).unwrap()
}

/// The files that a file of the page names between `before` and a quote.
fn named<'a>(content: &'a str, before: &str) -> Vec<&'a str> {
    content.split(before).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn browsers_get_a_page_that_loads_nothing_from_elsewhere() {
    let server = Running::start();
    let page = browse(&server, "/");
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    let policy = &page.headers["content-security-policy"];
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");
    let mut files = named(text(&page), "=\"page/");
    assert_eq!(files.len(), 3, "{files:?}");
    let (mut next, mut kinds) = (0, Vec::new());
    let mut contents = Vec::new();
    while next < files.len() {
        let file = server.get(&format!("/page/{}", files[next]));
        assert_eq!((file.status, &*file.headers["x-content-type-options"]), (200, "nosniff"));
        kinds.push(file.headers["content-type"].clone());
        contents.push(String::from_utf8(file.body).unwrap());
        let content: &'static str = contents[next].clone().leak();
        files.extend(
            named(content, "from \"./").into_iter().filter(|name| !files.contains(name)).collect::<Vec<_>>(),
        );
        next += 1;
    }
    assert_eq!(kinds.iter().filter(|kind| kind.starts_with("text/javascript")).count(), 6, "{files:?}");
    for content in contents.iter().map(String::as_str).chain([text(&page)]) {
        assert!(
            !content.contains("http://") && !content.contains("https://") && !content.contains("innerHTML")
        );
    }
    assert_eq!(server.get("/page/none.js").status, 404);
    // For others, TEI's check of health.
    let health = server.get("/");
    assert_eq!((health.status, health.body.len()), (200, 0));
}

#[test]
fn runs_are_compared_as_on_the_command_line() {
    let server = Running::start();
    let asked = "run=first.run&run=second.run&measures=RR%20nDCG@3";
    let report = server.get(&format!("/v1/runs/report?{asked}")).ok();
    assert_eq!(report["runs"][0]["estimates"][0]["value"], 1.0 / 3.0 + 1.0 / 3.0);
    assert_eq!(report["measures"][1]["name"], "nDCG@3");
    let diff = server.get(&format!("/v1/runs/diff?{asked}")).ok();
    assert_eq!((&diff["lost"], &diff["gained"]), (&2.into(), &1.into()));
    assert_eq!(diff["shown"][0]["id"], "q3");
    assert_eq!(diff["shown"][0]["relevant"][0]["passage"]["title"], "Ducks");
    for (path, title) in
        [("report", "<h1>judged</h1>"), ("diff", "<h1>RR: first.run 0.6667, second.run 0.5000</h1>")]
    {
        let page = browse(&server, &format!("/v1/runs/{path}?{asked}"));
        assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
        assert!(text(&page).contains(title), "{path}");
        assert!(text(&page).contains("who lures &lt;b&gt;ducks&lt;/b&gt;?"), "{path}");
        // The page may run in a frame of the server's page.
        let policy = browse(&server, "/").headers["content-security-policy"].clone();
        let own = text(&page).split("script-src ").nth(1).unwrap();
        let own = own.split(';').next().unwrap().replace("&#39;", "'");
        assert!(policy.contains(&*own), "{policy} {own}");
    }
}

#[test]
fn a_comparison_has_a_deadline() {
    let server = Running::start();
    let asked = "/v1/runs/report?run=first.run&run=second.run";
    let late = server.client().send("GET", asked, &[("x-timeout-ms", "0")], b"");
    assert_eq!(late.status, 504);
    assert_eq!(late.json()["error"], "the comparison took until the deadline");
    server.get(asked).ok();
}

#[test]
fn runs_that_cannot_be_compared_are_errors() {
    let server = Running::start();
    for (query, status) in [
        ("report?run=none.run", 404),
        ("report?run=../corpus.jsonl", 404),
        ("report?run=.hidden", 404),
        ("report?run=broken.run", 422),
        ("report", 400),
        ("report?run=first.run&measures=poem", 422),
        ("diff?run=first.run", 422),
        ("diff?run=first.run&run=second.run&queries=x", 422),
        ("report?run=first.run&run=second.run&queries=1000&documents=1000", 422),
    ] {
        let answer = server.get(&format!("/v1/runs/{query}"));
        assert_eq!(answer.status, status, "{query}: {}", text(&answer));
        assert!(!text(&answer).contains(&*server.folder.path().to_string_lossy()), "{}", text(&answer));
    }
}
