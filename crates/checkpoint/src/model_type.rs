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
        /// GTE (Zhang et al. 2024) as transformers and Snowflake call it.
        Gte = "gte",
        /// GTE as Alibaba's code calls it.
        New = "new",
        /// The encoder of T5 (Raffel et al. 2020).
        T5 = "t5",
        /// The encoder of mT5 (Xue et al. 2021).
        Mt5 = "mt5",
        /// EuroBERT (Boizard et al. 2025).
        EuroBert = "eurobert",
        /// The text model of Gemma 3 (Gemma Team 2025): EmbeddingGemma.
        Gemma3Text = "gemma3_text",
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
    /// Whether it is LLaMA or built like it: such models have tokenizers and precisions of their own.
    pub fn is_like_llama(self) -> bool {
        match self {
            Self::Llama | Self::Mistral | Self::Qwen2 | Self::Qwen3 | Self::EuroBert | Self::Gemma3Text => {
                true
            }
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
            | Self::NomicBert
            | Self::Gte
            | Self::New
            | Self::T5
            | Self::Mt5 => false,
        }
    }

    /// The names of those that `can` do something, for an error about one that cannot.
    pub fn names_that(can: impl Fn(Self) -> bool) -> String {
        let able: Vec<&str> =
            Self::ALL.into_iter().filter(|&model_type| can(model_type)).map(Self::name).collect();
        able.join(", ")
    }
}
