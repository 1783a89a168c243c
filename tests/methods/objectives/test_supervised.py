"""The supervised step against plain cross-entropy."""

import pytest
import torch.nn.functional as F

from mixcal.core.protocols import Calibrator
from mixcal.methods.objectives.supervised import Supervised
from tests.support.toy import toy_batch, toy_clock, toy_network


def test_equals_cross_entropy() -> None:
    batch = toy_batch()
    outcome = Supervised(Calibrator())(toy_network(), batch, toy_clock())
    logits = toy_network()(batch.labeled.inputs).logits
    expected = F.cross_entropy(logits, batch.labeled.targets.argmax(1))
    assert outcome.total().item() == pytest.approx(expected.item(), abs=1e-6)
    error = (logits.argmax(1) != batch.labeled.targets.argmax(1)).float().mean()
    assert outcome.readings["labeled_error"].item() == pytest.approx(error.item())
