//! The stemmer of G. Ntais for Greek (Development of a stemmer for the Greek language, Stockholm, 2006).
//!
//! A rule takes an ending off and, after some stems, puts the beginning of it back.

use super::suffixes::{ends_with_one, remove_last, units};

const VOWELS: &[&str] = &["α", "ε", "η", "ι", "ο", "υ", "ω"];
const VOWELS_BUT_Y: &[&str] = &["α", "ε", "η", "ι", "ο", "ω"];

/// Stems a term in lower case, without accents and with one form of sigma.
pub(in super::super) fn greek(term: &mut String) {
    if units(term) < 4 {
        return;
    }
    let length = term.len();
    irregular(term);
    for rule in RULES {
        rule.apply(term);
    }
    if term.len() == length {
        other_endings(term);
    }
    comparison(term);
}

/// An ending, and where its beginning is put back.
struct Rule {
    /// Taken off without more, if there.
    first: &'static [&'static str],
    /// The endings; at least a letter must be left.
    endings: &'static [&'static str],
    /// What is put back ...
    back: &'static str,
    /// ... if just this is left,
    words: &'static [&'static str],
    /// or if what is left ends with one of these.
    stems: &'static [&'static str],
    /// But not if it is one of these,
    never_words: &'static [&'static str],
    /// or ends with one of these.
    never_stems: &'static [&'static str],
}

impl Rule {
    const NONE: Self = Self {
        first: &[],
        endings: &[],
        back: "",
        words: &[],
        stems: &[],
        never_words: &[],
        never_stems: &[],
    };

    fn apply(&self, term: &mut String) {
        strip(term, self.first);
        if !strip(term, self.endings) {
            return;
        }
        let back = if self.endings == PARTICIPLES && term.ends_with("κρε") {
            "ωντ"
        } else if (self.words.contains(&term.as_str()) || ends_with_one(term, self.stems))
            && !self.never_words.contains(&term.as_str())
            && !ends_with_one(term, self.never_stems)
        {
            self.back
        } else {
            ""
        };
        term.push_str(back);
    }
}

/// Takes off the first of the endings that leaves a letter.
fn strip(term: &mut String, endings: &[&str]) -> bool {
    let ending = endings.iter().find(|&&ending| term.len() > ending.len() && term.ends_with(ending));
    if let Some(ending) = ending {
        term.truncate(term.len() - ending.len());
    }
    ending.is_some()
}

/// Nouns that change within: an ending and how many letters of it go.
fn irregular(term: &mut String) {
    const ENDINGS: &[(usize, &[&str])] = &[
        (
            4,
            &[
                "καθεστωτοσ",
                "καθεστωτων",
                "γεγονοτοσ",
                "γεγονοτων",
                "τατογιου",
                "τατογιων",
                "σκαγιου",
                "σκαγιων",
                "ολογιου",
                "ολογιων",
                "κρεατοσ",
                "κρεατων",
                "περατοσ",
                "περατων",
                "τερατοσ",
                "τερατων",
                "φαγιου",
                "φαγιων",
                "σογιου",
                "σογιων",
            ],
        ),
        (
            3,
            &[
                "καθεστωτα",
                "γεγονοτα",
                "τατογια",
                "σκαγια",
                "ολογια",
                "κρεατα",
                "περατα",
                "τερατα",
                "φαγια",
                "σογια",
                "φωτοσ",
                "φωτων",
            ],
        ),
        (2, &["καθεστωσ", "γεγονοσ", "κρεασ", "περασ", "τερασ", "φωτα"]),
        (1, &["φωσ"]),
    ];
    if let Some((letters, _)) = ENDINGS.iter().find(|(_, endings)| ends_with_one(term, endings)) {
        remove_last(term, *letters);
    }
}

