#!/usr/bin/env python3
"""Writes checkpoints.json: small checkpoints as torch.save writes them, in its two formats, and their tensors.

    pip install -r requirements.txt && python3 checkpoints.py
"""

import argparse
import collections
import io
import json
from pathlib import Path

import torch

whole = torch.arange(12.0).reshape(3, 4)
state = collections.OrderedDict(
    [
        ("bert.whole", whole),
        ("bert.turned", whole.t()[1:]),  # the same storage, other strides, an offset
        ("bert.half", torch.tensor([0.5, -2.0], dtype=torch.half)),
        ("bert.brain", torch.tensor([[1.5]], dtype=torch.bfloat16)),
        ("bert.double", torch.tensor([0.25, 3.0], dtype=torch.double)),
        ("bert.scalar", torch.tensor(7.0)),
        ("bert.learned", torch.nn.Parameter(torch.ones(2))),
        ("bert.counter", torch.tensor(3)),
    ]
)
state._metadata = {"": {"version": 1}}  # what state_dict() hangs on its dictionary
checkpoint = {
    "model": state,
    "optimizer": {"state": {0: {"step": torch.tensor(1.0)}}, "param_groups": [{"lr": 0.1, "params": [0]}]},
    "epoch": 3,
    "config": argparse.Namespace(k_mer=4, name="a name"),
    "bert_config": {"num_attention_heads": 4, "hidden_act": "gelu"},
}
files = {}
for name, new in [("new.pth", True), ("old.bin", False)]:
    buffer = io.BytesIO()
    torch.save(checkpoint, buffer, _use_new_zipfile_serialization=new)
    files[name] = buffer.getvalue().hex()
tensors = [
    {"name": name.removeprefix("bert."), "shape": list(t.shape), "data": t.detach().double().flatten().tolist()}
    for name, t in state.items()
    if t.is_floating_point()
]
golden = {"files": files, "tensors": tensors}
Path(__file__).with_name("checkpoints.json").write_text(json.dumps(golden) + "\n")
