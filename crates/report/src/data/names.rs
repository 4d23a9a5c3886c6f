//! Short names of runs, and the letters that stand for them.

/// Names without the ending that all have in common. An ending begins with a point.
pub(super) fn short(names: &[String]) -> Vec<String> {
    let mut short = names.to_vec();
    if names.len() < 2 {
        return short;
    }
    loop {
        let endings: Vec<_> = short.iter().map(|name| name.rsplit_once('.')).collect();
        let Some(Some((_, first))) = endings.first() else { return short };
        let same = endings.iter().all(|parts| {
            parts.is_some_and(|(rest, ending)| {
                // Digits after a point are decimals.
                let is_number = ending.bytes().all(|byte| byte.is_ascii_digit());
                ending == *first && !is_number && !rest.is_empty() && !rest.ends_with('/')
            })
        });
        if !same {
            return short;
        }
        short = endings.into_iter().flatten().map(|(rest, _)| rest.to_owned()).collect();
    }
}

/// A, B and so on to Z, then AA, AB.
pub(super) fn letter(index: usize) -> String {
    let of = |index: usize| char::from(b'A' + (index % 26) as u8);
    match index / 26 {
        0 => of(index).to_string(),
        more => letter(more - 1) + &of(index).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{letter, short};

    #[test]
    fn common_endings_are_dropped() {
        let of = |names: &[&str]| short(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["BM25.dl19.txt.gz", "RM3.dl19.txt.gz"]), ["BM25", "RM3"]);
        assert_eq!(of(&["a.run", "b.txt"]), ["a.run", "b.txt"]);
        assert_eq!(of(&["k1=0.9,b=0.4.run", "k1=1.2,b=0.4.run"]), ["k1=0.9,b=0.4", "k1=1.2,b=0.4"]);
        assert_eq!(of(&["x/.run", "y.run"]), ["x/.run", "y.run"]);
        assert_eq!(of(&["only.run"]), ["only.run"]);
    }

    #[test]
    fn letters_go_on_after_z() {
        assert_eq!([0, 25, 26, 51, 52, 701, 702].map(letter), ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]);
    }
}
