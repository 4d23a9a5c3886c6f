//! The syntaxes that the formats share: lines, columns, JSON objects, tagged records, Python lists.

mod columns;
mod given_elements;
mod json;
mod json_stream;
mod lines;
mod objects;
mod python_list;
mod quoted;
mod records;
mod rows;
mod tagged;
mod vector;

pub use columns::column_index;
pub(crate) use columns::{
    blank, header_index, is_hit, is_judgment, parse_grade, parse_score, tabs, tabs_or_spaces,
};
pub(crate) use given_elements::GivenElements;
pub(crate) use json::{Fields, Loose, Object, Owned, parse_record};
pub(crate) use json_stream::{Shape, for_each_element};
pub(crate) use lines::LineReader;
pub(crate) use objects::ObjectReader;
pub(crate) use python_list::parse_string_list;
pub(crate) use quoted::{QuotedRow, parse_quoted};
pub(crate) use records::RecordLines;
pub use rows::QuotedRows;
pub(crate) use tagged::{
    Element, ElementReader, collapse, elements, field_text, has_tags, joined, plain_text, text_outside,
};
pub(crate) use vector::vector_text;
