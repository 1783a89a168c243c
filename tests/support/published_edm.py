"""Networks built, run and pickled as EDM's published generators are, in the tests' own words."""

import io
import math
import pickle
import sys
from collections import OrderedDict
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.support.persistent import EasyDict, Persistent, _reconstruct_persistent_obj

DDPM: dict[str, Any] = {
    "embedding_type": "positional",
    "encoder_type": "standard",
    "decoder_type": "standard",
    "channel_mult_noise": 1,
    "resample_filter": [1, 1],
    "model_channels": 8,
    "channel_mult": [1, 2],
    "num_blocks": 1,
    "attn_resolutions": [4],
    "dropout": 0.13,
    "augment_dim": 9,
}
NCSN = DDPM | {
    "embedding_type": "fourier",
    "encoder_type": "residual",
    # A third size, so that it matters what goes down beside the encoder.
    "channel_mult": [1, 2, 2],
    "channel_mult_noise": 2,
    "resample_filter": [1, 3, 3, 1],
}


def random(*shape: int) -> nn.Parameter:
    return nn.Parameter(0.2 * torch.randn(*shape))


class Linear(Persistent):
    def __init__(self, inner: int, outer: int, bias: bool = True) -> None:
        super().__init__(in_features=inner, out_features=outer)
        self.weight = random(outer, inner)
        self.bias = random(outer) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        x = torch.einsum("ni,oi->no", x, self.weight)
        return x if self.bias is None else x + self.bias


