"""Sets of images between two classes (Luo et al., ICML 2025; arXiv:2504.13548v2, section 3.1).

    x_T ~ N(0, I), one for a set;   λ̂ = 0, 1/7, …, 1;   q = λ̂ e_c1 + (1 − λ̂) e_c2,   c1 < c2

and every image is the sampler's answer to (x_T, q). Sets go round the unordered pairs of classes in
lexicographic order. As in the authors' code; where the paper is silent:

- pair and seed follow from a set's number, so that a set made again, alone or after a kill, is the
  same set;
- all passes hold `sets_per_pass` sets, each at the place its number gives it, since a network's
  rounding may depend on the shape of a batch. Places nobody asks for hold stand-ins.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped, UInt8
from torch import Tensor, nn

from mixcal.core.errors import BadInput
from mixcal.core.seeds import derive
from mixcal.data.mixed_store import MEMBERS
from mixcal.synthesis.blocks import Blocks
from mixcal.synthesis.denoiser import Denoiser, guided
from mixcal.synthesis.model import Generator
from mixcal.synthesis.noise import noise_levels
from mixcal.synthesis.sampler import STILL, Churn, sample

Columns = dict[str, Shaped[np.ndarray, "n ..."]]
"""A batch as Ray Data has them: columns by name, one row a set or a block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What decides the bytes of a store's sets, the generator aside."""

    sets: int
    seed: int = 0
    steps: int = 20
    guidance: float = 0.0
    churn: Churn = STILL
    sets_per_pass: int = 8
    members: int = MEMBERS

    def __post_init__(self) -> None:
        if self.sets < 1 or self.sets_per_pass < 1:
            raise BadInput("Sets, and sets a pass, must be at least 1.")
        if self.steps < 2:
            raise BadInput(f"A sampler needs at least 2 steps, not {self.steps}.")
        # Written so that NaN fails, too.
        if not 0 <= self.guidance < math.inf:
            raise BadInput(f"Guidance is {self.guidance}; it must be a finite number, 0 or more.")

    @property
    def blocks(self) -> Blocks:
        """The sets of each pass."""
        return Blocks(self.sets, self.sets_per_pass)

    def seed_of(self, index: int) -> int:
        """The seed of a set's noise."""
        return derive(self.seed, "set", index)

    def record(self) -> dict[str, Any]:
        """What a store's header says of it."""
        churn = {k: v for k, v in asdict(self.churn).items() if math.isfinite(v)}
        return {
            "seed": self.seed,
            "sampler_steps": self.steps,
            "guidance": self.guidance,
            "churn": churn if self.churn.amount else None,
            "sets_per_pass": self.sets_per_pass,
        }


