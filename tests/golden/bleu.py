#!/usr/bin/env python3
"""Writes bleu.json: what sacreBLEU gives for captions, with its defaults.

    pip install -r requirements.txt && python3 bleu.py
"""

import json
from pathlib import Path

import sacrebleu

captions = [
    "A brown dog runs through the snow .",
    "Two men in red shirts play basketball, and a third watches.",
    "A girl (about 10) swings; her brother isn't happy!",
    "Greyhounds race 1,200 m on a track - numbers 1-6.",
    "A man climbs a steep rock face near the sea",
]
others = [
    "A dog is running in deep snow",
    "Men in red play basketball",
    "A young girl on a swing with her brother",
    "Six greyhounds are racing on a track",
    "Someone is climbing a rock by the sea",
]
swapped = captions[1:] + captions[:1]
near = [c.replace("dog", "cat").replace("track", "road").replace("sea", "lake") for c in captions]
cases = {
    "equal": (captions, [[c] for c in captions]),
    "near, one reference": (near, [[c] for c in captions]),
    "near, two references": (near, [[c, o] for c, o in zip(captions, others)]),
    "other words": (others, [[c] for c in captions]),
    "the wrong caption": (swapped, [[c, o] for c, o in zip(captions, others)]),
    "shorter than the references": ([" ".join(c.split()[:5]) for c in captions], [[c, o] for c, o in zip(captions, others)]),
    "one text": (captions[:1], [[others[0]]]),
    "no word in common": (["blue yellow green purple"], [["one two three four five"]]),
}
out = []
for name, (candidates, references) in cases.items():
    # sacreBLEU takes references by position; all texts have equally many here.
    streams = [list(stream) for stream in zip(*references)]
    score = sacrebleu.corpus_bleu(candidates, streams).score
    out.append({"name": name, "candidates": candidates, "references": references, "bleu": score})
Path(__file__).with_suffix(".json").write_text(json.dumps({"cases": out}, ensure_ascii=False) + "\n")
