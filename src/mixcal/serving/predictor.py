"""A predictor: pictures to probabilities, as the run that trained the network judged them."""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import torch
from jaxtyping import Float, Shaped, UInt8
from torch import Tensor, nn

from mixcal.backbones.foreign import as_backbone
from mixcal.core.errors import BadInput
from mixcal.core.predictions import as_logits, softmax
from mixcal.data.archives import FolderStore
from mixcal.data.folder_pool import FolderPool
from mixcal.data.pool import UNLABELED, MemoryPool
from mixcal.data.preprocessing import Preprocessing
from mixcal.judging.rescaling.registry import Rescaler, transformed
from mixcal.predicting.single_pass import SINGLE_PASS
from mixcal.predicting.way import Way
from mixcal.recipe_check import checked
from mixcal.serving.bundle import Bundle

# Whose factories a bundle may name without being trusted further.
OURS = "mixcal.backbones."


@dataclass(frozen=True, slots=True)
class Prediction:
    """The answer for one picture file; `error` says why there is none.

    `members`: the probabilities that were averaged, where there are several.
    """

    path: str
    probs: Float[np.ndarray, " k"] | None
    error: str = ""
    members: Float[np.ndarray, "m k"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictor:
    """A network in evaluation mode with its preprocessing and, where there is one, its rescaler."""

    network: nn.Module
    classes: tuple[str, ...]
    preprocessing: Preprocessing
    rescaler: Rescaler | None
    batch: int = 512
    way: Way = SINGLE_PASS

    @classmethod
    def load(
        cls,
        path: Path | str,
        *,
        device: str = "cpu",
        trusted: Sequence[str] = (),
        way: Way = SINGLE_PASS,
    ) -> "Predictor":
        """From a bundle that `mixcal export` wrote.

        `trusted` names packages outside mixcal whose code may build the network.
        """
        return cls.of(Bundle.load(Path(path)), device=device, trusted=trusted, way=way)

    @classmethod
    def of(
        cls,
        bundle: Bundle,
        *,
        device: str = "cpu",
        trusted: Sequence[str] = (),
        way: Way = SINGLE_PASS,
    ) -> "Predictor":
        """From a bundle in memory."""
        network = built_network(bundle, trusted=trusted)
        try:
            network.load_state_dict(dict(bundle.tensors))
        except RuntimeError as error:
            first = str(error).splitlines()[-1].strip()
            raise BadInput(f"The weights do not fit {bundle.factory} ({first}).") from None
        network.eval().requires_grad_(False)
        network.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stub lacks it
        return cls(
            network=network,
            classes=bundle.classes,
            preprocessing=bundle.preprocessing,
            rescaler=bundle.rescaler,
            way=way,
        )

    def __call__(self, images: Shaped[np.ndarray, "n h w *c"]) -> Float[np.ndarray, "n k"]:
        """Probabilities for images as arrays: uint8, gray (n, h, w) or (n, h, w, channels)."""
        stored, channels = self.preprocessing.stored, self.preprocessing.channels
        wanted = (*stored, channels)
        found = images.shape[1:] if images.ndim == 4 else (*images.shape[1:], 1)
        if images.dtype != np.uint8 or images.ndim not in (3, 4) or found != wanted:
            raise BadInput(
                f"The images are {images.dtype} of shape {images.shape}; this model takes uint8 of "
                f"(n, {stored[0]}, {stored[1]}, {channels})."
            )
        pool = MemoryPool.of_images(images, np.full(len(images), UNLABELED))
        parts = [
            self.answered(pool.take(np.arange(start, min(start + self.batch, len(images)))))[0]
            for start in range(0, len(images), self.batch)
        ]
        return np.concatenate(parts) if parts else np.empty((0, len(self.classes)), np.float32)

    def files(self, paths: Sequence[Path], *, workers: int = 4) -> Iterator[Prediction]:
        """Answers for picture files, in their order; decoded ahead, memory bounded by two batches.

        A picture that cannot be read has an answer that says why.
        """
        names = np.array([str(Path(path).absolute()) for path in paths], dtype=str)
        shape = (self.preprocessing.channels, *self.preprocessing.stored)
        with ThreadPoolExecutor(workers) as threads:
            pool = FolderPool(
                store=FolderStore(Path("/")),
                ids=names,
                labels=np.full(len(names), UNLABELED),
                shape=shape,
                workers=threads,
                most_kept=2 * self.batch,
            )
            for start in range(0, len(names), self.batch):
                here = np.arange(start, min(start + self.batch, len(names)))
                raw, failures = pool.decode(here)
                pool.prefetch(np.arange(here[-1] + 1, min(here[-1] + 1 + self.batch, len(names))))
                probs, members = self.answered(raw)
                for row, position in enumerate(here.tolist()):
                    path = str(paths[position])
                    if why := failures.get(position, ""):
                        yield Prediction(path, None, why)
                    else:
                        shares = None if members is None else members[:, row]
                        yield Prediction(path, probs[row], members=shares)

    @torch.no_grad()
    def answered(
        self, raw: UInt8[Tensor, "n c h w"]
    ) -> tuple[Float[np.ndarray, "n k"], Float[np.ndarray, "m n k"] | None]:
        """Probabilities of one batch of raw pictures of the stored size, and what was averaged."""
        raw = raw.to(next(self.network.parameters()).device)
        answer = self.way(self.network, raw, self.seen)
        members = None if answer.members is None else answer.members.cpu().numpy()
        scores, kind = answer.scores.cpu().numpy(), self.way.kind
        if self.rescaler is None:
            return (softmax(scores) if kind == "logits" else scores), members
        features = answer.features.cpu().numpy()
        return transformed(self.rescaler, as_logits(scores, kind), features=features), members

    def seen(self, raw: UInt8[Tensor, "n c h w"]) -> Float[Tensor, "n c a b"]:
        """What the network takes."""
        return self.preprocessing.normalized(self.preprocessing.centered(raw))


def built_network(bundle: Bundle, *, trusted: Sequence[str] = ()) -> nn.Module:
    """The network of a bundle, its weights still to come."""
    module, _, name = bundle.factory.partition(":")
    if not module.startswith(OURS) and module.split(".")[0] not in trusted:
        raise BadInput(
            f"The network is built by {bundle.factory}, which is not part of mixcal; if you trust "
            f"that code, say so with --trust {module.split('.')[0]}."
        )
    try:
        factory = vars(importlib.import_module(module))[name]
    except (ImportError, KeyError) as error:
        raise BadInput(f"{bundle.factory} cannot be imported ({error}).") from None
    made = factory(len(bundle.classes), **_checked(factory, bundle.knobs, bundle.factory))
    return as_backbone(made, len(bundle.classes), channels=bundle.preprocessing.channels)


def _checked(factory: Any, knobs: Mapping[str, Any], where: str) -> dict[str, Any]:
    """JSON's values as the factory's annotations want them."""
    hints = get_type_hints(factory)
    return {
        key: checked(hints.get(key, Any), value, where=where, path=key)
        for key, value in knobs.items()
    }
