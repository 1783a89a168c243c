"""FlexMatch against a loop that recounts everything, with duplicates in the batch."""

import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.core.facts import DataFacts
from mixcal.methods.algorithms.flexmatch import flexmatch

CLASSES, SAMPLES = 4, 30


def facts() -> DataFacts:
    return DataFacts(classes=CLASSES, class_counts=(1,) * 4, labeled=4, unlabeled=SAMPLES)


class ByTheBook:
    """Thresholds from a full recount after each step; the later of two equal rows wins."""

    def __init__(self, warmup: bool) -> None:
        self.warmup = warmup
        self.selected = [-1] * SAMPLES
        self.beta = [0.0] * CLASSES

    def mask(self, probs: list[list[float]], index: list[int]) -> list[float]:
        kept = []
        for row in probs:
            label = row.index(max(row))
            beta = self.beta[label]
            kept.append(float(max(row) >= 0.95 * beta / (2 - beta)))
        for row, place in zip(probs, index, strict=True):
            if max(row) >= 0.95:
                self.selected[place] = row.index(max(row))
        counts = [self.selected.count(label) for label in range(CLASSES)]
        most = max([*counts, self.selected.count(-1)] if self.warmup else counts)
        if sum(counts):
            self.beta = [count / most for count in counts]
        return kept


@pytest.mark.parametrize("warmup", [True, False])
def test_equals_a_recount_over_many_steps(warmup: bool) -> None:
    algorithm, book = flexmatch(facts(), threshold_warmup=warmup), ByTheBook(warmup)
    for _ in range(60):
        logits = torch.randn(25, CLASSES) * 4 + torch.tensor([2.0, 0, 0, -1])
        index = torch.randint(SAMPLES, (25,))
        ours = algorithm.weigh(logits, index).tolist()
        assert ours == book.mask(logits.softmax(1).tolist(), index.tolist())
        assert algorithm.weigh.last.tolist() == book.selected
        assert algorithm.weigh.counts.tolist()[:-1] == [
            book.selected.count(label) for label in range(CLASSES)
        ]
    assert 0 < sum(book.selected.count(label) for label in range(CLASSES)) <= SAMPLES


def test_everything_passes_at_the_first_step() -> None:
    weights = flexmatch(facts()).weigh(torch.randn(10, CLASSES), torch.arange(10))
    assert weights.tolist() == [1.0] * 10


def test_by_hand() -> None:
    algorithm = flexmatch(facts(), threshold_warmup=False)
    algorithm.weigh.counts.copy_(torch.tensor([20, 10, 0, 0, 0]))
    # β = 1, ½, 0, 0 gives thresholds 0.95, 0.316667, 0, 0.
    thresholds = 0.95 * algorithm.weigh._share()
    assert thresholds.tolist() == pytest.approx([0.95, 0.316667, 0, 0], abs=1e-6)
    linear = flexmatch(facts(), threshold_warmup=False, mapping="linear")
    linear.weigh.counts.copy_(torch.tensor([20, 10, 0, 0, 0]))
    assert linear.weigh._share().tolist() == [1, 0.5, 0, 0]


@pytest.mark.parametrize("cap", [-1.0, 2.0, float("nan")])
def test_a_cap_that_is_no_share_is_refused(cap: float) -> None:
    with pytest.raises(BadInput, match=r"threshold_cap is .* from 0 to 1"):
        flexmatch(facts(), threshold_cap=cap)
