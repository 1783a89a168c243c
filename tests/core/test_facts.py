"""What a method knows of how rows are drawn, against counts by hand and a prepared recipe."""

import pytest

from mixcal.build import prepare
from mixcal.data.options import DataOptions
from mixcal.recipe import Method, Recipe
from tests.support.toy import toy_facts


def test_shares_follow_the_counts_unless_batches_are_balanced() -> None:
    counts = (6, 3, 1, 0)
    assert toy_facts(class_counts=counts).drawn_shares == pytest.approx((0.6, 0.3, 0.1, 0))
    balanced = toy_facts(class_counts=counts, order="balanced").drawn_shares
    assert balanced == pytest.approx((1 / 3, 1 / 3, 1 / 3, 0))


def test_a_recipe_says_how_its_rows_are_drawn() -> None:
    data = DataOptions(source="digits", imbalance=10, head_count=60, order="balanced")
    facts = prepare(Recipe(method=Method(steps=1, data=data))).facts
    assert max(facts.class_counts) > min(facts.class_counts)
    assert facts.drawn_shares == pytest.approx((0.1,) * 10)
