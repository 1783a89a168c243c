"""Combining calibrators: one criterion a part, one mixer, any number of terms."""

import pytest

from mixcal.core.clock import Clock
from mixcal.core.errors import BadInput
from mixcal.core.outcome import Outcome
from mixcal.core.protocols import Calibrator, combine
from mixcal.methods.calibrators.calibratemix import calibratemix
from mixcal.methods.calibrators.margin_memory import margin_memory
from tests.support.toy import toy_facts


class SomeMixer:
    joins = "after"

    def __call__(self, step, clock):
        return None


def term(step, clock) -> Outcome:
    return Outcome()


def criterion(logits, targets):
    return logits.sum(1)


def test_nothing_is_neutral() -> None:
    whole = combine([])
    assert whole.mixer is None
    assert not whole.criteria
    assert not whole.terms
    assert not whole.streams


def test_everything_comes_together() -> None:
    mixer = SomeMixer()
    whole = combine(
        [
            Calibrator(mixer=mixer, streams=frozenset({"partner"})),
            Calibrator(criteria={"labeled": criterion}, terms={"one": term}),
            Calibrator(criteria={"mixed": criterion}, terms={"two": term}),
        ]
    )
    assert whole.mixer is mixer
    assert set(whole.criteria) == {"labeled", "mixed"}
    assert list(whole.terms) == ["one", "two"]
    assert whole.streams == {"partner"}


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ((Calibrator(mixer=SomeMixer()), Calibrator(mixer=SomeMixer())), "both mix"),
        ((Calibrator(criteria={"labeled": criterion}),) * 2, "criterion of the labeled rows"),
        (
            (
                Calibrator(criteria={"mixed": criterion}),
                Calibrator(scheduled={"mixed": lambda clock: criterion}),
            ),
            "criterion of the mixed rows",
        ),
        ((Calibrator(terms={"one": term}),) * 2, "the term one"),
    ],
)
def test_two_of_a_kind_are_refused(pair: tuple, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        combine(pair)


def test_criteria_of_a_step() -> None:
    whole = combine(
        [
            Calibrator(criteria={"labeled": criterion}),
            Calibrator(scheduled={"mixed": lambda clock: lambda logits, targets: clock.epoch}),
        ]
    )
    for step in (0, 25):
        criteria = whole.criteria_at(Clock.at(step, seed=0, steps=100, epoch_steps=10))
        assert criteria["labeled"] is criterion
        assert criteria["mixed"](None, None) == step // 10


def test_a_condition_sees_all_calibrators_as_one() -> None:
    def needs_no_mixer(whole: Calibrator) -> None:
        if whole.mixer is not None:
            raise BadInput("No mixing, please.")

    picky = Calibrator(conditions=(needs_no_mixer,))
    combine([picky, Calibrator(terms={"one": term})])
    with pytest.raises(BadInput, match="No mixing"):
        combine([picky, Calibrator(mixer=SomeMixer())])


def test_margins_are_remembered_once() -> None:
    # Two mapped ledgers of one name would share their files, and count every visit twice.
    facts = toy_facts()
    with pytest.raises(BadInput, match="margins of labeled samples"):
        combine([calibratemix(facts), margin_memory(facts)])
