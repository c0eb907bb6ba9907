#!/usr/bin/env python3
"""Writes encode_text.json: what transformers makes of fixed texts and tokens, on weights made by a formula.

A weight is a hash of its tensor's name and its place, so that no file of weights is needed: the Rust tests make the
same ones. BarcodeBERT's tokeniser is written out here from the rules of its authors' code: words of k letters that do not
overlap, padded to 660 letters with N, masked beyond the last full word, numbered alphabetically after the special tokens.

    pip install -r requirements.txt && python3 encode_text.py
"""

import itertools
import json
import tempfile
from pathlib import Path

import torch
from transformers import BertConfig, BertModel, BertTokenizerFast

VOCABULARY = """[PAD] [UNK] [CLS] [SEP] [MASK] ! , . - ' # a b c the dog ##s run ##ning ##n runs on grass un ##happy ##happi ##ness
cafe café naive straße strasse 犬 猫 ΣΑΣ σας 10 ##0 $ € “ ” … dogs Dog ##g x ##x ##y i y o ##u é ##é _ [ ] mask sep ##a ##b ##c""".split()
TEXTS = [
    "The dog runs on the grass.", "dogs RUNNING, unhappiness!", "Café naïve Straße", "a\u0301 e\u0301 Cafe\u0301", "犬猫dog犬",
    "“dog” … dog's dog-dog", "", "  \t\n ", "a\u200bb\u0000c \ufffd dog\u00a0runs", "x" * 100, "x" * 101, "ΣΑΣ", "10 100 €10",
    "the [MASK] runs [SEP] a [mask]", "zebra the zzz", "a b c " * 10, "İ ı Ø", "dog_runs #a", "\U0001f436 dog\U0001f436", "a\u2028b",
]


def value(name, shape):
    """Numbers of a tensor: around 1 for the scales of norms, around 0 for all else."""
    h = 2166136261
    for b in name.encode():
        h = (h ^ b) * 16777619 % 2**32
    count = int(torch.tensor(shape).prod())
    x = (h + torch.arange(count, dtype=torch.int64) * 0x9E3779B9) % 2**32
    for shift, factor in [(16, 0x7FEB352D), (15, 0x846CA68B)]:
        x = x ^ (x >> shift)
        x = ((x % 2**16) * factor + ((x >> 16) * factor % 2**16) * 2**16) % 2**32
    x = x ^ (x >> 16)
    shift, scale = 0.0, 0.4
    if "LayerNorm.weight" in name:
        shift = 1.0
    elif len(shape) == 2:
        scale = 2.0 if "embeddings" in name else 5.0 / shape[1] ** 0.5
    u = x.double() / 2**32 - 0.5
    return (shift + scale * u).float().reshape(shape)


def model(config):
    bert = BertModel(BertConfig(**config), add_pooling_layer=False).eval()
    bert.load_state_dict({n: value(n, tuple(t.shape)) for n, t in bert.state_dict().items() if "position_ids" not in n}, strict=False)
    return bert.double()


def rounded(row):
    return [round(v, 6) for v in row.tolist()]


def pooled(bert, batch):
    """Texts of different lengths in one padded batch."""
    longest = max(map(len, batch))
    ids = torch.tensor([t + [0] * (longest - len(t)) for t in batch])
    mask = torch.tensor([[1] * len(t) + [0] * (longest - len(t)) for t in batch])
    with torch.no_grad():
        hidden = bert(ids, attention_mask=mask).last_hidden_state
    return (hidden * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True), hidden[:, 0]


def tokens(lowercase):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vocab.txt"
        path.write_text("\n".join(VOCABULARY) + "\n")
        (Path(folder) / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": lowercase, "tokenizer_class": "BertTokenizer"}))
        tokenizer = BertTokenizerFast.from_pretrained(folder, do_lower_case=lowercase)
    assert tokenizer.get_vocab() == {word: i for i, word in enumerate(VOCABULARY)}
    texts = [{"text": t, "ids": tokenizer(t, truncation=True, max_length=16)["input_ids"]} for t in TEXTS]
    return {"lowercase": lowercase, "tokenizer": json.loads(tokenizer.backend_tokenizer.to_str()), "texts": texts}


def barcodes(k, letters, special, config):
    words = {"".join(w): i + len(special) for i, w in enumerate(sorted(itertools.product(letters, repeat=k)))}
    bert = model(config)
    items = []
    for sequence in SEQUENCES:
        plain = sequence.upper().replace("U", "T")
        plain = "".join(c if c in "ACGT" else "N" for c in plain)[:660]
        full = len(plain) // k
        padded = plain + "N" * (660 - len(plain))
        ids = [words.get(padded[i:i + k], special.index("<UNK>") if "<UNK>" in special else None) for i in range(0, 660 - k + 1, k)]
        mask = torch.tensor([[int(i < full) for i in range(len(ids))]])
        with torch.no_grad():
            hidden = bert(torch.tensor([ids]), attention_mask=mask).last_hidden_state
        mean = (hidden * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
        items.append({"sequence": sequence, "ids": ids[:full], "mean": rounded(mean[0])})
    return {"config": config, "items": items}


LETTERS = "ACGTTGCATGAC"
SEQUENCES = [
    "ACGTACGTTGCA", "acgtnacgRYTTGAU", "--ACGT-ACGTAC..", "".join(LETTERS[(i * i + i // 7) % 12] for i in range(657)),
    "".join(LETTERS[(i * i * 5 + i // 3) % 12] for i in range(700)),
]
TINY = {"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 72,
        "max_position_embeddings": 40, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "hidden_act": "gelu"}
MINILM = TINY | {"hidden_size": 384, "num_attention_heads": 12, "intermediate_size": 1536, "layer_norm_eps": 1e-5}
BARCODE = TINY | {"max_position_embeddings": 512}
BATCH = [[(7 * i * i + 3 * t + i) % 60 for t in range(n)] for i, n in enumerate([1, 5, 12, 40])]

models = []
for config in [TINY, MINILM]:
    mean, first = pooled(model(config), BATCH)
    texts = [{"ids": t, "mean": rounded(m), "first": rounded(f)} for t, m, f in zip(BATCH, mean, first)]
    models.append({"config": config, "texts": texts})
golden = {
    "vocabulary": VOCABULARY,
    "tokens": [tokens(True), tokens(False)],
    "models": models,
    "barcodes": [
        barcodes(4, "ACGT", ["<MASK>", "<UNK>"], BARCODE | {"vocab_size": 258}),
        barcodes(3, "ACGT", ["<MASK>", "<CLS>", "<UNK>"], BARCODE | {"vocab_size": 67}),
        barcodes(3, "ACGNT", ["<MASK>"], BARCODE | {"vocab_size": 126}),
    ],
}
Path(__file__).with_name("encode_text.json").write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")) + "\n")
