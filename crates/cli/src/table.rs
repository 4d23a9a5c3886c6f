//! Tables of plain text, and cells of sheets.

use crate::printable::printable;

/// The side of a column to which its cells are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// Rows of cells as lines with two blanks between columns, as a terminal may show them. The first row has the
/// titles. Columns beyond `align` are aligned left.
pub fn table(rows: &[Vec<String>], align: &[Align]) -> String {
    let shown = |row: &Vec<String>| row.iter().map(|cell| printable(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(shown).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells =
            row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match align.get(column) {
                Some(Align::Right) => format!("{cell:>width$}"),
                _ => format!("{cell:<width$}"),
            });
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}

/// A cell of a sheet that spreadsheets do not take for a formula, which they would compute.
pub fn as_text(text: &str) -> String {
    // An apostrophe that a text has already gets a second one, so that a reader takes off only the first.
    let start = text.trim_start_matches('\'');
    let is_formula = start.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{Align, as_text, table};

    #[test]
    fn a_cell_is_no_formula() {
        for formula in ["=cmd|1", "@q2", "+d", "-d", "\t=1", "-1+1", "'-d", "'-1", "''=d"] {
            assert_eq!(as_text(formula), format!("'{formula}"));
        }
        for plain in ["d=1", "", "-1", "+2.5", "text", "'tis", "'"] {
            assert_eq!(as_text(plain), plain);
        }
    }

    #[test]
    fn columns_are_aligned() {
        let rows =
            [["run", "value"], ["bm25", "1"], ["ä", "-10.5"]].map(|row| row.map(str::to_owned).to_vec());
        let text = table(&rows, &[Align::Left, Align::Right]);
        assert_eq!(text, "run   value\nbm25      1\nä     -10.5\n");
        assert_eq!(table(&[], &[]), "");
        let foreign = table(&[vec!["q\x1b[31m".to_owned(), "1".to_owned()]], &[]);
        assert_eq!(foreign, "q\\u{1b}[31m  1\n");
    }
}
