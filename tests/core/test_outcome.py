"""Outcomes by hand: they add, total once, and refuse two losses of one name."""

import pytest
import torch

from mixcal.core.outcome import Outcome


def test_outcomes_add_and_total() -> None:
    one = Outcome({"labeled": torch.tensor(1.5)}, {"error": torch.tensor(0.1)})
    two = Outcome({"mixed": torch.tensor(0.25)})
    assert (one + two).total().item() == 1.75
    assert set((one + two).readings) == {"error"}


def test_a_loss_must_not_vanish_behind_another() -> None:
    one = Outcome({"labeled": torch.tensor(1.0)})
    with pytest.raises(ValueError, match="labeled"):
        one + one
