"""The watch over training accuracy against its bound worked out by hand."""

import pytest
import torch

from mixcal.core.clock import Clock
from mixcal.methods.dynamics.chance import ChanceWatch, Guessing, GuessingWarning, PriorClassifier
from tests.support.toy import toy_facts


def after_one_epoch(right: int, rows: int, **facts) -> int:
    watch = ChanceWatch(toy_facts(**facts), epochs=1, remedy="do something")
    for step in range(11):
        known = (torch.arange(rows) < right).float()
        watch.take(
            known, torch.full((rows,), 0.25), Clock.at(step, seed=0, steps=100, epoch_steps=10)
        )
    return int(watch.stuck)


@pytest.mark.parametrize(
    # 100 rows an epoch, π = 1/4: the bound is 0.25 + 2 √(0.1875 / 100) = 0.3366.
    ("right", "stuck"),
    [(2, 1), (3, 1), (4, 0)],
)
def test_two_deviations_above_guessing(right: int, stuck: int) -> None:
    assert after_one_epoch(right, 10) == stuck


def test_guessing_is_naming_the_largest_class() -> None:
    # 70 of 100: 0.7 + 2 √(0.21 / 100) = 0.7917.
    sizes = {"class_counts": (70, 10, 10, 10)}
    assert after_one_epoch(7, 10, **sizes) == 1
    assert after_one_epoch(8, 10, **sizes) == 0


def test_balanced_batches_make_guessing_harder() -> None:
    # 25 of 100 of each of four classes, whatever the pool has.
    sizes = {"class_counts": (70, 10, 10, 10), "order": "balanced"}
    assert after_one_epoch(3, 10, **sizes) == 1
    assert after_one_epoch(4, 10, **sizes) == 0


def test_a_sure_network_at_chance_is_no_prior_classifier() -> None:
    watch = ChanceWatch(toy_facts(), epochs=2, remedy="do something")
    for step in range(21):
        clock = Clock.at(step, seed=0, steps=100, epoch_steps=10)
        watch.take(torch.zeros(4), torch.full((4,), 0.8), clock)
    sentence = r"for 2 epochs, at a mean confidence of 80.0%: the network does not learn"
    with pytest.warns(GuessingWarning, match=sentence):
        watch.check(stop=False)
    with pytest.raises(Guessing, match=sentence):
        watch.check(stop=True)


def test_memory_goes_with_a_checkpoint() -> None:
    watch = ChanceWatch(toy_facts(), epochs=2, remedy="do something")
    for step in range(21):
        watch.take(
            torch.zeros(4),
            torch.full((4,), 0.25),
            Clock.at(step, seed=0, steps=100, epoch_steps=10),
        )
    again = ChanceWatch(toy_facts(), epochs=2, remedy="do something")
    again.load_state_dict(watch.state_dict())
    with pytest.raises(PriorClassifier, match="for 2 epochs"):
        again.check(stop=True)