/// What goes off if no other rule has changed the word's length: the longest of these.
fn other_endings(term: &mut String) {
    const ENDINGS: &[&str] = &[
        "ιοντουσαν",
        "ιομασταν",
        "ιοσασταν",
        "ιουμαστε",
        "οντουσαν",
        "ιεμαστε",
        "ιεσαστε",
        "ιομουνα",
        "ιοσαστε",
        "ιοσουνα",
        "ιουνται",
        "ιουνταν",
        "ηθηκατε",
        "ομασταν",
        "οσασταν",
        "ουμαστε",
        "ιομουν",
        "ιονταν",
        "ιοσουν",
        "ηθειτε",
        "ηθηκαν",
        "ομουνα",
        "οσαστε",
        "οσουνα",
        "ουνται",
        "ουνταν",
        "ουσατε",
        "αγατε",
        "ιεμαι",
        "ιεται",
        "ιεσαι",
        "ιοταν",
        "ιουμα",
        "ηθεισ",
        "ηθουν",
        "ηκατε",
        "ησατε",
        "ησουν",
        "ομουν",
        "ονται",
        "ονταν",
        "οσουν",
        "ουμαι",
        "ουσαν",
        "αγαν",
        "αμαι",
        "ασαι",
        "αται",
        "ειτε",
        "εσαι",
        "εται",
        "ηδεσ",
        "ηδων",
        "ηθει",
        "ηκαν",
        "ησαν",
        "ησει",
        "ησεσ",
        "ομαι",
        "οταν",
        "αει",
        "εισ",
        "ηθω",
        "ησω",
        "ουν",
        "ουσ",
        "αν",
        "ασ",
        "αω",
        "ει",
        "εσ",
        "ησ",
        "οι",
        "οσ",
        "ου",
        "υσ",
        "ων",
        "α",
        "ε",
        "η",
        "ι",
        "ο",
        "υ",
        "ω",
    ];
    strip(term, ENDINGS);
}

/// Comparatives and superlatives.
fn comparison(term: &mut String) {
    if ends_with_one(term, &["εστερ", "εστατ"]) {
        remove_last(term, 5);
    } else if ends_with_one(term, &["οτερ", "οτατ", "υτερ", "υτατ", "ωτερ", "ωτατ"]) {
        remove_last(term, 4);
    }
}

/// Of these, those after `κρε` get other letters back.
const PARTICIPLES: &[&str] = &["οντασ", "ωντασ"];

