"""Generators published as EDM's pickles (Karras et al., NeurIPS 2022; arXiv:2206.00364v2).

Such a file holds the averaged network under `ema`: EDM's preconditioning around a SongUNet, each
with the arguments it was made with. Here both become our own network: its options, and its tensors
under our names.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mixcal.core.errors import BadInput
from mixcal.recipe_check import built
from mixcal.synthesis.inert_pickle import BROKEN, read_inert
from mixcal.synthesis.model import make_network
from mixcal.synthesis.noise import DATA_STD
from mixcal.synthesis.options import NetworkOptions
from mixcal.synthesis.published_tensors import Foreign, kind_of, state_of, tensors_of
from mixcal.synthesis.song_embedding import AUGMENTATION

# What a SongUNet is if its arguments do not say.
UNSAID: dict[str, Any] = {
    "label_dim": 0,
    "augment_dim": 0,
    "model_channels": 128,
    "channel_mult": [1, 2, 2, 2],
    "channel_mult_emb": 4,
    "num_blocks": 4,
    "attn_resolutions": [16],
    "dropout": 0.1,
    "label_dropout": 0,
    "embedding_type": "positional",
    "channel_mult_noise": 1,
    "encoder_type": "standard",
    "decoder_type": "standard",
    "resample_filter": [1, 1],
}
BOTH = {"channel_mult_emb": 4, "decoder_type": "standard"}
KINDS: dict[str, dict[str, Any]] = {
    "ddpm++": BOTH
    | {
        "embedding_type": "positional",
        "channel_mult_noise": 1,
        "encoder_type": "standard",
        "resample_filter": [1, 1],
    },
    "ncsn++": BOTH
    | {
        "embedding_type": "fourier",
        "channel_mult_noise": 2,
        "encoder_type": "residual",
        "resample_filter": [1, 3, 3, 1],
    },
}
# Parts of a block, theirs and ours.
PARTS = {
    "norm0": "norm_1",
    "conv0": "convolution_1",
    "affine": "embed",
    "norm1": "norm_2",
    "conv1": "convolution_2",
    "skip": "shortcut",
    "norm2": "attention.norm",
    "qkv": "attention.project",
    "proj": "attention.out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A published network in our terms."""

    network: NetworkOptions
    classes: int
    # Height, width, channels.
    shape: tuple[int, int, int]
    guidable: bool
    tensors: Mapping[str, Tensor]


def read_published(path: Path) -> Published:
    """The averaged network of a file, of which nothing is run."""
    whole = read_inert(path)
    try:
        return _understood(whole, path)
    except Foreign:
        raise BadInput(
            f"{path} holds a pickle within the pickle that asks for more than numbers, which could "
            "run foreign code; nothing was run, and you had better delete the file."
        ) from None
    except (*BROKEN, RuntimeError) as error:
        reason = str(error).partition("\n")[0][:120]
        raise BadInput(f"{path} is not built as EDM's generators are ({reason}).") from None


def _understood(whole: Any, path: Path) -> Published:
    if not isinstance(whole, dict) or "ema" not in whole:
        raise BadInput(f"{path} holds no averaged network (`ema`); take a network-snapshot file.")
    outer = state_of(whole["ema"])
    if kind_of(whole["ema"]) != "EDMPrecond" or outer["sigma_data"] != DATA_STD:
        raise BadInput(
            f"{path} is a {kind_of(whole['ema'])[:40]!r}, not a network with EDM's "
            f"preconditioning and σ_data = {DATA_STD}; take one of the edm-… files."
        )
    model = outer["_modules"]["model"]
    if kind_of(model) != "SongUNet":
        raise BadInput(
            f"{path} holds a {kind_of(model)[:40]!r}; only DDPM++ and NCSN++ networks are known."
        )
    said = UNSAID | state_of(model)["_init_kwargs"]
    if not said["label_dim"]:
        raise BadInput(f"{path} knows no classes; take a class-conditional network (…-cond-…).")
    options = _options(said, path)
    side, channels = int(said["img_resolution"]), int(said["in_channels"])
    tensors = _renamed(dict(tensors_of(model)), options, side)
    made = Published(
        network=options,
        classes=int(said["label_dim"]),
        shape=(side, side, channels),
        guidable=float(said["label_dropout"]) > 0,
        tensors=tensors,
    )
    _check(made, path)
    return made


