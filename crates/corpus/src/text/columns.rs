//! Lines into columns, and columns into numbers.

/// Whether a line holds only spaces. (Tabs separate columns, which may be empty.)
pub(crate) fn blank(line: &str) -> bool {
    line.bytes().all(|byte| byte == b' ')
}

/// Splits a line at its tabs into `columns`, and returns how many columns there are, which may be more
/// than fit.
pub(crate) fn tabs<'a>(line: &'a str, columns: &mut [&'a str]) -> usize {
    let mut count = 0;
    let mut start = 0;
    for tab in memchr::memchr_iter(b'\t', line.as_bytes()).chain([line.len()]) {
        if let (Some(column), Some(text)) = (columns.get_mut(count), line.get(start..tab)) {
            *column = text;
        }
        count += 1;
        start = tab + 1;
    }
    count
}

/// Splits a line into `columns` as the TREC formats have them: at white space; or at the tabs, if these alone
/// make exactly as many columns, so that identifiers may hold spaces. Returns how many columns there are,
/// which may be more than fit.
pub(crate) fn tabs_or_spaces<'a>(line: &'a str, columns: &mut [&'a str]) -> usize {
    let wanted = columns.len();
    if memchr::memchr(b'\t', line.as_bytes()).is_some() && tabs(line, columns) == wanted {
        for column in columns.iter_mut() {
            *column = column.trim();
        }
        if columns.iter().all(|column| !column.is_empty()) {
            return wanted;
        }
    }
    let mut count = 0;
    for word in line.split_ascii_whitespace() {
        match columns.get_mut(count) {
            Some(column) => *column = word,
            None => return count + 1,
        }
        count += 1;
    }
    count
}

/// The index of the first of `cells` that is one of `names`, whatever its case. Of cells that differ only in
/// case, the one that is written as the name counts.
pub(crate) fn header_index(cells: &[impl AsRef<str>], names: &[impl AsRef<str>]) -> Option<usize> {
    let is = |cell: &str, name: &str| cell.trim().eq_ignore_ascii_case(name);
    let name_of = |cell: &str| names.iter().map(AsRef::as_ref).find(|name| is(cell, name));
    let (index, name) =
        cells.iter().enumerate().find_map(|(index, cell)| Some((index, name_of(cell.as_ref())?)))?;
    Some(cells.iter().position(|cell| cell.as_ref().trim() == name).unwrap_or(index))
}

/// The index of the column that has one of `names`: the first name that a column has as it is written, and
/// otherwise the first in any case.
pub fn column_index(columns: &[impl AsRef<str>], names: &[impl AsRef<str>]) -> Option<usize> {
    let find = |is: fn(&str, &str) -> bool| {
        let of = |name: &str| columns.iter().position(|column| is(column.as_ref(), name));
        names.iter().find_map(|name| of(name.as_ref()))
    };
    find(|column, name| column == name).or_else(|| find(str::eq_ignore_ascii_case))
}

/// A finite score.
pub(crate) fn parse_score(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|score| score.is_finite())
}

/// A grade: an integer, which may be negative and may be written with an empty fraction (`1.0`), as tables
/// that went through floating point write it.
pub(crate) fn parse_grade(text: &str) -> Option<i32> {
    let text = text.trim();
    let integer = match text.split_once('.') {
        Some((integer, fraction)) if fraction.bytes().all(|byte| byte == b'0') => integer,
        Some(_) => return None,
        None => text,
    };
    integer.parse().ok()
}

/// Whether a line is certainly a hit in TREC's form: `Q0`, a rank and a score are in their columns.
pub(crate) fn is_hit(line: &str) -> bool {
    let mut cells = [""; 6];
    let width = tabs_or_spaces(line, &mut cells);
    let [_, constant, _, rank, score, _] = cells;
    width >= 6 && constant == "Q0" && rank.parse::<u64>().is_ok() && parse_score(score).is_some()
}

/// Whether a line is certainly a judgment in TREC's form: the iteration 0 and a grade are in their columns.
pub(crate) fn is_judgment(line: &str) -> bool {
    let mut cells = [""; 4];
    // Three columns of a run may have an identifier with a space.
    line.split('\t').count() != 3
        && tabs_or_spaces(line, &mut cells) == 4
        && cells[1] == "0"
        && parse_grade(cells[3]).is_some()
}

#[cfg(test)]
mod tests {
    use super::{parse_grade, parse_score, tabs, tabs_or_spaces};

    #[test]
    fn columns_are_counted_past_the_array() {
        let mut columns = [""; 2];
        assert_eq!(tabs("a\tb", &mut columns), 2);
        assert_eq!(columns, ["a", "b"]);
        assert_eq!(tabs("a\tb\tc", &mut columns), 3);
        assert_eq!(tabs("\t", &mut columns), 2);
        assert_eq!(columns, ["", ""]);
        assert_eq!(tabs("", &mut columns), 1);
    }

    #[test]
    fn identifiers_may_hold_spaces_between_tabs() {
        let mut columns = [""; 4];
        assert_eq!(tabs_or_spaces("q 1\t0\tGeneva Durben\t 1", &mut columns), 4);
        assert_eq!(columns, ["q 1", "0", "Geneva Durben", "1"]);
        assert_eq!(tabs_or_spaces(" 301 0  d\t1 ", &mut columns), 4);
        assert_eq!(columns, ["301", "0", "d", "1"]);
        assert_eq!(tabs_or_spaces("301 0 d 1 more", &mut columns), 5);
        assert_eq!(tabs_or_spaces("301 0", &mut columns), 2);
    }

    #[test]
    fn numbers() {
        assert_eq!(parse_grade("-1"), Some(-1));
        assert_eq!(parse_grade("+2"), Some(2));
        assert_eq!(parse_grade("1.0"), Some(1));
        assert_eq!(parse_grade("1.5"), None);
        assert_eq!(parse_grade(".0"), None);
        assert_eq!(parse_grade(""), None);
        assert_eq!(parse_grade("99999999999"), None);
        assert_eq!(parse_score(" 1e3"), Some(1000.0));
        assert_eq!(parse_score("NaN"), None);
        assert_eq!(parse_score("1e999"), None);
        assert_eq!(parse_score("1.5x"), None);
    }
}