def pair_of(index: int, classes: int) -> tuple[int, int]:
    """The classes c1 < c2 of a set: all pairs in lexicographic order, round and round."""
    place = index % (classes * (classes - 1) // 2)
    first = 0
    while place >= classes - 1 - first:
        place -= classes - 1 - first
        first += 1
    return first, first + 1 + place


def conditions(
    pairs: Sequence[tuple[int, int]], *, classes: int, members: int = MEMBERS
) -> Float[Tensor, "n m k"]:
    """The class distributions of every member of these pairs' sets."""
    one_hot = torch.eye(classes)
    first, second = (one_hot[[pair[end] for pair in pairs], None] for end in (0, 1))
    share = torch.linspace(0, 1, members)[:, None]
    return share * first + (1 - share) * second


def as_bytes(images: Float[Tensor, "n c h w"]) -> UInt8[np.ndarray, "n h w c"]:
    """Images in [−1, 1] as pictures have them."""
    raw = (images * 127.5 + 128).clip(0, 255).to(torch.uint8)
    return raw.permute(0, 2, 3, 1).cpu().numpy()


class Timed(nn.Module):
    """A network that knows how long it took, on a GPU by events among its work."""

    def __init__(self, network: nn.Module, device: torch.device) -> None:
        super().__init__()
        self.network = network
        self.on_gpu = device.type == "cuda"
        self.events: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []
        self.seconds = 0.0

    def forward(self, *inputs: Tensor) -> Tensor:
        if self.on_gpu:
            return self._between_events(*inputs)
        began = time.perf_counter()
        answer: Tensor = self.network(*inputs)
        self.seconds += time.perf_counter() - began
        return answer

    def _between_events(self, *inputs: Tensor) -> Tensor:
        # A GPU has hardly begun when asking it returns.
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        answer: Tensor = self.network(*inputs)
        last.record()
        self.events.append((first, last))
        return answer

    def settle(self) -> None:
        """Count what a GPU was asked, once it is done with it."""
        if self.events:
            self.events[-1][1].synchronize()
            self.seconds += sum(first.elapsed_time(last) for first, last in self.events) / 1000
            self.events.clear()


class SetMaker:
    """Makes blocks of sets: a batch with the column `block` to one with a row for every set."""

    def __init__(self, generator: Generator, plan: Plan, device: torch.device) -> None:
        self.description = generator.description
        if plan.guidance and not self.description.guidable:
            raise BadInput(
                f"Guidance is {plan.guidance}, but the generator never saw an image without its "
                "label; train one with method.label_dropout, or leave --guidance out."
            )
        if len(self.description.classes) < 2:
            raise BadInput("The generator knows one class; there is nothing between classes.")
        trained = generator.denoiser
        self.network = Timed(trained.network, device)
        self.denoise = guided(
            Denoiser(self.network, data_std=trained.data_std, autocast=trained.autocast),
            plan.guidance,
        )
        self.plan = plan
        self.device = device
        self.levels = noise_levels(plan.steps)
        self.seconds = 0.0

    def __call__(self, batch: Mapping[str, Any]) -> Columns:
        """Every set of these blocks."""
        blocks = [self.plan.blocks.range(int(number)) for number in batch["block"]]
        wanted = [int(index) for block in blocks for index in block]
        return {
            "set": np.array(wanted, dtype=np.int64),
            "images": np.concatenate([self.images(block) for block in blocks]),
            "seed": np.array([self.plan.seed_of(index) for index in wanted], dtype=np.int64),
            "pair": np.array([self.pair(index) for index in wanted], dtype=np.int32),
        }

    def pair(self, index: int) -> tuple[int, int]:
        """The classes of a set."""
        return pair_of(index, len(self.description.classes))

    def images(self, wanted: Sequence[int]) -> UInt8[np.ndarray, "n m h w c"]:
        """The images of some sets of one block."""
        began = time.perf_counter()
        plan, (height, width, channels) = self.plan, self.description.shape
        start = wanted[0] // plan.sets_per_pass * plan.sets_per_pass
        # Each at its own place; the others' are taken by the first one wanted.
        there = [
            index if index in wanted else wanted[0]
            for index in range(start, start + plan.sets_per_pass)
        ]
        # On the CPU, then moved: the same numbers on every device.
        generators = [torch.Generator().manual_seed(plan.seed_of(index)) for index in there]

        def draw() -> Float[Tensor, "n c h w"]:
            one = [torch.randn(1, channels, height, width, generator=g) for g in generators]
            return torch.cat(one).repeat_interleave(plan.members, dim=0).to(self.device)

        targets = conditions(
            [self.pair(index) for index in there],
            classes=len(self.description.classes),
            members=plan.members,
        )
        made = sample(
            self.denoise,
            draw(),
            targets.flatten(0, 1).to(self.device),
            self.levels,
            churn=plan.churn,
            draw=draw,
        )
        if not torch.isfinite(made).all():
            raise BadInput(
                f"The images of sets {wanted[0]} to {wanted[-1]} are not finite numbers: the "
                "generator's weights are damaged or its precision is too small; try --precision "
                "float32, or an earlier generator."
            )
        images = as_bytes(made).reshape(-1, plan.members, height, width, channels)
        # Nothing to wait for: the images are here.
        self.network.settle()
        self.seconds += time.perf_counter() - began
        return images[np.array([index - start for index in wanted])]
