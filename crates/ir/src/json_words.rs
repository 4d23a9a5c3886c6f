//! What serde says about JSON, in the words of JSON.

use std::fmt::Display;

/// Rust's names of types, and those of JSON.
const TYPES: &[(&[&str], &str)] = &[
    (&["u8", "u16", "u32", "u64", "usize"], "a whole number that is not below 0"),
    (&["i8", "i16", "i32", "i64", "isize"], "a whole number"),
    (&["f32", "f64"], "a number"),
    (&["a map"], "an object"),
    (&["a sequence"], "a list"),
];

/// The message of an error of serde, without Rust's names of types.
#[must_use]
pub fn in_words_of_json(error: impl Display) -> String {
    let said = error.to_string();
    let said = said
        .replace("invalid type: map", "invalid type: object")
        .replace("invalid type: sequence", "invalid type: list")
        .replace("unknown variant", "unknown value")
        .replace("invalid digit found in string", "not a whole number")
        .replace("invalid float literal", "not a number");
    let Some((before, after)) = said.split_once("expected ") else { return said };
    let (expected, place) =
        after.split_once(" at line ").map_or((after, None), |(what, at)| (what, Some(at)));
    let expected = match expected {
        of_rust if of_rust.starts_with("struct ") => "an object",
        of_rust => {
            let known = TYPES.iter().find(|(names, _)| names.contains(&of_rust));
            known.map_or(of_rust, |(_, plain)| *plain)
        }
    };
    // An object that is read from a list has too few elements, whatever their number.
    let before = if expected == "an object" && before.starts_with("invalid length") {
        "invalid type: list, "
    } else {
        before
    };
    let place = place.map_or_else(String::new, |place| format!(" at line {place}"));
    format!("{before}expected {expected}{place}")
}

/// The same for an error in JSON that is on one line of a file.
#[must_use]
pub fn in_words_of_json_line(error: impl Display) -> String {
    in_words_of_json(error).replacen(" at line 1 column ", " at column ", 1)
}

#[cfg(test)]
mod tests {
    use super::in_words_of_json;

    #[test]
    fn types_have_the_names_of_json() {
        for (said, plain) in [
            (
                "invalid type: string \"x\", expected usize at line 1 column 9",
                "invalid type: string \"x\", expected a whole number that is not below 0 at line 1 column 9",
            ),
            (
                "invalid length 0, expected struct Common with 2 elements at line 1 column 2",
                "invalid type: list, expected an object at line 1 column 2",
            ),
            ("invalid type: map, expected a sequence", "invalid type: object, expected a list"),
            ("missing field `input` at line 1 column 2", "missing field `input` at line 1 column 2"),
        ] {
            assert_eq!(in_words_of_json(said), plain);
        }
    }
}
