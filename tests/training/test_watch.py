"""The watch for losses that are not finite: it names the first step and the loss."""

import pytest
import torch

from mixcal.training.watch import FiniteWatch, NonFinite


def test_the_first_bad_step_is_named_however_late_somebody_asks() -> None:
    watch = FiniteWatch()
    for step in range(10):
        bad = float("nan") if step >= 4 else 1.0
        watch.look({"labeled": torch.tensor(1.0), "mixed": torch.tensor(bad)}, step)
    with pytest.raises(NonFinite, match="'mixed' was not finite at step 4"):
        watch.check()


def test_finite_losses_pass() -> None:
    watch = FiniteWatch()
    watch.look({"labeled": torch.tensor(1e30)}, 0)
    watch.check()
