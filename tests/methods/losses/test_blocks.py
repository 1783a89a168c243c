"""Losses taken block by block against the same rows taken one by one, and against autograd."""

import pytest
import torch

from mixcal import losses
from mixcal.methods.losses.blocks import BLOCK_NUMBERS, in_blocks, log_probs_and_probs
from mixcal.methods.losses.modulated import power

K = 1000
ROWS = BLOCK_NUMBERS // K * 2 + 7
IN_BLOCKS = ("focal", "focal_sample_dependent", "dual_focal", "inverse_focal", "focal_calibration")


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("name", IN_BLOCKS)
def test_blocks_are_rows_side_by_side(name: str, soft: bool) -> None:
    logits = torch.randn(ROWS, K, requires_grad=True)
    targets = torch.randn(ROWS, K).softmax(1) if soft else torch.randint(K, (ROWS,))
    values = getattr(losses, name)(logits, targets)
    weights = torch.rand(ROWS)
    (weights * values).sum().backward()
    for row in (0, BLOCK_NUMBERS // K, ROWS - 1):
        alone = logits.detach()[row : row + 1].requires_grad_()
        value = getattr(losses, name)(alone, targets[row : row + 1])
        (weights[row] * value).sum().backward()
        assert values[row].item() == pytest.approx(value.item(), rel=1e-5)
        assert torch.allclose(logits.grad[row], alone.grad[0], rtol=1e-4, atol=1e-8)


def test_only_logits_that_need_it_get_a_slope() -> None:
    first, second = torch.randn(4, 3, requires_grad=True), torch.randn(4, 3)

    def product(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> tuple:
        return (a * b).sum(1) * c, (b * c[:, None], a * c[:, None])

    weights = torch.rand(4)
    in_blocks(product, first, second, beside=(weights,)).sum().backward()
    assert torch.allclose(first.grad, second * weights[:, None])
    assert second.grad is None


def test_log_probabilities_as_torch_has_them() -> None:
    logits = 50 * torch.randn(20, 9, dtype=torch.float64)
    logs, probs = log_probs_and_probs(logits)
    assert torch.allclose(logs, logits.log_softmax(1), atol=1e-12)
    assert torch.allclose(probs, logits.softmax(1), atol=1e-12)


@pytest.mark.parametrize("exponent", [0, 0.5, 1, 2, 3, 4, 5, 7, 13, 16, 17, -1])
def test_powers(exponent: float) -> None:
    base = torch.rand(50, dtype=torch.float64) + 0.1
    assert torch.allclose(power(base, exponent), base**exponent, rtol=1e-12)
