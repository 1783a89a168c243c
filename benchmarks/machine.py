"""The parts of mixcal that the step benchmark drives: steps as functions without arguments."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from mixcal.backbones.wide_resnet import wide_resnet
from mixcal.core.clock import Clock
from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Calibrator
from mixcal.core.rows import Batch, Rows, Views
from mixcal.data.loading import Loader, Part, one_hot
from mixcal.data.options import ViewOptions
from mixcal.data.pool import MemoryPool
from mixcal.data.preprocessing import Preprocessing
from mixcal.data.sampling import IndexStream
from mixcal.data.views.view import image_views
from mixcal.methods.algorithms.fixmatch import fixmatch
from mixcal.methods.objectives.semi_supervised import SemiSupervised
from mixcal.training.averaging import Average
from mixcal.training.log import Means
from mixcal.training.memory import keep_freed_memory
from mixcal.training.optimizers import make_optimizer, set_learning_rate
from mixcal.training.options import OptimizerOptions
from mixcal.training.watch import FiniteWatch

CLASSES, POOL, LABELED = 10, 5000, 40


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to run the step."""

    weak_branch: str
    precision: str
    channels_last: bool = True

    def __str__(self) -> str:
        return f"{self.weak_branch}_{self.precision}"

    @property
    def memory_format(self) -> torch.memory_format:
        """How images and weights lie in memory."""
        return torch.channels_last if self.channels_last else torch.contiguous_format

    @property
    def autocast(self) -> torch.dtype | None:
        """The dtype inside the network, if not float32."""
        return torch.bfloat16 if self.precision == "bf16" else None


def facts() -> DataFacts:
    """Data like CIFAR-10 with 40 labels."""
    return DataFacts(
        classes=CLASSES,
        class_counts=(LABELED // CLASSES,) * CLASSES,
        labeled=LABELED,
        unlabeled=POOL,
        steps=1 << 20,
    )


def smooth_images(n: int, seed: int = 0) -> Tensor:
    """Uint8 images with some structure, so that operations meet more than white noise."""
    coarse = torch.rand(n, 3, 8, 8, generator=torch.Generator().manual_seed(seed))
    fine = nn.functional.interpolate(coarse, size=32, mode="bicubic")
    return (fine.clamp(0, 1) * 255).round().to(torch.uint8)


def fresh_network(variant: Variant) -> nn.Module:
    """WRN-28-2 in training mode."""
    network = wide_resnet(CLASSES)
    network.to(memory_format=variant.memory_format)  # type: ignore[call-overload]
    return network.train()


def stepper(
    variant: Variant, calibrator: Calibrator, batches: Callable[[int], Batch]
) -> Callable[[], None]:
    """Everything the training loop does in a step, on the batches given."""
    keep_freed_memory()
    network = fresh_network(variant)
    algorithm = fixmatch(facts())
    objective = SemiSupervised(
        algorithm,
        calibrator,
        weak_branch=variant.weak_branch,  # type: ignore[arg-type]
        autocast=variant.autocast,
    )
    optimizer = make_optimizer(OptimizerOptions(), network)
    average, watch, means = Average(network, 0.999), FiniteWatch(), Means()
    done = [0]

    def step() -> None:
        clock = Clock.at(done[0], seed=0, steps=1 << 20, epoch_steps=1024)
        set_learning_rate(optimizer, 0.03)
        outcome = objective(network, batches(done[0]), clock)
        outcome.total().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        average.update()
        watch.look(outcome.losses, done[0])
        means.add({**outcome.losses, **outcome.readings})
        done[0] += 1

    return step


def loader_of(batch: int, ratio: int) -> Loader:
    """From raw images in memory."""
    labels = np.arange(POOL) % CLASSES
    pool = MemoryPool(smooth_images(POOL), labels, np.arange(POOL))
    preprocessing = Preprocessing(
        size=(32, 32), stored=(32, 32), mean=(0.49, 0.48, 0.45), std=(0.25, 0.24, 0.26)
    )
    views = image_views(ViewOptions(), preprocessing, flips=True)

    def part(name: str, members: np.ndarray, rows: int) -> Part:
        stream = IndexStream(len(members), rows, 0, name)
        return Part(
            name=name,
            pool=pool,
            members=members,
            labels=labels[members],
            stream=stream,
            view=views.weak,
        )

    return Loader(
        labeled=part("labeled", np.arange(LABELED), batch),
        weak=part("weak", np.arange(POOL), batch * ratio),
        strong_view=views.strong,
        classes=CLASSES,
        seed=0,
        device=torch.device("cpu"),
    )


def whole_step(
    variant: Variant, batch: int, ratio: int, calibrator: Calibrator | None = None
) -> Callable[[], None]:
    """A step from raw images to averaged weights."""
    loader = loader_of(batch, ratio)
    return stepper(variant, calibrator or Calibrator(), loader.batch)


def batch_of(
    batch: int, ratio: int, memory_format: torch.memory_format = torch.channels_last
) -> Batch:
    """Rows that lie ready in memory."""
    generator = torch.Generator().manual_seed(0)

    def rows(n: int, part: str, known: bool) -> Rows:
        labels = np.arange(n) % CLASSES if known else np.full(n, -1)
        images = torch.randn(n, 3, 32, 32, generator=generator)
        return Rows(
            inputs=images.contiguous(memory_format=memory_format),
            targets=one_hot(labels, CLASSES),
            index=torch.arange(n) % (LABELED if known else POOL),
            part=part,
        )

    unlabeled = batch * ratio
    views = Views(
        weak=rows(unlabeled, "weak", False),
        strong=rows(unlabeled, "strong", False),
        hidden_labels=torch.full((unlabeled,), -1),
    )
    return Batch(labeled=rows(batch, "labeled", True), unlabeled=views)


def in_memory_step(
    variant: Variant, batch: Batch, calibrator: Calibrator | None = None
) -> Callable[[], None]:
    """A step on rows that lie ready: the part after any data loader."""
    return stepper(variant, calibrator or Calibrator(), lambda step: batch)


def network_step(variant: Variant, batch: int, ratio: int) -> Callable[[], None]:
    """Only the network's passes of such a step, forward and backward."""
    network = fresh_network(variant)
    rows = batch_of(batch, ratio)
    assert rows.unlabeled is not None
    weak, strong = rows.unlabeled.weak.inputs, rows.unlabeled.strong.inputs
    together = torch.cat([rows.labeled.inputs, strong])
    if variant.weak_branch == "joint":
        together = torch.cat([together, weak])

    def passes() -> None:
        enabled = variant.autocast is not None
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            if variant.weak_branch == "separate":
                with torch.no_grad():
                    network(weak)
            logits = network(together).logits
        logits.float().square().mean().backward()
        network.zero_grad(set_to_none=True)

    return passes
