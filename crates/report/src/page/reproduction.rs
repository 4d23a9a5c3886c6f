//! The page of a reproduction: a matrix of systems by collections for each table, and the commands.

use maud::{Markup, html};
use toller_ir::counted;

use super::parts::{number, table};
use super::shell;
use super::text::Plain;
use crate::reproduction::{
    Experiment, MeasuredValue, Outcome, ReproducedPaper, ReproducedTable, ReproducedValue, Reproduction,
};

/// The page. It is one file that loads nothing.
#[must_use]
pub fn reproduction_page(reproduction: &Reproduction) -> String {
    let papers = &reproduction.papers;
    let body = html! {
        a.skip href="#main" { "Skip to the content" }
        header.report {
            h1 { "What was published, and what was measured here" }
            p { (counted(papers.iter().map(|paper| paper.values().count()).sum::<usize>(), "figure")) " of "
                (counted(papers.len(), "source")) }
        }
        div.layout {
            nav aria-label="Contents" {
                ol {
                    li { a href="#overview" { "Overview" } }
                    @for paper in papers { li { a href={ "#" (Plain(&paper.id)) } { (Plain(&paper.name)) } } }
                }
            }
            main #main {
                section #overview aria-labelledby="overview-title" {
                    h2 #overview-title { "Overview" }
                    (overview(papers))
                }
                @for paper in papers {
                    section id=(Plain(&paper.id)) aria-labelledby={ (Plain(&paper.id)) "-title" } {
                        h2 id={ (Plain(&paper.id)) "-title" } { (Plain(&paper.name)) }
                        @for table in &paper.tables { (matrix(table)) }
                        (commands(reproduction, paper))
                    }
                }
            }
        }
    };
    shell::page("Reproduction", "reproduction", &[], &body)
}

fn overview(papers: &[ReproducedPaper]) -> Markup {
    let caption = html! {
        "Figures of each source. A recipe measures those that have one. A measured figure is as published if it "
        "is within the recipe’s tolerance."
    };
    let head = html! {
        tr {
            th scope="col" { "Source" }
            @for title in ["Figures", "With a recipe", "Measured", "As published", "Off", "Older"] {
                th.num scope="col" { (title) }
            }
        }
    };
    let body = html! {
        @for paper in papers {
            tr {
                th scope="row" { a href={ "#" (Plain(&paper.id)) } { (Plain(&paper.name)) } }
                td.num { (paper.values().count()) }
                td.num { (paper.values().filter(|value| value.experiment.is_some()).count()) }
                td.num { (paper.values().filter(|value| value.measured.is_some()).count()) }
                @for outcome in [Outcome::AsPublished, Outcome::Off, Outcome::Older] {
                    td.num { (count(paper, outcome)) }
                }
            }
        }
    };
    table("overview", &caption, &head, &body)
}

fn count(paper: &ReproducedPaper, outcome: Outcome) -> usize {
    let measured = paper.values().filter_map(|value| value.measured.as_ref());
    measured.filter(|measured| measured.outcome == outcome).count()
}

/// A table of a paper. The longer of systems and collections has the rows, so that it fits narrow windows.
fn matrix(of: &ReproducedTable) -> Markup {
    let is_by_system = of.systems.len() >= of.collections.len();
    let (rows, columns) =
        if is_by_system { (&of.systems, &of.collections) } else { (&of.collections, &of.systems) };
    let place = |value: &ReproducedValue| match is_by_system {
        true => (value.system, value.collection, value.measure),
        false => (value.collection, value.system, value.measure),
    };
    let find = |at| of.values.iter().find(|value| place(value) == at);
    // A column without any value is left out.
    let has_column =
        |column, measure| of.values.iter().any(|value| (place(value).1, place(value).2) == (column, measure));
    let measures_of =
        |column: usize| (0..of.measures.len()).filter(move |measure| has_column(column, *measure));
    let caption = html! {
        (Plain(&of.title)) ". The published figure, and below it what was measured."
        @for note in &of.notes { " " (Plain(&capital(note))) "." }
        @for (system, why) in &of.absent { " " (Plain(system)) " has no recipe: " (Plain(why)) "." }
    };
    let head = html! {
        tr {
            th rowspan="2" scope="col" { @if is_by_system { "System" } @else { "Collection" } }
            @for (at, column) in columns.iter().enumerate() {
                th.centre scope="colgroup" colspan=(measures_of(at).count()) { (Plain(column)) }
            }
        }
        tr.measures {
            @for column in 0..columns.len() {
                @for measure in measures_of(column) { th.num scope="col" { (Plain(&of.measures[measure])) } }
            }
        }
    };
    let body = html! {
        @for (row, name) in rows.iter().enumerate() {
            tr {
                th scope="row" { (Plain(name)) }
                @for column in 0..columns.len() {
                    @for measure in measures_of(column) { (cell(find((row, column, measure)))) }
                }
            }
        }
    };
    table(&of.title, &caption, &head, &body)
}

