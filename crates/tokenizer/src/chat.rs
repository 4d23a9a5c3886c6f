//! Chat templates: from messages to the text that a language model was trained on.
//!
//! A template is a Jinja program in the model's files. It is run as transformers runs it
//! (`apply_chat_template`), and the text is tokenized without special tokens around it: those of the text are
//! written in it.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, Error, ErrorKind};
use serde_json::Map;
use tokenizers::TruncationDirection;
use toller_checkpoint::{Fingerprint, ModelError, read_text};

use crate::python;
use crate::{TokenizedText, Tokenizer, TokenizerConfig, TokenizerError, Tokens, room};

/// The file of a template that is not in tokenizer_config.json.
const FILE: &str = "chat_template.jinja";

/// The name of the template in its environment, for messages.
const NAME: &str = "the chat template";

/// The most steps of a run; every 64 bytes that are copied are one, too. A run of more would take longer
/// than a second.
const FUEL: u64 = 50_000_000;

/// The longest template in bytes. Those of large models have 20 KB.
const LONGEST: usize = 1 << 16;

/// The stack on which a template is read: the parser descends with each operator of an expression.
const STACK: usize = 1 << 26;

/// The special tokens that a template can name.
const ROLES: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// A message of a conversation: the role of its author, and what is said.
pub type Message<'a> = (&'a str, &'a str);

/// How a model's other files say that its template is run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatSettings {
    /// Whether a message's content is a list of parts and not a string. Without a value the template's text
    /// decides, as in sentence-transformers.
    pub has_parts: Option<bool>,
    /// Variables.
    pub variables: Map<String, serde_json::Value>,
}

/// A model's chat template. A clone shares the program.
#[derive(Clone)]
pub struct ChatTemplate {
    environment: Arc<Environment<'static>>,
    source: String,
    variables: BTreeMap<String, serde_json::Value>,
    has_parts: bool,
    path: PathBuf,
}

impl Debug for ChatTemplate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatTemplate").field("path", &self.path).finish_non_exhaustive()
    }
}

impl ChatTemplate {
    /// Reads the template of a folder: `chat_template.jinja`, else the one in `config`; `None` if neither is
    /// there.
    ///
    /// # Errors
    /// When a template cannot be read as Jinja.
    pub fn read(
        folder: &Path,
        config: &TokenizerConfig,
        settings: &ChatSettings,
    ) -> Result<Option<Self>, TokenizerError> {
        let file = folder.join(FILE);
        let (path, source) = if file.is_file() {
            let text = read_text(&file)?;
            (file, text)
        } else {
            let Some(text) = config.chat_template() else { return Ok(None) };
            (folder.join("tokenizer_config.json"), text.to_owned())
        };
        // As in Jinja, a line of a template ends in one character.
        let source = source.replace("\r\n", "\n").replace('\r', "\n");
        let given = ROLES.iter().filter_map(|role| Some(((*role).to_owned(), config.content_of(role)?)));
        let mut variables: BTreeMap<String, serde_json::Value> =
            given.map(|(role, content)| (role, content.into())).collect();
        variables.insert("add_generation_prompt".to_owned(), false.into());
        variables.extend(settings.variables.clone());
        let has_parts = settings.has_parts.unwrap_or_else(|| reads_parts(&source));
        let environment = environment(source.clone()).map_err(|error| problem(&path, &error))?;
        Ok(Some(Self { environment: Arc::new(environment), source, variables, has_parts, path }))
    }

    /// Adds all that decides the text of messages.
    pub fn fingerprint(&self, fingerprint: &mut Fingerprint) {
        fingerprint.value("chat template", self.source.as_bytes());
        fingerprint.value("parts of messages", self.has_parts.to_string().as_bytes());
        for (name, value) in &self.variables {
            fingerprint.json(name, value);
        }
    }

