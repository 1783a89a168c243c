"""The kinds of tables against each other, where batches repeat samples and where they do not."""

from pathlib import Path

import pytest
import torch

from mixcal.core.facts import DataFacts
from mixcal.methods.dynamics.ledger import MarginLedger

SAMPLES, CLASSES = 12, 3


@pytest.mark.parametrize("precision", ["float32", "half"])
def test_the_shorter_way_without_repeats_changes_nothing(precision: str, tmp_path: Path) -> None:
    facts = DataFacts(classes=CLASSES, class_counts=(1,) * CLASSES, labeled=5, scratch=tmp_path)
    ledgers = [
        MarginLedger(SAMPLES, CLASSES, store=store, precision=precision, facts=facts)
        for store in ("device", "host", "mapped")
    ]
    for turn in range(10):
        index = torch.randint(SAMPLES, (8,)) if turn % 2 else torch.randperm(SAMPLES)[:8]
        margins = torch.randn(8, CLASSES)
        for ledger in ledgers:
            ledger.update(margins, index)
    first, *others = [ledger.summary() for ledger in ledgers]
    for other in others:
        assert all(torch.equal(one, two) for one, two in zip(first, other, strict=True))