fn cell(value: Option<&ReproducedValue>) -> Markup {
    let Some(value) = value else { return html! { td.num {} } };
    let published = html! { (Plain(value.published.as_deref().unwrap_or("\u{2013}"))) };
    let published = match value.experiment {
        Some(experiment) => html! { a href={ "#command-" (experiment) } { (published) } },
        None => published,
    };
    let Some(measured) = &value.measured else { return html! { td.num.none { (published) } } };
    let (class, mark) = match measured.outcome {
        Outcome::AsPublished => ("gain", " ✓"),
        Outcome::Off => ("loss", " ✗"),
        Outcome::Unpublished => ("", ""),
        Outcome::Older => ("", " ?"),
    };
    html! {
        td.num title=(tooltip(measured)) {
            (published)
            small { span class=(class) { (number(measured.value)) (mark) } }
        }
    }
}

/// What a pointer on a value shows.
fn tooltip(measured: &MeasuredValue) -> String {
    let MeasuredValue { tolerance, outcome, date, .. } = measured;
    format!("measured {date}, tolerance {tolerance}: {}", outcome.words())
}

/// The commands of a paper's recipes, with what they measure.
fn commands(reproduction: &Reproduction, paper: &ReproducedPaper) -> Markup {
    let is_of_paper = |at: &usize| paper.values().any(|value| value.experiment == Some(*at));
    let experiments: Vec<usize> = (0..reproduction.experiments.len()).filter(is_of_paper).collect();
    html! {
        @if !experiments.is_empty() {
            details {
                summary { (counted(experiments.len(), "command")) }
                @for at in experiments { (command(at, &reproduction.experiments[at], paper)) }
            }
        }
    }
}

fn command(at: usize, experiment: &Experiment, paper: &ReproducedPaper) -> Markup {
    let values = paper.values().filter(|value| value.experiment == Some(at));
    let measured: Vec<&MeasuredValue> = values.clone().filter_map(|value| value.measured.as_ref()).collect();
    let dates = measured.iter().map(|measured| measured.date.as_str());
    let as_published = measured.iter().filter(|measured| measured.outcome == Outcome::AsPublished).count();
    html! {
        article id={ "command-" (at) } {
            h3.query { (Plain(&experiment.title)) }
            pre.command tabindex="0" { (Plain(&experiment.command)) }
            p.values {
                (counted(values.count(), "figure")) ", " (measured.len()) " measured"
                @if let Some(date) = dates.max() { ", last on " (Plain(date)) }
                @if !measured.is_empty() { ", " (as_published) " as published" }
                "."
            }
            @if !experiment.missing.is_empty() {
                h4 { "Missing" }
                ul { @for line in &experiment.missing { li.id { (Plain(line)) } } }
            }
        }
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(system: usize, measured: Option<MeasuredValue>) -> ReproducedValue {
        let published = Some("0.5".to_owned());
        ReproducedValue { system, published, experiment: Some(0), measured, ..ReproducedValue::default() }
    }

    #[test]
    fn values_are_marked_and_foreign_text_is_no_html() {
        let measured = |value, outcome| {
            Some(MeasuredValue { value, tolerance: 0.1, outcome, date: "2026-01-02".to_owned() })
        };
        let table = ReproducedTable {
            title: "<b>".to_owned(),
            systems: vec!["one".to_owned(), "two".to_owned(), "three".to_owned()],
            collections: vec!["test".to_owned()],
            measures: vec!["RR".to_owned()],
            values: vec![
                value(0, measured(0.51, Outcome::AsPublished)),
                value(1, measured(0.9, Outcome::Off)),
                value(2, None),
            ],
            ..ReproducedTable::default()
        };
        let experiment = Experiment {
            title: "<i>".to_owned(),
            command: "toller run a.toml --set data=<data>".to_owned(),
            missing: vec!["<data>".to_owned()],
        };
        let paper = ReproducedPaper { id: "p".to_owned(), name: "A paper".to_owned(), tables: vec![table] };
        let page = reproduction_page(&Reproduction { papers: vec![paper], experiments: vec![experiment] });
        for there in [
            "0.5100 ✓", "0.9000 ✗", "3 figures, 2 measured", "2026-01-02", "&lt;data&gt;", "id=\"command-0\"",
        ] {
            assert!(page.contains(there), "{there}");
        }
        assert!(!page.contains("<b>") && !page.contains("<i>") && !page.contains("<data>"));
    }
}
