#!/usr/bin/env python3
"""EfficientNet-Lite0 beside PyTorch: pictures a second on two threads, batches of 32, the same weights and pictures.

    pip install -r tests/golden/requirements.txt
    cargo build --release -p bridged-encode --example bench_image
    tools/encoder_weights.sh FOLDER
    python benches/encode_image.py target/release/examples/bench_image FOLDER [THREADS]

Both sides take turns. Each gives pictures a second of the fastest third of its batches, as other work on the machine
disturbs, and pictures a second of processor time. PyTorch runs in inference mode, in the better of its two memory
formats, and decodes with Pillow in as many threads.
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
    start, processor, times = time.perf_counter(), time.process_time(), []
    while time.perf_counter() - start < SECONDS or len(times) < 3:
        one = time.perf_counter()
        batch()
        times.append(time.perf_counter() - one)
    processor = BATCH * len(times) / (time.process_time() - processor)
    best = sorted(times)[: -(-len(times) // 3)]
    return [round(BATCH * len(best) / sum(best), 1), round(processor, 1)]


def main():
    binary, folder = sys.argv[1], pathlib.Path(sys.argv[2]) / "efficientnet-lite0"
    torch.set_num_threads(THREADS)
    model = EfficientNet.from_name("efficientnet-lite0")
    model.load_state_dict(torch.load(next(folder.glob("*.pth")), map_location="cpu"))
    model.eval()
    prepare = transforms.Compose(
        [
            transforms.Resize(256, interpolation=transforms.InterpolationMode.BICUBIC),
            transforms.CenterCrop(224),
            transforms.ToTensor(),
            transforms.Normalize([127 / 255] * 3, [128 / 255] * 3),
        ]
    )
    photographs = pathlib.Path(__file__).parent / "../tests/golden/photographs"
    files = sorted(photographs.glob("*.jpg"))
    files = [files[i % len(files)] for i in range(BATCH)]
    pool = ThreadPoolExecutor(THREADS)

    def load(path):
        return prepare(ImageOps.exif_transpose(Image.open(path)).convert("RGB"))

    ready = torch.stack([load(path) for path in files])
    last = ready.to(memory_format=torch.channels_last)

    def features(net, x):
        return net.extract_features(x).mean((2, 3))

    best = {"bridged": {}, "torch": {}}
    with torch.inference_mode():
        for _ in range(ROUNDS):
            command = [binary, folder, photographs, str(THREADS)]
            ours = json.loads(subprocess.check_output(command))
            model.to(memory_format=torch.contiguous_format)
            first = rate(lambda: features(model, ready))
            model.to(memory_format=torch.channels_last)
            theirs = {
                "inference": [max(pair) for pair in zip(first, rate(lambda: features(model, last)))],
                "with decoding": rate(
                    lambda: features(
                        model, torch.stack(list(pool.map(load, files))).to(memory_format=torch.channels_last)
                    )
                ),
            }
            print(json.dumps({"bridged": ours, "torch": theirs}), flush=True)
            for side, values in (("bridged", ours), ("torch", theirs)):
                for name, rates in values.items():
                    best[side][name] = [max(pair) for pair in zip(rates, best[side].get(name, rates))]
    for name in ("inference", "with decoding"):
        wall, processor = (a / b for a, b in zip(best["bridged"][name], best["torch"][name]))
        print(f"{name}: {wall:.2f} times PyTorch, {processor:.2f} times by processor time")


if __name__ == "__main__":
    main()
