"""Networks made for data of the other kind: one sentence, also where nothing is trained."""

import pytest

from mixcal.build import make_network, prepare
from mixcal.cli import main
from mixcal.core.errors import BadInput
from mixcal.data.options import DataOptions
from mixcal.recipe import Method, Named, Recipe
from tests.support.stand_ins import stand_in


def test_words_before_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("train", "digits", "--set", "method.backbone.name=sentence-cnn", "--dry-run")
    assert main([*words]) == 2
    assert "'sentence-cnn' reads texts, and digits holds pictures" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["small", "wrn-28-2", "torchvision:resnet18"])
def test_pictures_before_words(name: str) -> None:
    source = stand_in("mr")
    recipe = Recipe(
        method=Method(steps=1, data=DataOptions(source="mr"), backbone=Named(name=name))
    )
    with pytest.raises(BadInput, match=r"reads pictures, and .* holds texts; .*sentence-cnn"):
        make_network(recipe.method, prepare(recipe, source))
