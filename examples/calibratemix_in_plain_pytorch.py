"""CalibrateMix in a FixMatch loop that is not mixcal's: the lines marked (1) to (4) are it all.

    python examples/calibratemix_in_plain_pytorch.py

Handwritten digits, 4 labels a class, seconds on a laptop CPU.
"""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

from mixcal.methods.dynamics.ledger import MarginLedger
from mixcal.methods.dynamics.margins import label_margins
from mixcal.methods.mixing.calibrate_mix import CalibrateMix

STEPS, CLASSES = 150, 10
torch.manual_seed(0)
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
truth = torch.tensor(digits.target)
labeled = torch.cat([(truth[:1400] == c).nonzero()[:4, 0] for c in range(CLASSES)])
x_labeled, y_labeled, x_unlabeled = images[labeled], truth[labeled], images[:1400]

network = nn.Sequential(
    nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.Flatten(),
    nn.Linear(64 * 16, CLASSES),
)  # fmt: skip
optimizer = torch.optim.SGD(network.parameters(), lr=0.03, momentum=0.9, nesterov=True)


def shifted(x: torch.Tensor) -> torch.Tensor:
    """A weak view: one random shift of at most a pixel."""
    return torch.roll(x, tuple(torch.randint(-1, 2, (2,)).tolist()), dims=(2, 3))


def noisy(x: torch.Tensor) -> torch.Tensor:
    """A strong view: shift, noise, a square cut out."""
    x = shifted(x) + 0.2 * torch.randn_like(x)
    top, left = torch.randint(0, 6, (2,)).tolist()
    x[:, :, top : top + 3, left : left + 3] = 0
    return x


# (1) What is remembered of every sample, and how rows are mixed once the warm-up is over.
mix = CalibrateMix(
    classes=CLASSES, labeled=len(x_labeled), unlabeled=len(x_unlabeled), warmup_steps=STEPS // 10
)
generator = torch.Generator().manual_seed(0)
# A ledger also works alone; this one keeps the margins of the strong views' pseudo-labels.
strong_margins = MarginLedger(len(x_unlabeled))

for step in range(STEPS):
    i, u = torch.randint(len(x_labeled), (32,)), torch.randint(len(x_unlabeled), (128,))
    x, y = shifted(x_labeled[i]), y_labeled[i]
    weak, strong = shifted(x_unlabeled[u]), noisy(x_unlabeled[u])
    logits, logits_weak, logits_strong = network(torch.cat([x, weak, strong])).split([32, 128, 128])
    confidence, pseudo = logits_weak.detach().softmax(1).max(1)
    loss = F.cross_entropy(logits, y)
    unlabeled_losses = F.cross_entropy(logits_strong, pseudo, reduction="none")
    loss = loss + (unlabeled_losses * (confidence >= 0.95)).mean()
    strong_margins.update(label_margins(logits_strong.detach(), pseudo)[:, None], u)
    # (2) Remember this step's margins; mixed rows, or None during the warm-up.
    mixed = mix.step(
        step,
        labeled=(x, F.one_hot(y, CLASSES).float(), i, logits),
        unlabeled=(weak, u, logits_weak),
        generator=generator,
    )
    # (3) One more pass and one more loss.
    if mixed is not None:
        losses = F.cross_entropy(network(mixed.inputs), mixed.targets, reduction="none")
        loss = loss + (losses * mixed.weights).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# (4) The margins say which labels to look at first. `mix.state_dict()` belongs in checkpoints.
margins = mix.labeled_ledger.read(torch.arange(len(x_labeled)))
print("hardest labeled digits:", labeled[margins.argsort()[:5]].tolist())
shaky = strong_margins.read(torch.arange(len(x_unlabeled))).argsort()[:5]
print("pseudo-labels least stable under strong views:", shaky.tolist())
network.eval()
with torch.no_grad():
    error = (network(images[1400:]).argmax(1) != truth[1400:]).float().mean().item()
print(f"test error {100 * error:.1f} %")
