#!/usr/bin/env python3
"""EfficientNet-Lite0 beside PyTorch: pictures a second on two threads, batches of 32, the same weights and pictures.

    cargo build --release -p bridged-encode --example bench_image
    python tests/golden/encode_image.py --real FOLDER
    python benches/encode_image.py target/release/examples/bench_image FOLDER [THREADS]

Both sides take turns, and each counts the fastest third of its batches: other work on the machine slows both. PyTorch
runs in inference mode, in either memory format, and decodes with Pillow in as many threads.
"""

import json
import pathlib
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from efficientnet_lite_pytorch import EfficientNet
from PIL import Image, ImageOps
from torchvision import transforms

BATCH, SECONDS, ROUNDS = 32, 8.0, 3
THREADS = int((sys.argv[3:] or [2])[0])


def rate(batch):
    batch()
    start, times = time.perf_counter(), []
    while time.perf_counter() - start < SECONDS or len(times) < 3:
        one = time.perf_counter()
        batch()
        times.append(time.perf_counter() - one)
    best = sorted(times)[: -(-len(times) // 3)]
    return BATCH * len(best) / sum(best)


def main():
    binary, folder = sys.argv[1], pathlib.Path(sys.argv[2]) / "efficientnet-lite0"
    torch.set_num_threads(THREADS)
    from safetensors.torch import load_file

    model = EfficientNet.from_name("efficientnet-lite0")
    model.load_state_dict(load_file(folder / "model.safetensors"))
    model.eval()
    prepare = transforms.Compose(
        [
            transforms.Resize(256, interpolation=transforms.InterpolationMode.BICUBIC),
            transforms.CenterCrop(224),
            transforms.ToTensor(),
            transforms.Normalize([127 / 255] * 3, [128 / 255] * 3),
        ]
    )
    files = sorted((folder / "pictures").iterdir())
    files = [files[i % len(files)] for i in range(BATCH)]
    pool = ThreadPoolExecutor(THREADS)

    def load(path):
        return prepare(ImageOps.exif_transpose(Image.open(path)).convert("RGB"))

    ready = torch.stack([load(path) for path in files])
    last = ready.to(memory_format=torch.channels_last)

    def features(net, x):
        return net.extract_features(x).mean((2, 3))

    best = {}
    with torch.inference_mode():
        for _ in range(ROUNDS):
            command = [binary, folder / "model.safetensors", folder / "pictures", str(THREADS)]
            ours = json.loads(subprocess.check_output(command))
            theirs = {
                "inference, channels first": rate(lambda: features(model.to(memory_format=torch.contiguous_format), ready)),
                "inference, channels last": rate(lambda: features(model.to(memory_format=torch.channels_last), last)),
            }
            model.to(memory_format=torch.channels_last)
            theirs["with decoding"] = rate(
                lambda: features(
                    model, torch.stack(list(pool.map(load, files))).to(memory_format=torch.channels_last)
                )
            )
            print(json.dumps({"bridged": ours, "torch": theirs}), flush=True)
            for side, values in (("bridged", ours), ("torch", theirs)):
                for name, value in values.items():
                    best[side, name] = max(best.get((side, name), 0.0), value)
    torch_inference = max(v for (side, name), v in best.items() if side == "torch" and name.startswith("inference"))
    print(f"inference: {best['bridged', 'inference'] / torch_inference:.2f} times PyTorch")
    print(f"with decoding: {best['bridged', 'with_decoding'] / best['torch', 'with decoding']:.2f} times PyTorch")


if __name__ == "__main__":
    main()
