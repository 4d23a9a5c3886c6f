//! Enums whose variants have names that users write and read.

use std::error::Error;
use std::fmt;

use crate::{Explain, Remedy};

/// Declares an enum whose variants have names, and the ways between the two: `ALL`, `NAMES`, `name`,
/// `Display`, `Into<&'static str>` and `FromStr`, whose error lists the names. The text behind the enum's
/// name says what a variant is.
///
/// ```
/// toller_ir::named! {
///     /// A side of a coin.
///     pub enum Side: "a side of a coin" {
///         /// The one with the portrait.
///         Heads = "heads",
///         /// The other one.
///         Tails = "tails",
///     }
/// }
/// assert_eq!(Side::Heads.to_string().parse(), Ok(Side::Heads));
/// let error = "edge".parse::<Side>().unwrap_err();
/// assert_eq!(error.to_string(), "`edge` is not a side of a coin: expected heads or tails");
/// ```
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $name:ident: $what:literal {
        $($(#[$variant_meta:meta])* $variant:ident = $text:literal),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $vis enum $name { $($(#[$variant_meta])* $variant),+ }

        impl $name {
            /// All variants.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            /// The names of all variants, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($text),+];

            /// The name of this variant.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::std::convert::From<$name> for &'static str {
            fn from(named: $name) -> Self {
                named.name()
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::UnknownName;

            fn from_str(text: &str) -> ::std::result::Result<Self, Self::Err> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err($crate::UnknownName::new($what, text, Self::NAMES)),
                }
            }
        }
    };
}

/// A name that an enum does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    found: String,
    known: &'static [&'static str],
}

impl UnknownName {
    /// The error that `found` is not `what` (with its article), and is not one of the names `known`.
    #[must_use]
    pub fn new(what: &'static str, found: &str, known: &'static [&'static str]) -> Self {
        Self { what, found: found.to_owned(), known }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, found, known } = self;
        match known {
            [first @ .., last] if !first.is_empty() => {
                write!(f, "`{found}` is not {what}: expected {} or {last}", first.join(", "))
            }
            _ => write!(f, "`{found}` is not {what}: expected {}", known.concat()),
        }
    }
}

impl Error for UnknownName {}

impl Explain for UnknownName {
    /// The message lists the names already.
    fn remedy(&self) -> Option<Remedy> {
        None
    }
}
