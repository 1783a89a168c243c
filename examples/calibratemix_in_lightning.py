"""CalibrateMix in a LightningModule without a callback: a submodule and four lines of the step.

    pip install lightning
    python examples/calibratemix_in_lightning.py

As a submodule its margins move to the module's device and are part of Lightning's checkpoints.
"""

import lightning
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, RandomSampler

from mixcal.methods.mixing.calibrate_mix import CalibrateMix

CLASSES, STEPS = 10, 60


class Indexed(Dataset[tuple[int, Tensor, Tensor]]):
    """Samples that say which they are: margins are remembered by this number."""

    def __init__(self, images: Tensor, labels: Tensor) -> None:
        self.images, self.labels = images, labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[int, Tensor, Tensor]:
        return index, self.images[index], self.labels[index]


class FixMatchWithCalibrateMix(lightning.LightningModule):
    """Someone's FixMatch; everything CalibrateMix needs is in `__init__` and `training_step`."""

    def __init__(self, labeled: int, unlabeled: int) -> None:
        super().__init__()
        self.network = nn.Sequential(
            nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, CLASSES)
        )
        self.mix = CalibrateMix(
            classes=CLASSES, labeled=labeled, unlabeled=unlabeled, warmup_steps=STEPS // 10
        )

    def training_step(self, batch: dict[str, tuple[Tensor, Tensor, Tensor]], number: int) -> Tensor:
        i, x, y = batch["labeled"]
        u, weak, _ = batch["unlabeled"]
        strong = weak + 0.2 * torch.randn_like(weak)
        logits, logits_weak, logits_strong = self.network(torch.cat([x, weak, strong])).split(
            [len(x), len(weak), len(strong)]
        )
        confidence, pseudo = logits_weak.detach().softmax(1).max(1)
        losses = F.cross_entropy(logits_strong, pseudo, reduction="none")
        loss = F.cross_entropy(logits, y) + (losses * (confidence >= 0.95)).mean()
        targets = F.one_hot(y, CLASSES).float()
        mixed = self.mix.step(
            self.global_step,
            labeled=(x, targets, i, logits),
            unlabeled=(weak, u, logits_weak),
            # From the step: a resumed run draws what an unbroken one draws.
            generator=torch.Generator().manual_seed(self.global_step),
        )
        if mixed is not None:
            extra = F.cross_entropy(self.network(mixed.inputs), mixed.targets, reduction="none")
            loss = loss + (extra * mixed.weights).mean()
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.network.parameters(), lr=0.1, momentum=0.9)


def endless(data: Dataset[tuple[int, Tensor, Tensor]], batch: int) -> DataLoader:
    """Batches with replacement, as many as there are steps."""
    draws = RandomSampler(data, replacement=True, num_samples=batch * STEPS)  # type: ignore[arg-type]
    return DataLoader(data, batch_size=batch, sampler=draws)


def main() -> None:
    lightning.seed_everything(0, verbose=False)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    truth = torch.tensor(digits.target)
    known = torch.cat([(truth[:1400] == c).nonzero()[:4, 0] for c in range(CLASSES)])
    labeled, unlabeled = Indexed(images[known], truth[known]), Indexed(images[:1400], truth[:1400])
    module = FixMatchWithCalibrateMix(len(labeled), len(unlabeled))
    trainer = lightning.Trainer(
        max_steps=STEPS,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    loaders = {"labeled": endless(labeled, 32), "unlabeled": endless(unlabeled, 128)}
    trainer.fit(module, loaders)
    visits = module.mix.labeled_ledger.summary()[2]
    print("visits of labeled digits:", int(visits.sum()))
    with torch.no_grad():
        error = (module.network(images[1400:]).argmax(1) != truth[1400:]).float().mean().item()
    print(f"test error {100 * error:.1f} %")


if __name__ == "__main__":
    main()