    /// The file of the template.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the template's text has these words, such as the names of roles.
    #[must_use]
    pub fn mentions(&self, words: &[&str]) -> bool {
        words.iter().all(|word| self.source.contains(word))
    }

    /// Whether the template depends on a variable of this name that the settings leave open.
    #[must_use]
    pub fn leaves_open(&self, variable: &str) -> bool {
        if self.variables.contains_key(variable) {
            return false;
        }
        let template = self.environment.get_template(NAME);
        template.is_ok_and(|template| template.undeclared_variables(false).contains(variable))
    }

    /// The text of a conversation.
    ///
    /// # Errors
    /// When the template refuses the messages or does not end.
    pub fn render(&self, messages: &[Message<'_>]) -> Result<String, TokenizerError> {
        let content = |text: &str| {
            let part = || Value::from_pairs([("type", Value::from("text")), ("text", Value::from(text))]);
            if self.has_parts { Value::from(vec![part()]) } else { Value::from(text) }
        };
        let message = |&(role, text): &Message<'_>| {
            Value::from_pairs([("role", Value::from(role)), ("content", content(text))])
        };
        let messages: Vec<Value> = messages.iter().map(message).collect();
        let own = self.variables.iter().map(|(name, value)| (name.as_str(), Value::from(Serde(value))));
        let context = Value::from_pairs(own.chain([("messages", Value::from(messages))]));
        let rendered = self.environment.get_template(NAME).and_then(|template| template.render(context));
        rendered.map_err(|error| TokenizerError::Chat(error.to_string()))
    }
}

/// An environment with the template, as transformers makes it.
fn environment(source: String) -> Result<Environment<'static>, Error> {
    if source.len() > LONGEST {
        let message = format!("a template of {} bytes, where {LONGEST} are possible", source.len());
        return Err(Error::new(ErrorKind::SyntaxError, message));
    }
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    python::teach(&mut environment);
    environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, message))
    });
    let source = without_generation(&source);
    let read = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || environment.add_template_owned(NAME, source).map(|()| environment));
    let failed = |problem: &str| Error::new(ErrorKind::InvalidOperation, problem.to_owned());
    read.map_err(|error| failed(&error.to_string()))?
        .join()
        .unwrap_or_else(|_| Err(failed("the template cannot be read")))
}

/// A template whose tags `generation` and `endgeneration`, which mark what a model answers, are conditions
/// that always hold.
fn without_generation(source: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(source.len()), source);
    while let Some((before, tag)) = rest.split_once("{%") {
        let (sign, tag) = tag.split_at(usize::from(tag.starts_with(['-', '+'])));
        out.extend([before, "{%", sign]);
        rest = tag;
        for (name, condition) in [("generation", " if true"), ("endgeneration", " endif")] {
            let Some(end) = tag.trim_start().strip_prefix(name) else { continue };
            if end.trim_start().trim_start_matches(['-', '+']).starts_with("%}") {
                out.push_str(condition);
                rest = end;
            }
        }
    }
    out + rest
}

/// Whether a template reads a message's content as a list of parts, by the signs that sentence-transformers
/// looks for.
fn reads_parts(source: &str) -> bool {
    ["content[0]", ".type", "'type'", "\"type\"", "message.content["].iter().any(|sign| source.contains(sign))
}

fn problem(path: &Path, error: &Error) -> TokenizerError {
    ModelError::Config { path: path.to_owned(), problem: error.to_string() }.into()
}

