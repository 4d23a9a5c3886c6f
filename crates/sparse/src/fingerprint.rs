//! What identifies an analyzer: its name, and the terms that it makes of a text.

use toller_analysis::Analyzer;
use toller_files::{Checksum, ChecksumHasher};

use crate::index::AnalyzerInfo;

/// Words of many languages, on which stemmers, stop words, normalisers and segmenters differ.
const PROBE: &str = "The retrievers' dogs weren't running happily; U.S.A. 3.14 e-mail x_y, naïve Größe STRASSE ﬁne \
     l'avion les chevaux nationales los corazones niños i ragazzi dell'amico as nações de katten løper hurtigt husene \
     talojensa kirjoissa a könyvekben İstanbul'daki KITAPLAR собаки бежали ещё والكتاب المدرسة کتاب‌ها می‌روم कुत्ते \
     दौड़ना বাংলাদেশের বই ఇది పుస్తకం watoto wanasoma ประเทศไทยมีภาษา 今天天气很好 日本語のテキストを 한국어 문장입니다 \
     rumah-rumah membaca ｆｕｌｌ ｶﾅ 😀 e\u{301}cole";

/// The name of an analyzer, and a hash of the terms that it makes of the probe.
pub(crate) fn analyzer_info(analyzer: &Analyzer) -> AnalyzerInfo {
    let mut hasher = ChecksumHasher::default();
    analyzer.tokenize(PROBE, &mut |term| {
        hasher.update(term.as_bytes());
        hasher.update(b"\n");
    });
    let checksum: Checksum = hasher.finish();
    AnalyzerInfo { name: analyzer.name().to_owned(), fingerprint: checksum.to_string() }
}

/// Whether an analyzer is that of texts with impacts.
pub(crate) fn is_impact(analyzer: &Analyzer) -> bool {
    analyzer.name() == Analyzer::IMPACT
}

/// Whether two analyzers are the same. The name of a model is only its place. Any other name counts, since
/// the probe has not all languages.
pub(crate) fn is_same(one: &AnalyzerInfo, other: &AnalyzerInfo) -> bool {
    let is_model = |info: &AnalyzerInfo| Analyzer::names().all(|name| name != info.name);
    one.fingerprint == other.fingerprint && (one.name == other.name || is_model(one) && is_model(other))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use toller_analysis::{AnalysisError, Analyzer, Tokenize};

    use super::{analyzer_info, is_same};

    struct Bytes(usize);

    impl Tokenize for Bytes {
        fn tokenize(&self, text: &str, each: &mut dyn FnMut(&str)) {
            text.as_bytes().chunks(self.0).filter_map(|piece| std::str::from_utf8(piece).ok()).for_each(each);
        }
    }

    #[test]
    fn only_the_name_of_a_model_does_not_count() -> Result<(), AnalysisError> {
        let model = |name: &str, size| analyzer_info(&Analyzer::custom(name, Arc::new(Bytes(size))));
        assert!(is_same(&model("wordpiece:/a", 1), &model("wordpiece:/b", 1)));
        assert!(!is_same(&model("wordpiece:/a", 1), &model("wordpiece:/a", 2)));
        // The probe has no Greek.
        let (greek, standard) = (Analyzer::by_name("el")?, Analyzer::by_name("standard")?);
        assert!(!is_same(&analyzer_info(&greek), &analyzer_info(&standard)));
        assert!(is_same(&analyzer_info(&greek), &analyzer_info(&greek)));
        Ok(())
    }
}
