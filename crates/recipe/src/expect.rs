//! What is expected of the reports that steps write.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::RecipeError;
use super::figures::Figures;
use super::matrix::{Cell, Matrix};
use super::source::Source;

/// A value that is expected of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Where it is found. The mean counts if there are several.
    pub places: Vec<ReportPlace>,
    /// The measure, as the reports call it.
    pub measure: String,
    /// Its value; `None` if nobody published it.
    pub value: Option<f64>,
    /// By how much it may be off.
    pub tolerance: f64,
    /// Where the value is from.
    pub source: String,
    /// The id of the figure.
    pub figure: Option<String>,
    /// The cell of the matrix.
    pub cell: Cell,
    /// Where this is written.
    pub line: usize,
}

/// A run in a report of `toller eval --format json` or another command with such a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportPlace {
    /// The report.
    pub report: String,
    /// The run, as the report calls it.
    pub run: String,
    /// The judgments, as the report calls them, if it has several.
    pub qrels: Option<String>,
    /// A group of queries; `macro` for the mean over the groups.
    pub group: Option<String>,
}

impl Expected {
    /// The run, in a word.
    #[must_use]
    pub fn run(&self) -> String {
        match &self.places[..] {
            [place] => match &place.group {
                Some(group) => format!("{} {group}", place.run),
                None => place.run.clone(),
            },
            places => {
                let run = places.first().map_or("", |place| place.run.as_str());
                format!("{run} mean of {}", places.len())
            }
        }
    }
}

/// An `[[expect]]` of the file.
struct Expectation {
    place: ReportPlace,
    /// The start of the ids of figures.
    published: Option<String>,
    /// The same for the mean over the cells.
    average: Option<String>,
    /// Measures, with their values where these are in the recipe.
    measures: Vec<(String, Option<f64>, usize)>,
    /// A number, once an axis has its value.
    tolerance: String,
    source: String,
    line: usize,
}

const KEYS: [&str; 9] =
    ["report", "run", "qrels", "group", "published", "average", "measures", "tolerance", "source"];

/// One `[[expect]]`: a value for each of its measures in each cell that it names, and their means.
pub(super) fn expect(
    source: Source<'_>,
    value: &Spanned<DeValue<'_>>,
    matrix: &Matrix,
    figures: &Figures,
    expected: &mut Vec<Expected>,
) -> Result<(), RecipeError> {
    let expectation = Expectation::parse(source, value)?;
    let texts = expectation.texts();
    let cells = matrix.cells_of(texts.iter().copied());
    for cell in &cells {
        let places = vec![expectation.place.of(cell)];
        expectation.add(source, places, expectation.published.as_deref(), cell, figures, expected)?;
    }
    // The mean is over the axes that it does not name.
    let Some(average) = &expectation.average else { return Ok(()) };
    if !matrix.is_whole_for(texts.iter().copied(), average) {
        return Ok(());
    }
    for mean in matrix.cells_of(std::iter::once(average.as_str())) {
        let of_mean = cells.iter().filter(|cell| cell.is_in(&mean));
        let places: Vec<ReportPlace> = of_mean.map(|cell| expectation.place.of(cell)).collect();
        if places.is_empty() {
            let message = format!("average {average:?} names an axis that nothing else names");
            return Err(source.bad_line(
                expectation.line,
                message,
                "name the axis in report, run or published",
            ));
        }
        expectation.add(source, places, Some(average), &mean, figures, expected)?;
    }
    Ok(())
}