class GroupNorm(Persistent):
    def __init__(self, channels: int) -> None:
        super().__init__(num_channels=channels)
        self.weight, self.bias = nn.Parameter(1 + random(channels)), random(channels)

    def forward(self, x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        groups = x.reshape(n, min(32, c // 4), -1)
        deviation = (groups.var(2, keepdim=True, correction=0) + 1e-6).sqrt()
        x = ((groups - groups.mean(2, keepdim=True)) / deviation).reshape(n, c, h, w)
        return x * self.weight[:, None, None] + self.bias[:, None, None]


class Conv2d(Persistent):
    def __init__(
        self,
        inner: int,
        outer: int,
        kernel: int,
        way: str = "",
        taps: Any = (1, 1),
        at_once: bool = False,
    ) -> None:
        super().__init__(in_channels=inner, out_channels=outer, init_weight=np.sqrt(0.2))
        self.way, self.at_once = way, at_once
        self.weight, self.bias = random(outer, inner, kernel, kernel), random(outer)
        row = torch.tensor(taps, dtype=torch.float32)
        both = torch.outer(row, row)[None, None] / row.sum() ** 2
        self.register_buffer("resample_filter", both if way else None)

    def forward(self, x: Tensor) -> Tensor:
        edge = self.weight.shape[-1] // 2
        if self.at_once:
            more = (self.resample_filter.shape[-1] - 1) // 2
            x = filtered(F.conv2d(x, self.weight, padding=edge + more), self.resample_filter, 0)
            return x + self.bias[:, None, None]
        if self.way:
            reach = (self.resample_filter.shape[-1] - 1) // 2
            x = filtered(x, self.resample_filter, reach, up=self.way == "up")
        return F.conv2d(x, self.weight, self.bias, padding=edge)


def filtered(x: Tensor, kernel: Tensor, padding: int, *, up: bool = False) -> Tensor:
    """Each channel as an image of its own."""
    planes = x.reshape(-1, 1, *x.shape[2:])
    if up:
        planes = F.conv_transpose2d(planes, 4 * kernel, stride=2, padding=padding)
    else:
        planes = F.conv2d(planes, kernel, stride=2, padding=padding)
    return planes.reshape(*x.shape[:2], *planes.shape[2:])


class UNetBlock(Persistent):
    def __init__(
        self, inner: int, outer: int, said: dict, way: str = "", attends: bool = False
    ) -> None:
        super().__init__(in_channels=inner, out_channels=outer, skip_scale=np.sqrt(0.5))
        taps = said["resample_filter"]
        self.in_channels, self.skip_scale = inner, np.sqrt(0.5)
        self.norm0, self.norm1 = GroupNorm(inner), GroupNorm(outer)
        self.conv0, self.conv1 = Conv2d(inner, outer, 3, way, taps), Conv2d(outer, outer, 3)
        self.affine = Linear(4 * said["model_channels"], outer)
        self.skip = Conv2d(inner, outer, 1, way, taps) if way or inner != outer else None
        self.attends = attends
        if attends:
            self.norm2, self.qkv = GroupNorm(outer), Conv2d(outer, 3 * outer, 1)
            self.proj = Conv2d(outer, outer, 1)

    def forward(self, x: Tensor, emb: Tensor) -> Tensor:
        y = self.conv0(F.silu(self.norm0(x)))
        y = self.conv1(F.silu(self.norm1(y + self.affine(emb)[..., None, None])))
        x = (y + (x if self.skip is None else self.skip(x))) * math.sqrt(0.5)
        if not self.attends:
            return x
        three = self.qkv(self.norm2(x)).reshape(len(x), x.shape[1], 3, -1)
        scores = torch.einsum("ncq,nck->nqk", three[:, :, 0], three[:, :, 1])
        share = (scores / math.sqrt(x.shape[1])).softmax(2)
        seen = torch.einsum("nqk,nck->ncq", share, three[:, :, 2]).reshape(x.shape)
        return (x + self.proj(seen)) * math.sqrt(0.5)


class PositionalEmbedding(Persistent):
    def forward(self, x: Tensor, half: int) -> Tensor:
        return x[:, None] * torch.logspace(0, -4, half)


class FourierEmbedding(Persistent):
    def __init__(self, channels: int) -> None:
        super().__init__(num_channels=channels)
        self.register_buffer("freqs", 16 * torch.randn(channels // 2))

    def forward(self, x: Tensor, half: int) -> Tensor:
        return x[:, None] * (2 * math.pi * self.freqs)


class SongUNet(Persistent):
    def __init__(self, **said: Any) -> None:
        super().__init__(**said)
        self.said = said
        width, side, taps = said["model_channels"], said["img_resolution"], said["resample_filter"]
        noise = width * said["channel_mult_noise"]
        second = said["encoder_type"] == "residual"
        self.map_noise = FourierEmbedding(noise) if second else PositionalEmbedding()
        self.map_label = Linear(said["label_dim"], noise) if said["label_dim"] else None
        self.map_augment = Linear(9, noise, False) if said["augment_dim"] else None
        self.map_layer0, self.map_layer1 = Linear(noise, 4 * width), Linear(4 * width, 4 * width)
        self.enc, self.dec = nn.ModuleDict(), nn.ModuleDict()
        self.enc[f"{side}x{side}_conv"] = Conv2d(said["in_channels"], width, 3)
        now, aside, kept = width, said["in_channels"], [width]
        for level, factor in enumerate(said["channel_mult"]):
            here = f"{side >> level}x{side >> level}"
            attends = side >> level in said["attn_resolutions"]
            if level:
                self.enc[f"{here}_down"] = UNetBlock(now, now, said, "down")
                kept.append(now)
                if second:
                    self.enc[f"{here}_aux_residual"] = Conv2d(aside, now, 3, "down", taps, True)
                    aside = now
            for place in range(said["num_blocks"]):
                self.enc[f"{here}_block{place}"] = UNetBlock(
                    now, width * factor, said, attends=attends
                )
                now = width * factor
                kept.append(now)
        last = len(said["channel_mult"]) - 1
        for level in range(last, -1, -1):
            here = f"{side >> level}x{side >> level}"
            attends = side >> level in said["attn_resolutions"]
            if level == last:
                self.dec[f"{here}_in0"] = UNetBlock(now, now, said, attends=True)
                self.dec[f"{here}_in1"] = UNetBlock(now, now, said)
            else:
                self.dec[f"{here}_up"] = UNetBlock(now, now, said, "up")
            for place in range(said["num_blocks"] + 1):
                outer = width * said["channel_mult"][level]
                self.dec[f"{here}_block{place}"] = UNetBlock(
                    now + kept.pop(), outer, said, attends=attends and place == said["num_blocks"]
                )
                now = outer
        self.dec[f"{side}x{side}_aux_norm"] = GroupNorm(now)
        self.dec[f"{side}x{side}_aux_conv"] = Conv2d(now, said["out_channels"], 3)

    def forward(
        self, x: Tensor, noise: Tensor, labels: Tensor, told: Tensor | None = None
    ) -> Tensor:
        angles = self.map_noise(noise, self.map_layer0.weight.shape[1] // 2)
        emb = torch.cat([angles.sin(), angles.cos()], 1)
        emb = emb + self.map_label(labels * math.sqrt(labels.shape[1]))
        if told is not None:
            emb = emb + self.map_augment(told)
        emb = F.silu(self.map_layer1(F.silu(self.map_layer0(emb))))
        kept, aside = [], x
        for name, layer in self.enc.items():
            if name.endswith("_conv"):
                kept.append(layer(x))
            elif name.endswith("_residual"):
                aside = (kept.pop() + layer(aside)) / math.sqrt(2)
                kept.append(aside)
            else:
                kept.append(layer(kept[-1], emb))
        x = kept[-1]
        for name, layer in self.dec.items():
            if name.endswith("_norm"):
                x = F.silu(layer(x))
            elif name.endswith("_conv"):
                x = layer(x)
            elif "_block" in name:
                x = layer(torch.cat([x, kept.pop()], 1), emb)
            else:
                x = layer(x, emb)
        return x


class EDMPrecond(Persistent):
    def __init__(self, side: int, channels: int, classes: int, **said: Any) -> None:
        super().__init__(img_resolution=side, img_channels=channels, label_dim=classes, **said)
        self.sigma_data = 0.5
        self.model = SongUNet(
            img_resolution=side,
            in_channels=channels,
            out_channels=channels,
            label_dim=classes,
            **said,
        )


class VPPrecond(EDMPrecond):
    """Another preconditioning."""


class EDMLoss(Persistent):
    """What else is in a file."""


def network(said: dict[str, Any] = DDPM, kind: type = EDMPrecond, classes: int = 3) -> Any:
    torch.manual_seed(0)
    return kind(8, 1, classes, **said).eval().requires_grad_(False)


def pickled(made: Any, *, protocol: int = pickle.DEFAULT_PROTOCOL) -> bytes:
    """The bytes of a file, with the module names that the published ones have."""
    around = {
        "ema": made,
        "loss_fn": EDMLoss(P_mean=-1.2),
        "augment_pipe": None,
        "dataset_kwargs": EasyDict(path="cifar10.zip", resolution=32),
        "more": OrderedDict(kept={1, 2}),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, member in (
            ("torch_utils.persistence", _reconstruct_persistent_obj),
            ("dnnlib.util", EasyDict),
        ):
            package, module = ModuleType(name.partition(".")[0]), ModuleType(name)
            vars(module)[member.__name__] = member
            patch.setitem(sys.modules, package.__name__, package)
            patch.setitem(sys.modules, name, module)
            patch.setattr(member, "__module__", name)
        file = io.BytesIO()
        pickle.dump(around, file, protocol)
        return file.getvalue()


def published(path: Path, said: dict[str, Any] = DDPM) -> Any:
    """A file, and the network that is in it."""
    made = network(said)
    path.write_bytes(pickled(made))
    return made
