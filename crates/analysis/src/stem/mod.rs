//! Stemmers, which take endings off a term.

mod arabic;
mod bengali;
mod french;
mod german;
mod greek;
mod greek_rules;
mod hindi;
mod indonesian;
mod porter;
mod romance;
mod snowball;
mod suffixes;
mod telugu;

pub(super) use arabic::arabic;
pub(super) use bengali::bengali;
pub(super) use french::french_light;
pub(super) use german::german_light;
pub(super) use greek::greek;
pub(super) use hindi::hindi;
pub(super) use indonesian::indonesian;
pub(super) use porter::porter;
pub(super) use romance::{italian_light, portuguese_light, spanish_light};
pub(super) use snowball::{danish, dutch, finnish, hungarian, norwegian, russian, swedish, turkish};
pub(super) use telugu::telugu;