impl Expectation {
    fn parse(source: Source<'_>, value: &Spanned<DeValue<'_>>) -> Result<Self, RecipeError> {
        let table = source.table(value, "expect")?;
        source.check_keys(table, "[[expect]]", &KEYS)?;
        let text = |key: &str| source.optional_string(table, key);
        let published = text("published")?;
        let needed: &[&str] = match published {
            Some(_) => &["report", "run", "measures", "tolerance"],
            None => &["report", "run", "measures", "tolerance", "source"],
        };
        if let Some(key) = needed.iter().find(|key| !table.contains_key(**key)) {
            let hint = "give report, run, measures, tolerance, and published or source";
            return Err(source.bad(&value.span(), format!("[[expect]] has no {key:?}"), hint));
        }
        let tolerance = match table.get("tolerance").map(|value| (value, value.get_ref())) {
            Some((_, DeValue::String(text))) => text.to_string(),
            Some((value, _)) => source.number(value, "tolerance")?.to_string(),
            None => String::new(),
        };
        let place = ReportPlace {
            report: text("report")?.unwrap_or_default(),
            run: text("run")?.unwrap_or_default(),
            qrels: text("qrels")?,
            group: text("group")?,
        };
        Ok(Self {
            place,
            measures: measures(source, table, published.is_some())?,
            published,
            average: text("average")?,
            tolerance,
            source: text("source")?.unwrap_or_default(),
            line: source.line(&value.span()),
        })
    }

    /// All texts that can name an axis.
    fn texts(&self) -> Vec<&str> {
        let place = [self.place.report.as_str(), self.place.run.as_str()];
        let optional = [&self.place.qrels, &self.place.group, &self.published];
        place.into_iter().chain(optional.into_iter().filter_map(|text| text.as_deref())).collect()
    }

    fn add(
        &self,
        source: Source<'_>,
        places: Vec<ReportPlace>,
        published: Option<&str>,
        cell: &Cell,
        figures: &Figures,
        expected: &mut Vec<Expected>,
    ) -> Result<(), RecipeError> {
        let tolerance = cell.fill(&self.tolerance);
        let Some(tolerance) = tolerance.parse::<f64>().ok().filter(|tolerance| *tolerance >= 0.0) else {
            let message = format!("the tolerance is {tolerance}");
            return Err(source.bad_line(self.line, message, "give 0 or more"));
        };
        for (measure, value, line) in &self.measures {
            let mut new = Expected {
                places: places.clone(),
                measure: measure.clone(),
                value: *value,
                tolerance,
                source: cell.fill(&self.source),
                figure: None,
                cell: cell.clone(),
                line: *line,
            };
            if let Some(published) = published {
                let id = format!("{}.{measure}", cell.fill(published));
                let Some(figure) = figures.get(&id) else {
                    let hint = match figures.closest(&id) {
                        Some(meant) => format!("did you mean {meant}?"),
                        None => "name the file that has it, as in figures = \"published.toml\"".to_owned(),
                    };
                    return Err(source.bad_line(self.line, format!("there is no figure {id}"), hint));
                };
                new.value = figure.value;
                if new.source.is_empty() {
                    new.source = figures.table_of(&id).map_or_else(String::new, |table| table.title.clone());
                }
                new.figure = Some(id);
            }
            expected.push(new);
        }
        Ok(())
    }
}

impl ReportPlace {
    fn of(&self, cell: &Cell) -> Self {
        let fill = |text: &Option<String>| text.as_ref().map(|text| cell.fill(text));
        Self {
            report: cell.fill(&self.report),
            run: cell.fill(&self.run),
            qrels: fill(&self.qrels),
            group: fill(&self.group),
        }
    }
}

/// `["RR@10"]` with figures elsewhere, or `{ "RR@10" = 0.21 }`.
fn measures(
    source: Source<'_>,
    table: &DeTable<'_>,
    are_published: bool,
) -> Result<Vec<(String, Option<f64>, usize)>, RecipeError> {
    let Some(value) = table.get("measures") else { return Ok(Vec::new()) };
    if are_published {
        let line = source.line(&value.span());
        let names = source.texts_of(value, "measures")?;
        return Ok(names.into_iter().map(|name| (name, None, line)).collect());
    }
    let entries = source.entries(source.table(value, "measures")?).into_iter();
    let measure = |(name, value): (&Spanned<toml::de::DeString<'_>>, &Spanned<DeValue<'_>>)| {
        let number = source.number(value, name.get_ref())?;
        Ok((name.get_ref().to_string(), Some(number), source.line(&name.span())))
    };
    entries.map(measure).collect()
}
