//! A table of cells as aligned text, Markdown or LaTeX.

/// A cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) text: String,
    /// Letters behind the text, raised where the format can.
    pub(super) marks: String,
    /// Whether it is the best of its column, which is bold where the format can.
    pub(super) best: bool,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Rows under a header. The first `left` columns hold words, the others numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
    pub(super) left: usize,
}

impl Grid {
    pub(super) fn new(header: Vec<String>, left: usize) -> Self {
        Self { header, rows: Vec::new(), left }
    }

    /// Aligned columns, two blanks between them. Marks have a width of their own in each column, so that the
    /// digits stay aligned.
    pub(super) fn text(&self) -> String {
        let widths: Vec<[usize; 2]> = (0..self.header.len())
            .map(|column| {
                let cells = || self.rows.iter().filter_map(|row| row.get(column));
                let marks = cells().map(|cell| width(&cell.marks)).max().unwrap_or(0);
                let title = width(&self.header[column]).saturating_sub(marks);
                let text = cells().map(|cell| width(&cell.text)).max().unwrap_or(0).max(title);
                [text, marks]
            })
            .collect();
        let mut all = String::new();
        let titles: Vec<Cell> = self.header.iter().map(|title| title.as_str().into()).collect();
        for (at, row) in std::iter::once(&titles).chain(&self.rows).enumerate() {
            let mut line = String::new();
            for (column, (cell, [text, marks])) in row.iter().zip(&widths).enumerate() {
                // A title spans the marks.
                let (text, marks) = if at == 0 { (text + marks, 0) } else { (*text, *marks) };
                let pad = " ".repeat(text - width(&cell.text));
                let (before, after) = if column < self.left { ("", &*pad) } else { (&*pad, "") };
                let rest = " ".repeat(marks - width(&cell.marks));
                let gap = if column > 0 { "  " } else { "" };
                line.extend([gap, before, &cell.text, after, &cell.marks, &rest]);
            }
            all += line.trim_end();
            all.push('\n');
        }
        all
    }

    /// A table of GitHub's Markdown.
    pub(super) fn markdown(&self) -> String {
        let escape = |text: &str| text.replace('\\', "\\\\").replace('|', "\\|");
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut all = line(self.header.iter().map(|title| escape(title)).collect());
        let rules = (0..self.header.len()).map(|column| if column < self.left { "---" } else { "---:" });
        all += &line(rules.map(str::to_owned).collect());
        for row in &self.rows {
            let cells = row.iter().map(|cell| {
                let text = escape(&cell.text);
                let text = if cell.best { format!("**{text}**") } else { text };
                if cell.marks.is_empty() { text } else { format!("{text}<sup>{}</sup>", cell.marks) }
            });
            all += &line(cells.collect());
        }
        all
    }

    /// A `tabular` with the rules of the package booktabs.
    pub(super) fn latex(&self) -> String {
        let columns: String =
            (0..self.header.len()).map(|column| if column < self.left { 'l' } else { 'r' }).collect();
        let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
        let mut all = format!("\\begin{{tabular}}{{{columns}}}\n\\toprule\n");
        all += &line(self.header.iter().map(|title| latex(title)).collect());
        all += "\\midrule\n";
        for row in &self.rows {
            let cells = row.iter().map(|cell| {
                let text = latex(&cell.text);
                let text = if cell.best { format!("\\textbf{{{text}}}") } else { text };
                if cell.marks.is_empty() { text } else { format!("{text}$^{{{}}}$", cell.marks) }
            });
            all += &line(cells.collect());
        }
        all + "\\bottomrule\n\\end{tabular}\n"
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// `text` with LaTeX's special characters escaped, and a minus before a number as one.
fn latex(text: &str) -> String {
    if text.starts_with('-') && text.parse::<f64>().is_ok() {
        return format!("${text}$");
    }
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', char]),
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '<' => escaped.push_str("$<$"),
            '>' => escaped.push_str("$>$"),
            _ => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{Cell, Grid};

    fn grid() -> Grid {
        let best = Cell { text: "0.75".into(), marks: "ab".into(), best: true };
        let mut grid = Grid::new(vec!["run".into(), "AP".into()], 1);
        grid.rows = vec![vec!["a|b_1".into(), best], vec!["ä".into(), "-0.5".into()]];
        grid
    }

    #[test]
    fn marks_leave_digits_aligned() {
        assert_eq!(grid().text(), "run        AP\na|b_1  0.75ab\nä      -0.5\n");
    }

    #[test]
    fn special_characters_are_escaped() {
        let markdown = "| run | AP |\n| --- | ---: |\n| a\\|b_1 | **0.75**<sup>ab</sup> |\n| ä | -0.5 |\n";
        assert_eq!(grid().markdown(), markdown);
        let latex = grid().latex();
        assert!(latex.contains("a|b\\_1 & \\textbf{0.75}$^{ab}$ \\\\\nä & $-0.5$ \\\\"), "{latex}");
    }
}
