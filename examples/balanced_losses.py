"""Which loss is fair to two soft labels that a network cannot tell apart? A demonstration.

Two mixed images, one almost all of a class (q₁ = 0.9), one less so (q₂ = 0.6), look so alike that
the network's answers lie no further apart than ‖p₁ − p₂‖² ≤ δ. Where do the best answers end up?

    β = ‖p₁ − q₁‖² − ‖p₂ − q₂‖²,   p₁ = p₂ + ε,   ε = √(δ / 2)

β < 0: the sharp label is served better; β > 0: the soft one; β = 0: both alike (Luo et al., ICML
2025; arXiv:2504.13548v2, Propositions 3.2 to 3.4):

- cross-entropy leans to the sharp label, β < 0, for 0 < ε < q₁ − q₂. At ε = 0 both answers are the
  mean of the labels and β = 0: there the paper's strict sign does not hold;
- focal loss leans to the soft label, β > 0, at ε = 0 too. Its best answer to one label q = 0.8
  alone is p = 0.686: it is not strictly proper;
- the squared distance, L2, is fair: β = 0 for every ε.

From ε = q₁ − q₂ on nothing binds: cross-entropy and L2 answer with the labels themselves.

Run it: python examples/balanced_losses.py
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from mixcal import losses

Loss = Callable[[Tensor, Tensor], Tensor]

SHARP, SOFT = 0.9, 0.6
LOSSES: dict[str, Loss] = {
    "cross-entropy": losses.cross_entropy,
    "focal, gamma 1": partial(losses.focal, gamma=1.0),
    "L2": losses.brier,
}
EDGE = 1e-9


def two(share: Tensor) -> Tensor:
    """(p, 1 − p) of each p."""
    return torch.stack([share, 1 - share], dim=-1)


def slope(loss: Loss, answers: Tensor, labels: Tensor) -> float:
    """How the loss of these answers changes when all of them rise together."""
    rise = torch.zeros((), dtype=torch.float64, requires_grad=True)
    logits = two(answers + rise).log()
    loss(logits, two(labels)).sum().backward()
    assert rise.grad is not None
    return rise.grad.item()


def best_answers(loss: Loss, labels: Tensor, apart: Tensor) -> Tensor:
    """The answers p + apart of least loss: where the slope changes its sign, by bisection."""
    low, high = EDGE, 1 - float(apart.max()) - EDGE
    for _ in range(80):
        middle = (low + high) / 2
        if slope(loss, middle + apart, labels) < 0:
            low = middle
        else:
            high = middle
    return middle + apart


def best_pair(loss: Loss, epsilon: float) -> tuple[float, float, float]:
    """p₁, p₂ and β for the two labels at this distance."""
    labels = torch.tensor([SHARP, SOFT], dtype=torch.float64)
    apart = torch.tensor([epsilon, 0.0], dtype=torch.float64)
    sharp, soft = best_answers(loss, labels, apart).tolist()
    return sharp, soft, 2 * (sharp - SHARP) ** 2 - 2 * (soft - SOFT) ** 2


def best_single(loss: Loss, label: float) -> float:
    """The best answer to one label alone."""
    one = torch.tensor([label], dtype=torch.float64)
    return best_answers(loss, one, torch.zeros(1, dtype=torch.float64)).item()


def main() -> None:
    """The table."""
    print(f"{'loss':<16}{'epsilon':>8}{'p1':>10}{'p2':>10}{'beta':>12}")
    for name, loss in LOSSES.items():
        for epsilon in (0.0, 0.05, 0.1, SHARP - SOFT):
            sharp, soft, beta = best_pair(loss, epsilon)
            # A zero of either sign is a zero.
            beta = beta if abs(beta) > 1e-12 else 0.0
            print(f"{name:<16}{epsilon:>8.2f}{sharp:>10.6f}{soft:>10.6f}{beta:>12.6f}")
    for name, loss in LOSSES.items():
        print(f"best answer of {name} to q = 0.8 alone: {best_single(loss, 0.8):.6f}")


if __name__ == "__main__":
    main()
