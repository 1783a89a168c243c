"""Frozen encoders: raw images of any size to features.

CLIP's image encoder (Radford et al., ICML 2021; arXiv:2103.00020v1) from a local folder in
transformers' format: shorter side to its size, bicubic; the middle; its statistics; features after
the projection, as long as they come. An ImageNet network from a weights file: sides to `size`,
bilinear; ImageNet's statistics; features before its last layer. A network of one's own: as it was
trained. Gray images go to color encoders three times.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Float32, UInt8
from safetensors import SafetensorError
from torch import Tensor, nn

from mixcal.core.errors import BadInput
from mixcal.data.preprocessing import Preprocessing
from mixcal.training.checkpoints import digest

COLORS = 3
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
CLIP = ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))

Prepare = Callable[[UInt8[Tensor, "n c h w"]], Float[Tensor, "n d a b"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """A frozen network, what prepares its inputs, and what takes features out of its answer."""

    name: str
    network: nn.Module
    prepare: Prepare
    features: Callable[[Any], Float[Tensor, "n d"]]
    device: torch.device
    # Whatever else its features depend on, for the fingerprint.
    settings: str = ""

    @property
    def fingerprint(self) -> str:
        """A hash of weights and settings."""
        tensors = {name: value.cpu() for name, value in self.network.state_dict().items()}
        whole = f"{self.settings}|{digest(tensors)}"
        return hashlib.sha256(whole.encode()).hexdigest()[:16]

    @torch.no_grad()
    def __call__(self, raw: UInt8[Tensor, "n c h w"]) -> Float32[np.ndarray, "n d"]:
        answer = self.network(self.prepare(raw.to(self.device)))
        found = self.features(answer).float()
        if not torch.isfinite(found).all():
            raise BadInput(
                f"The encoder {self.name} answers with numbers that are not finite; its weights "
                "are damaged, so take another one."
            )
        return found.cpu().numpy()


def own_encoder(
    network: nn.Module, preprocessing: Preprocessing, *, name: str, device: torch.device
) -> Encoder:
    """A classifier of one's own; features are what its last layer reads."""
    return Encoder(
        name=name,
        network=_frozen(network, device),
        prepare=lambda raw: preprocessing.normalized(preprocessing.centered(raw)),
        features=lambda answer: answer.features,
        device=device,
        settings=json.dumps(preprocessing.to_json()),
    )


def imagenet_encoder(network: nn.Module, *, name: str, size: int, device: torch.device) -> Encoder:
    """One of our backbones with ImageNet weights in it."""
    return Encoder(
        name=f"{name} at {size}",
        network=_frozen(network, device),
        prepare=lambda raw: standardized(resized(raw, (size, size), "bilinear"), *IMAGENET),
        features=lambda answer: answer.features,
        device=device,
        settings=f"imagenet {size}",
    )


def clip_encoder(folder: Path, *, device: torch.device) -> Encoder:
    """CLIP's image encoder with its projection, from a folder on this machine."""
    if not (folder / "config.json").is_file():
        raise BadInput(
            f"{folder} holds no CLIP model (no config.json in it); name a folder with config.json "
            "and model.safetensors, as transformers saves them."
        )
    try:
        from transformers import CLIPVisionModelWithProjection
        from transformers.utils import logging
    except ImportError as error:
        raise BadInput(f"CLIP needs transformers ({error}); install mixcal[csm].") from None
    # A whole CLIP model also holds a text encoder, which is left out on purpose.
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        loaded: Any = CLIPVisionModelWithProjection.from_pretrained(
            folder, local_files_only=True, use_safetensors=True, output_loading_info=True
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        first = str(error).splitlines()[0]
        raise BadInput(f"{folder} cannot be loaded as CLIP ({first}).") from None
    finally:
        logging.set_verbosity(before)
    model, found = loaded
    # What a file lacks would be left at random.
    if found["missing_keys"]:
        raise BadInput(f"{folder} lacks {sorted(found['missing_keys'])[0]}; it is no CLIP model.")
    size, crop, mean, std = _clip_sizes(folder, usual=_side(model.config.image_size))
    return Encoder(
        name=f"CLIP {folder.name}",
        network=_frozen(model, device),
        prepare=lambda raw: standardized(_shorter_side(raw, size, crop), mean, std),
        features=lambda answer: answer.image_embeds,
        device=device,
        settings=f"clip {size} {crop} {mean} {std}",
    )


def resized(
    raw: UInt8[Tensor, "n c h w"], size: tuple[int, int], mode: str
) -> UInt8[Tensor, "n c a b"]:
    """Pictures of another size; as in PIL, smoothed where they shrink, and in whole numbers."""
    if raw.shape[2:] == size:
        return raw
    found = F.interpolate(raw.float(), size, mode=mode, antialias=True)
    return found.round_().clamp_(0, 255).to(torch.uint8)


def standardized(
    raw: UInt8[Tensor, "n c h w"], mean: tuple[float, ...], std: tuple[float, ...]
) -> Float[Tensor, "n 3 h w"]:
    """Color inputs of the statistics that a public network was trained with."""
    if raw.shape[1] == 1:
        raw = raw.expand(-1, COLORS, -1, -1)
    sides = (raw.shape[2], raw.shape[3])
    inputs = Preprocessing(size=sides, stored=sides, mean=mean, std=std)
    return inputs.normalized(raw)


def _shorter_side(raw: UInt8[Tensor, "n c h w"], size: int, crop: int) -> UInt8[Tensor, "n c a a"]:
    height, width = raw.shape[2:]
    shorter = min(height, width)
    sides = (int(height * size / shorter), int(width * size / shorter))
    large = resized(raw, sides, "bicubic")
    top, left = (sides[0] - crop) // 2, (sides[1] - crop) // 2
    return large[:, :, top : top + crop, left : left + crop]


def _clip_sizes(
    folder: Path, *, usual: int
) -> tuple[int, int, tuple[float, ...], tuple[float, ...]]:
    """Shorter side, crop and statistics, of the folder's own preprocessing where it says so."""
    file = folder / "preprocessor_config.json"
    try:
        record = json.loads(file.read_text()) if file.is_file() else {}
    except ValueError as error:
        raise BadInput(f"{file} is not valid JSON ({error}); restore it.") from None
    size, crop = (_side(record.get(name, usual)) for name in ("size", "crop_size"))
    mean, std = record.get("image_mean", CLIP[0]), record.get("image_std", CLIP[1])
    return size, crop, tuple(mean), tuple(std)


def _side(value: Any) -> int:
    """A size as the files of several years write it: a number or a table."""
    if isinstance(value, dict):
        return int(value.get("shortest_edge") or value["height"])
    return int(value)


def _frozen(network: nn.Module, device: torch.device) -> nn.Module:
    return network.to(device).eval().requires_grad_(False)
