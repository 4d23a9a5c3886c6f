//! Words that are joined by an apostrophe.

/// Takes a French article or pronoun off: `l'avion`.
pub(in super::super) fn french_elision(term: &mut String) {
    const ARTICLES: &[&str] =
        &["l", "m", "t", "qu", "n", "s", "j", "d", "c", "jusqu", "quoiqu", "lorsqu", "puisqu"];
    remove_article(term, ARTICLES);
}

/// Takes an Italian article or preposition off: `dell'arte`.
pub(in super::super) fn italian_elision(term: &mut String) {
    const ARTICLES: &[&str] = &[
        "c", "l", "all", "dall", "dell", "nell", "sull", "coll", "pell", "gl", "agl", "dagl", "degl", "negl",
        "sugl", "un", "m", "t", "s", "v", "d",
    ];
    remove_article(term, ARTICLES);
}

fn remove_article(term: &mut String, articles: &[&str]) {
    let Some((article, rest)) = term.split_once(APOSTROPHES) else { return };
    if articles.iter().any(|known| article.eq_ignore_ascii_case(known)) {
        term.drain(..term.len() - rest.len());
    }
}

/// Takes the apostrophe and the letters after it off: in Turkish, the inflection of a name.
pub(in super::super) fn turkish_apostrophe(term: &mut String) {
    if let Some((name, _)) = term.split_once(APOSTROPHES) {
        term.truncate(name.len());
    }
}

const APOSTROPHES: [char; 2] = ['\'', '\u{2019}'];