const RULES: &[Rule] = &[
    Rule {
        endings: &["αδεσ", "αδων"],
        back: "αδ",
        stems: &[""],
        never_stems: &["οκ", "μαμ", "μαν", "μπαμπ", "πατερ", "γιαγι", "νταντ", "κυρ", "θει", "πεθερ"],
        ..Rule::NONE
    },
    Rule {
        endings: &["εδεσ", "εδων"],
        back: "εδ",
        stems: &["οπ", "ιπ", "εμπ", "υπ", "γηπ", "δαπ", "κρασπ", "μιλ"],
        ..Rule::NONE
    },
    Rule {
        endings: &["ουδεσ", "ουδων"],
        back: "ουδ",
        stems: &[
            "αρκ",
            "καλιακ",
            "πεταλ",
            "λιχ",
            "πλεξ",
            "σκ",
            "σ",
            "φλ",
            "φρ",
            "βελ",
            "λουλ",
            "χν",
            "σπ",
            "τραγ",
            "φε",
        ],
        ..Rule::NONE
    },
    Rule {
        endings: &["εωσ", "εων"],
        back: "ε",
        words: &["θ", "δ", "ελ", "γαλ", "ν", "π", "ιδ", "παρ"],
        ..Rule::NONE
    },
    Rule { endings: &["ια", "ιου", "ιων"], back: "ι", stems: VOWELS, ..Rule::NONE },
    Rule {
        endings: &["ικα", "ικο", "ικου", "ικων"],
        back: "ικ",
        words: &[
            "αλ",
            "αδ",
            "ενδ",
            "αμαν",
            "αμμοχαλ",
            "ηθ",
            "ανηθ",
            "αντιδ",
            "φυσ",
            "βρωμ",
            "γερ",
            "εξωδ",
            "καλπ",
            "καλλιν",
            "καταδ",
            "μουλ",
            "μπαν",
            "μπαγιατ",
            "μπολ",
            "μποσ",
            "νιτ",
            "ξικ",
            "συνομηλ",
            "πετσ",
            "πιτσ",
            "πικαντ",
            "πλιατσ",
            "ποστελν",
            "πρωτοδ",
            "σερτ",
            "συναδ",
            "τσαμ",
            "υποδ",
            "φιλον",
            "φυλοδ",
            "χασ",
        ],
        stems: VOWELS,
        ..Rule::NONE
    },
    Rule {
        first: &["ηθηκαμε", "ουσαμε", "αγαμε", "ησαμε", "ηκαμε"],
        endings: &["αμε"],
        back: "αμ",
        words: &[
            "αγ",
            "αναπ",
            "αποθ",
            "αποκ",
            "αποστ",
            "βουβ",
            "ξεθ",
            "ουλ",
            "πεθ",
            "πικρ",
            "ποτ",
            "σιχ",
            "χ",
        ],
        ..Rule::NONE
    },
    Rule {
        endings: &[
            "ιουντανε",
            "ιοντανε",
            "ουντανε",
            "ηθηκανε",
            "ιοτανε",
            "οντανε",
            "ουσανε",
            "αγανε",
            "ησανε",
            "οτανε",
            "ηκανε",
        ],
        back: "αγαν",
        words: &["τρ", "τσ"],
        ..Rule::NONE
    },
    Rule {
        endings: &["ανε"],
        back: "αν",
        words: &[
            "βετερ",
            "βουλκ",
            "βραχμ",
            "γ",
            "δραδουμ",
            "θ",
            "καλπουζ",
            "καστελ",
            "κορμορ",
            "λαοπλ",
            "μωαμεθ",
            "μ",
            "μουσουλμ",
            "ν",
            "ουλ",
            "π",
            "πελεκ",
            "πλ",
            "πολισ",
            "πορτολ",
            "σαρακατσ",
            "σουλτ",
            "τσαρλατ",
            "ορφ",
            "τσιγγ",
            "τσοπ",
            "φωτοστεφ",
            "χ",
            "ψυχοπλ",
            "αγ",
            "γαλ",
            "γερ",
            "δεκ",
            "διπλ",
            "αμερικαν",
            "ουρ",
            "πιθ",
            "πουριτ",
            "σ",
            "ζωντ",
            "ικ",
            "καστ",
            "κοπ",
            "λιχ",
            "λουθηρ",
            "μαιντ",
            "μελ",
            "σιγ",
            "σπ",
            "στεγ",
            "τραγ",
            "τσαγ",
            "φ",
            "ερ",
            "αδαπ",
            "αθιγγ",
            "αμηχ",
            "ανικ",
            "ανοργ",
            "απηγ",
            "απιθ",
            "ατσιγγ",
            "βασ",
            "βασκ",
            "βαθυγαλ",
            "βιομηχ",
            "βραχυκ",
            "διατ",
            "διαφ",
            "ενοργ",
            "θυσ",
            "καπνοβιομηχ",
            "καταγαλ",
            "κλιβ",
            "κοιλαρφ",
            "λιβ",
            "μεγλοβιομηχ",
            "μικροβιομηχ",
            "νταβ",
            "ξηροκλιβ",
            "ολιγοδαμ",
            "ολογαλ",
            "πενταρφ",
            "περηφ",
            "περιτρ",
            "πλατ",
            "πολυδαπ",
            "πολυμηχ",
            "στεφ",
            "ταβ",
            "τετ",
            "υπερηφ",
            "υποκοπ",
            "χαμηλοδαπ",
            "ψηλοταβ",
        ],
        stems: VOWELS_BUT_Y,
        ..Rule::NONE
    },
    Rule {
        first: &["ησετε"],
        endings: &["ετε"],
        back: "ετ",
        words: &[
            "αβαρ",
            "βεν",
            "εναρ",
            "αβρ",
            "αδ",
            "αθ",
            "αν",
            "απλ",
            "βαρον",
            "ντρ",
            "σκ",
            "κοπ",
            "μπορ",
            "νιφ",
            "παγ",
            "παρακαλ",
            "σερπ",
            "σκελ",
            "συρφ",
            "τοκ",
            "υ",
            "δ",
            "εμ",
            "θαρρ",
            "θ",
        ],
        stems: &[
            "α",
            "ε",
            "η",
            "ι",
            "ο",
            "ω",
            "οδ",
            "αιρ",
            "φορ",
            "ταθ",
            "διαθ",
            "σχ",
            "ενδ",
            "ευρ",
            "τιθ",
            "υπερθ",
            "ραθ",
            "ενθ",
            "ροθ",
            "σθ",
            "πυρ",
            "αιν",
            "συνδ",
            "συν",
            "συνθ",
            "χωρ",
            "πον",
            "βρ",
            "καθ",
            "ευθ",
            "εκθ",
            "νετ",
            "ρον",
            "αρκ",
            "βαρ",
            "βολ",
            "ωφελ",
        ],
        ..Rule::NONE
    },
    Rule { endings: PARTICIPLES, back: "οντ", words: &["αρχ"], ..Rule::NONE },
    Rule { endings: &["ομαστε"], back: "ομαστ", words: &["ον"], ..Rule::NONE },
    Rule {
        endings: &["ιεστε"],
        back: "ιεστ",
        words: &["π", "απ", "συμπ", "ασυμπ", "ακαταπ", "αμεταμφ"],
        ..Rule::NONE
    },
    Rule {
        endings: &["εστε"],
        back: "εστ",
        words: &["αλ", "αρ", "εκτελ", "ζ", "μ", "ξ", "παρακαλ", "προ", "νισ"],
        ..Rule::NONE
    },
    Rule {
        first: &["ηθηκεσ", "ηθηκα", "ηθηκε"],
        endings: &["ηκεσ", "ηκα", "ηκε"],
        back: "ηκ",
        words: &["διαθ", "θ", "παρακαταθ", "προσθ", "συνθ"],
        stems: &["σκωλ", "σκουλ", "ναρθ", "σφ", "οθ", "πιθ"],
        ..Rule::NONE
    },
    Rule {
        endings: &["ουσεσ", "ουσα", "ουσε"],
        back: "ουσ",
        words: &[
            "φαρμακ",
            "χαδ",
            "αγκ",
            "αναρρ",
            "βρομ",
            "εκλιπ",
            "λαμπιδ",
            "λεχ",
            "μ",
            "πατ",
            "ρ",
            "λ",
            "μεδ",
            "μεσαζ",
            "υποτειν",
            "αμ",
            "αιθ",
            "ανηκ",
            "δεσποζ",
            "ενδιαφερ",
            "δε",
            "δευτερευ",
            "καθαρευ",
            "πλε",
            "τσα",
        ],
        stems: &[
            "α",
            "ε",
            "η",
            "ι",
            "ο",
            "υ",
            "ω",
            "ποδαρ",
            "βλεπ",
            "πανταχ",
            "φρυδ",
            "μαντιλ",
            "μαλλ",
            "κυματ",
            "λαχ",
            "ληγ",
            "φαγ",
            "ομ",
            "πρωτ",
        ],
        ..Rule::NONE
    },
    Rule {
        endings: &["αγεσ", "αγα", "αγε"],
        back: "αγ",
        words: &[
            "αβαστ",
            "πολυφ",
            "αδηφ",
            "παμφ",
            "ρ",
            "ασπ",
            "αφ",
            "αμαλ",
            "αμαλλι",
            "ανυστ",
            "απερ",
            "ασπαρ",
            "αχαρ",
            "δερβεν",
            "δροσοπ",
            "ξεφ",
            "νεοπ",
            "νομοτ",
            "ολοπ",
            "ομοτ",
            "προστ",
            "προσωποπ",
            "συμπ",
            "συντ",
            "τ",
            "υποτ",
            "χαρ",
            "αειπ",
            "αιμοστ",
            "ανυπ",
            "αποτ",
            "αρτιπ",
            "διατ",
            "εν",
            "επιτ",
            "κροκαλοπ",
            "σιδηροπ",
            "λ",
            "ναυ",
            "ουλαμ",
            "ουρ",
            "π",
            "τρ",
            "μ",
        ],
        stems: &["οφ", "πελ", "χορτ", "λλ", "σφ", "ρπ", "φρ", "πρ", "λοχ", "σμην"],
        never_words: &["ψοφ", "ναυλοχ"],
        never_stems: &["κολλ"],
        ..Rule::NONE
    },
    Rule {
        endings: &["ησου", "ησε", "ησα"],
        back: "ησ",
        words: &["ν", "χερσον", "δωδεκαν", "ερημον", "μεγαλον", "επταν"],
        ..Rule::NONE
    },
    Rule {
        endings: &["ηστε"],
        back: "ηστ",
        words: &["ασβ", "σβ", "αχρ", "χρ", "απλ", "αειμν", "δυσχρ", "ευχρ", "κοινοχρ", "παλιμψ"],
        ..Rule::NONE
    },
    Rule {
        endings: &["ησουνε", "ηθουνε", "ουνε"],
        back: "ουν",
        words: &["ν", "ρ", "σπι", "στραβομουτσ", "κακομουτσ", "εξων"],
        ..Rule::NONE
    },
    Rule {
        endings: &["ησουμε", "ηθουμε", "ουμε"],
        back: "ουμ",
        words: &["παρασουσ", "φ", "χ", "ωριοπλ", "αζ", "αλλοσουσ", "ασουσ"],
        ..Rule::NONE
    },
    Rule { endings: &["ματων", "ματοσ", "ματα"], back: "μα", stems: &[""], ..Rule::NONE },
];
