"""Several models as one: their mean against each one's own answers, for arrays and files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from mixcal.backbones.wide_resnet import small
from mixcal.core.errors import BadInput
from mixcal.data.preprocessing import Preprocessing
from mixcal.judging.rescaling.temperature import Temperature
from mixcal.serving.bundle import Bundle
from mixcal.serving.ensemble import Ensemble
from mixcal.serving.predictor import Predictor
from tests.support.pictures import picture, save


def predictor(seed: int, classes: tuple[str, ...] = ("a", "b", "c")) -> Predictor:
    torch.manual_seed(seed)
    return Predictor.of(
        Bundle(
            factory="mixcal.backbones.wide_resnet:small",
            knobs={"channels": 3},
            classes=classes,
            preprocessing=Preprocessing(
                size=(16, 16), stored=(16, 16), mean=(0.5,) * 3, std=(1,) * 3
            ),
            tensors=small(len(classes), channels=3).state_dict(),
        )
    )


def test_the_mean_for_arrays_and_files(tmp_path: Path) -> None:
    members = (predictor(0), predictor(1))
    files = [save(tmp_path / f"{i}.png", picture(i, size=(16, 16))) for i in range(3)]
    (tmp_path / "bad.png").write_bytes(b"no picture")
    images = np.stack([picture(i, size=(16, 16)) for i in range(3)])
    probs = [member(images) for member in members]
    assert not np.allclose(probs[0], probs[1], atol=1e-3)
    whole = Ensemble(members)
    assert np.allclose(whole(images), (probs[0] + probs[1]) / 2, atol=1e-7)
    *answers, bad = whole.files([*files, tmp_path / "bad.png"])
    assert np.allclose([answer.probs for answer in answers], whole(images), atol=1e-6)
    assert answers[2].members is not None
    assert np.allclose(answers[2].members, [p[2] for p in probs], atol=1e-6)
    assert bad.probs is None
    assert bad.error
    # What was fitted on means is applied to means.
    cooled = replace(whole, rescaler=Temperature(temperature=3.0))
    wanted = Temperature(temperature=3.0).transform(np.log(whole(images)))
    assert np.allclose(cooled(images), wanted, atol=1e-7)
    assert np.allclose([a.probs for a in cooled.files(files)], wanted, atol=1e-6)


def test_other_classes_are_refused() -> None:
    with pytest.raises(BadInput, match="same classes in the same order"):
        Ensemble((predictor(0), predictor(1, ("a", "c", "b"))))