def _options(said: Mapping[str, Any], path: Path) -> NetworkOptions:
    fitting = [
        name
        for name, kind in KINDS.items()
        if all(_list(said[key]) == value for key, value in kind.items())
    ]
    if not fitting or said["augment_dim"] not in (0, AUGMENTATION):
        keys = {key: said[key] for key in (*KINDS["ddpm++"], "augment_dim")}
        raise BadInput(f"{path} is neither EDM's DDPM++ nor its NCSN++ ({str(keys)[:300]}).")
    record = {
        "name": fitting[0],
        "width": said["model_channels"],
        "multipliers": said["channel_mult"],
        "blocks": said["num_blocks"],
        "attention": said["attn_resolutions"],
        "patch": 1,
        "dropout": said["dropout"],
        "told_augmentation": bool(said["augment_dim"]),
    }
    return built(NetworkOptions, record, where=str(path))


def _list(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _renamed(found: Mapping[str, Tensor], options: NetworkOptions, side: int) -> dict[str, Tensor]:
    """Tensors under our names; filters are checked and left out."""
    places = _places(options, side)
    taps = torch.tensor(KINDS[options.name]["resample_filter"], dtype=torch.float32)
    kernel = torch.outer(taps, taps)[None, None] / taps.sum() ** 2
    renamed = {}
    for name, tensor in found.items():
        *parts, last = name.split(".")
        depth = 2 if parts[0] in ("enc", "dec") else 1
        place = places[".".join(parts[:depth])]
        if last == "resample_filter":
            if tensor.shape != kernel.shape or not torch.allclose(tensor, kernel):
                raise ValueError(f"the filter {name} is another")
            continue
        inner = [PARTS[part] for part in parts[depth:]]
        renamed[".".join([place, *inner, "frequencies" if last == "freqs" else last])] = tensor
    return renamed


def _places(options: NetworkOptions, side: int) -> dict[str, str]:
    """Their names of modules, and ours."""
    places = {
        "map_noise": "embedding",
        "map_label": "embedding.label",
        "map_augment": "embedding.augmentation",
        "map_layer0": "embedding.layer_1",
        "map_layer1": "embedding.layer_2",
        f"enc.{side}x{side}_conv": "entry",
        f"dec.{side}x{side}_aux_norm": "norm",
        f"dec.{side}x{side}_aux_conv": "exit",
    }
    levels = len(options.multipliers)
    for level in range(levels):
        size, up = f"{side >> level}x{side >> level}", levels - 1 - level
        places[f"enc.{size}_down"] = f"encoder.{level}.resample"
        places[f"enc.{size}_aux_residual"] = f"encoder.{level}.pyramid.convolution"
        places[f"dec.{size}_up"] = f"decoder.{up}.resample"
        places |= {f"dec.{size}_in{place}": f"middle.{place}" for place in range(2)}
        for block in range(options.blocks + 1):
            places[f"enc.{size}_block{block}"] = f"encoder.{level}.blocks.{block}"
            places[f"dec.{size}_block{block}"] = f"decoder.{up}.blocks.{block}"
    return places


def _check(made: Published, path: Path) -> None:
    """All tensors of the network are there, with its shapes, and no others."""
    with torch.device("meta"):
        network = make_network(made.network, classes=made.classes, shape=made.shape)
    wanted = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in made.tensors.items()}
    faults = sorted(set(wanted.items()) ^ set(found.items()))
    if faults:
        name = faults[0][0]
        raise BadInput(
            f"{path} does not fit the network that it describes ({asdict(made.network)}): "
            f"{name!r} is {found.get(name, 'missing')} and not {wanted.get(name, 'known')} "
            f"({len({name for name, _ in faults})} differences)."
        )