impl Tokenizer {
    /// The tokens of a text that a chat template made, and whether they were cut to the maximum length. Of
    /// tokens that are cut, the last ones are `ending`, which the template writes after every text. A
    /// tokenizer that cuts on the left cuts the template's beginning, too, as in sentence-transformers.
    pub fn encode_chat(&self, text: &str, ending: &[u32]) -> Result<(Tokens, bool), TokenizerError> {
        let room = room(self.max_length, ending.len())?;
        // One more token shows that the text is too long.
        let most = self.max_length + 1;
        let TokenizedText { mut ids, len } = self.pieces(text, most, most)?;
        let is_cut = len > self.max_length;
        match self.side {
            _ if !is_cut => {}
            TruncationDirection::Right => {
                ids.truncate(room);
                ids.extend_from_slice(ending);
            }
            // The ending stays.
            TruncationDirection::Left => drop(ids.drain(..ids.len() - self.max_length)),
        }
        Ok((Tokens { type_ids: vec![0; ids.len()], input_ids: ids }, is_cut))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use super::{ChatSettings, ChatTemplate, Message};
    use crate::{TokenizerConfig, TokenizerError};
    use serde_json::{Value, json};

    /// What a template makes of messages, under this configuration.
    fn rendered(
        template: &str,
        config: Value,
        settings: &ChatSettings,
        messages: &[Message<'_>],
    ) -> Result<String, TokenizerError> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tokenizer_config.json"), config.to_string()).unwrap();
        if !template.is_empty() {
            fs::write(folder.path().join("chat_template.jinja"), template).unwrap();
        }
        let config = TokenizerConfig::read(folder.path())?;
        let read = ChatTemplate::read(folder.path(), &config, settings)?;
        read.unwrap().render(messages)
    }

    fn of(template: &str, messages: &[Message<'_>]) -> Result<String, TokenizerError> {
        rendered(template, json!({}), &ChatSettings::default(), messages)
    }

    const PAIR: [Message<'static>; 2] = [("query", "a <b>"), ("document", "c & d")];

    /// What Jinja 3.1 makes of them under transformers' settings.
    #[test]
    fn templates_are_run_as_transformers_runs_them() {
        let reranker = "{%- set instruction = messages | selectattr(\"role\", \"eq\", \"system\") | \
                        map(attribute=\"content\") | first | default(\"default\") -%}\n\
                        {%- set query = messages | selectattr(\"role\", \"eq\", \"query\") | \
                        map(attribute=\"content\") | first -%}\n<s>: {{ instruction }}\n{{ query }}\n\n";
        assert_eq!(of(reranker, &PAIR).unwrap(), "<s>: default\na <b>\n");
        let with_system: Vec<_> = [("system", "find")].into_iter().chain(PAIR).collect();
        assert_eq!(of(reranker, &with_system).unwrap(), "<s>: find\na <b>\n");
        let blocks = "{% for m in messages %}\n  {% if loop.first %}\n[{{ m['role'] }}] {% endif %}\n\
                      {{ m.content.strip().upper() }}{% if not loop.last %}{% continue %}{% endif %}!\n{% endfor %}\n";
        assert_eq!(of(blocks, &PAIR).unwrap(), "[query] A <B>C & D!\n");
        // Lines of other systems.
        assert_eq!(of("x\r\n{{ messages[0].role }}\ry", &PAIR).unwrap(), "x\nquery\ny");
        // What is missing is empty.
        assert_eq!(of("{{ tools }}{{ messages[0].name }}|", &PAIR).unwrap(), "|");
    }

    #[test]
    fn content_is_a_list_of_parts_where_the_template_or_the_settings_say_so() {
        let parts = "{{ messages[0].content[0].text }}";
        assert_eq!(of(parts, &PAIR).unwrap(), "a <b>");
        let first = "{{ messages[0].content | first }}";
        assert_eq!(of(first, &PAIR).unwrap(), "a");
        let settings = ChatSettings { has_parts: Some(true), ..ChatSettings::default() };
        let found = rendered("{{ (messages[0].content | first).text }}", json!({}), &settings, &PAIR);
        assert_eq!(found.unwrap(), "a <b>");
    }

    #[test]
    fn variables_are_special_tokens_and_settings() {
        let config = json!({
            "bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}, "pad_token": null,
            "chat_template": "unused",
        });
        let template = "{{ bos_token }}{{ eos_token }}{{ pad_token }}{{ add_generation_prompt }}";
        let of = |settings: &ChatSettings| rendered(template, config.clone(), settings, &PAIR).unwrap();
        assert_eq!(of(&ChatSettings::default()), "<s></s>False");
        let variables = json!({"add_generation_prompt": true, "pad_token": "x"}).as_object().unwrap().clone();
        assert_eq!(of(&ChatSettings { variables, ..ChatSettings::default() }), "<s></s>xTrue");
    }

    #[test]
    fn a_template_may_be_in_the_configuration() {
        let of = |template: Value| {
            rendered("", json!({ "chat_template": template }), &ChatSettings::default(), &PAIR).unwrap()
        };
        assert_eq!(of(json!("{{ messages[1].content }}")), "c & d");
        let named = json!([{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]);
        assert_eq!(of(named), "d");
    }

    #[test]
    fn bad_templates_are_errors() {
        for (template, said) in [
            ("{% if %}", "syntax error"),
            ("{{ raise_exception('only users') }}", "only users"),
            ("{{ strftime_now('%d') }}", "strftime_now"),
            ("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", "fuel"),
            ("{{ messages[0] }}", "a value that is not text"),
            ("{% set n = namespace() %}{% set n.x = n %}{{ n }}", "a value that is not text"),
            ("{{ '{:>1000000000000}'.format('a') }}", "format"),
            ("{{ messages | tojson }}", "tojson"),
        ] {
            let error = of(template, &PAIR).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        for part in ["{% if a %}{% elif a %}", "{{ 1 + 1", "{{ a ~ a", "{{ ((((((((", "{{ [[[[[[[["] {
            let repeated = part.repeat(9000);
            for template in
                [&repeated[..super::LONGEST / 2], &repeated, &format!("{{{{ {}1 }}}}", "1 + ".repeat(9000))]
            {
                drop(of(template, &PAIR));
            }
        }
        let error = of(&"x".repeat(super::LONGEST + 1), &PAIR).unwrap_err().to_string();
        assert!(error.contains("65537 bytes") && error.contains("chat_template.jinja"), "{error}");
    }

    /// What Jinja 3.1 makes of them under transformers' settings, with Python's strings.
    #[test]
    fn text_is_handled_as_in_python() {
        let of = |template: &str, text: &str| of(template, &[("user", text)]).unwrap();
        let odd = "\u{1c} a\u{1f}b \u{1f}";
        assert_eq!(of("{{ messages[0].content.strip() }}", odd), "a\u{1f}b");
        assert_eq!(of("{{ messages[0].content | trim }}", odd), "a\u{1f}b");
        assert_eq!(of("{{ messages[0].content.lstrip() }}|", odd), "a\u{1f}b \u{1f}|");
        assert_eq!(of("{{ messages[0].content.rstrip() }}|", odd), "\u{1c} a\u{1f}b|");
        assert_eq!(of("{{ messages[0].content.split() | join('-') }}", odd), "a-b");
        assert_eq!(of("{{ messages[0].content.strip('ab') }}", "abcab"), "c");
        assert_eq!(of("{{ messages[0].content | tojson }}", "é\"\n"), "\"é\\\"\\n\"");
        assert_eq!(of("{{ messages[0].content is sequence }}{{ 1 is sequence }}", ""), "TrueFalse");
        assert_eq!(
            of("{% for k, v in messages[0].items() %}{{ k }}={{ v }} {% endfor %}", "x"),
            "role=user content=x "
        );
        let marked = "{%- generation -%} {{ messages[0].content }} {%- endgeneration %}!{% if generation %}?{% endif %}";
        assert_eq!(of(marked, "x"), "x!");
    }

    /// A text may have any length.
    #[test]
    fn long_texts_are_rendered() {
        let long = "word ".repeat(4 << 20);
        assert_eq!(of("{{ messages[0].content.strip() }}", &[("user", &long)]).unwrap(), long.trim_end());
    }
}
