"""The encoder that a person names: KIND:PATH."""

from pathlib import Path
from typing import TYPE_CHECKING

from mixcal.core.errors import BadInput

if TYPE_CHECKING:
    import torch

    from mixcal.synthesis.encoders import Encoder

IMAGENET_CLASSES = 1000
WRITTEN = (
    "run:FOLDER (a run of yours), clip:FOLDER (CLIP as transformers saves it) or NETWORK:FILE "
    "(ImageNet weights, for example mobilenet-v2:mobilenet_v2.pth)"
)


def encoder_named(text: str, *, size: int, device: "torch.device") -> "Encoder":
    """The encoder of "run:…", "clip:…" or an ImageNet network's name and file."""
    kind, colon, place = text.partition(":")
    if not colon or not kind or not place:
        raise BadInput(f"--encoder {text}: write it as {WRITTEN}.")
    path = Path(place).expanduser()
    if kind == "run":
        return _own(path, device)
    if kind == "clip":
        from mixcal.synthesis.encoders import clip_encoder

        return clip_encoder(path, device=device)
    return _imagenet(kind, path, size, device)


def _own(path: Path, device: "torch.device") -> "Encoder":
    from mixcal.exporting import bundle_of
    from mixcal.serving.predictor import Predictor
    from mixcal.synthesis.encoders import own_encoder

    bundle = bundle_of(path, rescaler="none")
    trusted = (bundle.factory.split(".")[0].partition(":")[0],)
    predictor = Predictor.of(bundle, trusted=trusted)
    name = f"run {path.resolve().name}, {bundle.origin['weights']}"
    return own_encoder(predictor.network, predictor.preprocessing, name=name, device=device)


def _imagenet(name: str, path: Path, size: int, device: "torch.device") -> "Encoder":
    from mixcal import catalog
    from mixcal.synthesis.encoders import imagenet_encoder

    entry, knobs = catalog.settled(
        "backbone", name, {"stem": "imagenet", "weights": str(path)}, channels=3, size=size
    )
    network = entry.factory()(IMAGENET_CLASSES, **knobs)
    return imagenet_encoder(network, name=name, size=size, device=device)
