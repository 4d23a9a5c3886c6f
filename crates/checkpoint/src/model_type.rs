//! The architectures that can be run.

use toller_ir::named;

named! {
    /// An architecture, by the `model_type` that transformers writes into config.json.
    ///
    /// What follows from the architecture alone is a `match` without a wildcard where it is needed, so that
    /// the compiler names the places to which a new one must be added.
    pub enum ModelType: "an architecture that can be run" {
        /// BERT and mBERT (Devlin et al. 2019).
        Bert = "bert",
        /// ELECTRA's discriminator (Clark et al. 2020).
        Electra = "electra",
        /// ERNIE 1.0 to 3.0 (Sun et al. 2019).
        Ernie = "ernie",
        /// RoBERTa (Liu et al. 2019).
        Roberta = "roberta",
        /// XLM-R (Conneau et al. 2020).
        XlmRoberta = "xlm-roberta",
        /// CamemBERT (Martin et al. 2020).
        Camembert = "camembert",
        /// DistilBERT (Sanh et al. 2019).
        DistilBert = "distilbert",
        /// An encoder of DPR (Karpukhin et al. 2020).
        Dpr = "dpr",
        /// REALM's embedder (Guu et al. 2020).
        Realm = "realm",
        /// MPNet (Song et al. 2020).
        Mpnet = "mpnet",
        /// ModernBERT (Warner et al. 2024).
        ModernBert = "modernbert",
        /// Nomic's BERT (Nussbaum et al. 2024).
        NomicBert = "nomic_bert",
        /// LLaMA (Touvron et al. 2023).
        Llama = "llama",
        /// Mistral (Jiang et al. 2023).
        Mistral = "mistral",
        /// Qwen2 (Yang et al. 2024).
        Qwen2 = "qwen2",
        /// Qwen3 (Yang et al. 2025).
        Qwen3 = "qwen3",
    }
}

impl ModelType {
    /// Whether it is a decoder: LLaMA or a descendant of it.
    pub fn is_decoder(self) -> bool {
        match self {
            Self::Llama | Self::Mistral | Self::Qwen2 | Self::Qwen3 => true,
            Self::Bert
            | Self::Electra
            | Self::Ernie
            | Self::Roberta
            | Self::XlmRoberta
            | Self::Camembert
            | Self::DistilBert
            | Self::Dpr
            | Self::Realm
            | Self::Mpnet
            | Self::ModernBert
            | Self::NomicBert => false,
        }
    }

    /// The names of those that `can` do something, for an error about one that cannot.
    pub fn names_that(can: impl Fn(Self) -> bool) -> String {
        let able: Vec<&str> =
            Self::ALL.into_iter().filter(|&model_type| can(model_type)).map(Self::name).collect();
        able.join(", ")
    }
}
