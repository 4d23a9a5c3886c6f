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
