//! Puts what recipes measured next to the published figures.

use std::collections::HashMap;

use chrono::DateTime;
use toller_recipe::{Expected, Figure, FigureId, Figures, Recipe, quoted};
use toller_report::{
    Experiment, MeasuredValue, Outcome, ReproducedPaper, ReproducedTable, ReproducedValue, Reproduction,
};

use crate::commands::run::{Found, Outlook};

/// Tables in the order of the files, which fill with measured values.
pub(super) struct Collector<'f> {
    figures: &'f Figures,
    reproduction: Reproduction,
    /// The paper, the table and the value of each figure.
    places: HashMap<FigureId, (usize, usize, usize)>,
}

impl<'f> Collector<'f> {
    /// All figures; none was measured yet.
    pub(super) fn new(figures: &'f Figures) -> Self {
        let mut collector = Self { figures, reproduction: Reproduction::default(), places: HashMap::new() };
        for table in &figures.tables {
            for figure in &table.figures {
                collector.add_value(&figure.id, &table.title, published(figure));
                let (paper, at, _) = collector.places[&figure.id];
                let notes = &mut collector.reproduction.papers[paper].tables[at].notes;
                if !table.note.is_empty() && !notes.contains(&table.note) {
                    notes.push(table.note.clone());
                }
            }
        }
        collector
    }

    /// Adds the figures that a recipe measures.
    pub(super) fn add(&mut self, recipe: &Recipe, mut outlook: Outlook) -> crate::Result<()> {
        for expected in &recipe.expected {
            let id = id_of(recipe, expected);
            if !self.places.contains_key(&id) {
                let printed = expected.value.map(|value| value.to_string());
                self.add_value(&id, &recipe.title, printed);
            }
            let experiment = self.experiment(recipe, &outlook, expected)?;
            let measured = outlook.found(expected)?.map(|found| measured(&found));
            let (paper, table, value) = self.places[&id];
            let value = &mut self.reproduction.papers[paper].tables[table].values[value];
            value.experiment = Some(experiment);
            value.measured = measured;
        }
        Ok(())
    }

    /// The page's content.
    pub(super) fn finish(mut self) -> Reproduction {
        let figures = self.figures;
        for (id, (paper, table, value)) in &self.places {
            let table = &mut self.reproduction.papers[*paper].tables[*table];
            let why = figures.absent.get(&format!("{}.{}", id.paper, id.system));
            let system = &table.systems[table.values[*value].system];
            if let Some(why) = why
                && table.values[*value].experiment.is_none()
                && !table.absent.iter().any(|(known, _)| known == system)
            {
                table.absent.push((system.clone(), why.clone()));
            }
        }
        for table in self.reproduction.papers.iter_mut().flat_map(|paper| &mut paper.tables) {
            table.absent.sort();
        }
        self.reproduction
    }

    fn add_value(&mut self, id: &FigureId, title: &str, published: Option<String>) {
        if self.places.contains_key(id) {
            return;
        }
        let named = |name: &str| self.figures.names.get(name).map_or(name, String::as_str).to_owned();
        let (system, collection) = (named(&id.system), named(&id.collection));
        let papers = &mut self.reproduction.papers;
        let paper = position(
            papers,
            |paper| paper.id == id.paper,
            || ReproducedPaper {
                id: id.paper.clone(),
                name: if id.table.is_empty() { title.to_owned() } else { named(&id.paper) },
                tables: Vec::new(),
            },
        );
        // Tables are known by what is before the colon: a table of several parts is one.
        let short = title.split(':').next().unwrap_or(title);
        let tables = &mut papers[paper].tables;
        let table = position(
            tables,
            |table| table.title == short,
            || ReproducedTable { title: short.to_owned(), ..ReproducedTable::default() },
        );
        let into = &mut tables[table];
        let system = position(&mut into.systems, |known| *known == system, || system.clone());
        let collection = position(&mut into.collections, |known| *known == collection, || collection.clone());
        let measure = position(&mut into.measures, |known| *known == id.measure, || id.measure.clone());
        into.values.push(ReproducedValue {
            system,
            collection,
            measure,
            published,
            ..ReproducedValue::default()
        });
        self.places.insert(id.clone(), (paper, table, into.values.len() - 1));
    }

    /// The command that measures a value.
    fn experiment(
        &mut self,
        recipe: &Recipe,
        outlook: &Outlook,
        expected: &Expected,
    ) -> crate::Result<usize> {
        let command = command(recipe, outlook, expected);
        let missing = outlook.missing(expected)?;
        let experiments = &mut self.reproduction.experiments;
        let cell = expected
            .cell
            .choices()
            .map(|(_, value)| self.figures.names.get(value).map_or(value, String::as_str));
        let cell: Vec<&str> = cell.collect();
        let at = position(
            experiments,
            |known| known.command == command,
            || Experiment {
                title: if cell.is_empty() {
                    recipe.title.clone()
                } else {
                    format!("{}: {}", recipe.title, cell.join(", "))
                },
                command: command.clone(),
                missing: Vec::new(),
            },
        );
        for line in missing {
            if !experiments[at].missing.contains(&line) {
                experiments[at].missing.push(line);
            }
        }
        Ok(at)
    }
}

/// The place of what fits, which is added if there is none.
fn position<T>(list: &mut Vec<T>, fits: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> usize {
    match list.iter().position(fits) {
        Some(at) => at,
        None => {
            list.push(new());
            list.len() - 1
        }
    }
}

/// The figure of an expectation. One whose value is in the recipe belongs to the recipe.
fn id_of(recipe: &Recipe, expected: &Expected) -> FigureId {
    let named = expected.figure.as_deref().and_then(FigureId::parse);
    named.unwrap_or_else(|| {
        let stem = recipe.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let cell = expected.cell.label();
        let collection = if cell.is_empty() { "here".to_owned() } else { cell };
        let (system, measure) = (expected.run(), expected.measure.clone());
        FigureId { paper: stem, table: String::new(), system, collection, measure }
    })
}

/// The value with the digits that were printed, as a share.
fn published(figure: &Figure) -> Option<String> {
    let (value, digits) = (figure.value?, figure.decimals);
    Some(format!("{value:.digits$}"))
}

fn measured(found: &Found) -> MeasuredValue {
    let outcome = match found.verdict.difference() {
        _ if !found.is_current => Outcome::Older,
        None => Outcome::Unpublished,
        Some(_) if found.verdict.holds() => Outcome::AsPublished,
        Some(_) => Outcome::Off,
    };
    let date = i64::try_from(found.at).ok().and_then(|at| DateTime::from_timestamp(at, 0));
    MeasuredValue {
        value: found.verdict.measured,
        tolerance: found.verdict.expected.tolerance,
        outcome,
        date: date.map_or_else(String::new, |date| date.date_naive().to_string()),
    }
}

/// The command line that can be pasted. A variable that nobody set yet is its name in capitals.
fn command(recipe: &Recipe, outlook: &Outlook, expected: &Expected) -> String {
    let mut line = format!("toller run {}", quoted(&recipe.file.display().to_string()));
    for (axis, value) in expected.cell.choices() {
        line += &format!(" --cell {}", quoted(&format!("{axis}={value}")));
    }
    for variable in &recipe.variables {
        let set = outlook.set.iter().find(|(name, _)| *name == variable.name);
        let value = match (set, &variable.default) {
            (Some((_, value)), _) => value.clone(),
            (None, None) if outlook.waits_for(&variable.name, expected) => variable.name.to_uppercase(),
            (None, _) => continue,
        };
        line += &format!(" --set {}", quoted(&format!("{}={value}", variable.name)));
    }
    line
}
