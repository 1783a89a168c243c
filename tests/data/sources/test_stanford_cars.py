"""Stanford Cars' annotations, in both published layouts, against made-up copies whose pictures,
classes and parts are known."""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from mixcal.core.errors import BadInput
from mixcal.data.sources.stanford_cars import read_cars
from tests.support.pictures import picture, save
from tests.support.published import options, reading

NAMES = ("AM General Hummer SUV 2000", "Acura RL Sedan 2012", "smart fortwo Convertible 2012")
TRAIN = (("00001.jpg", 3), ("00002.jpg", 1), ("00003.jpg", 2))
TEST = (("00001.jpg", 2), ("00002.jpg", 3))


def names() -> np.ndarray:
    """A row of cells, as the authors have it."""
    return np.array([[*NAMES]], dtype=object)


def annotations(rows: tuple[tuple, ...], fields: tuple[str, ...]) -> np.ndarray:
    """One row of structs; boxes come first."""
    boxes = ("bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2")
    kinds = [(name, "O") for name in (*boxes, *fields)]
    return np.array([(1, 2, 30, 40, *row) for row in rows], dtype=kinds)[None]


def in_parts(root: Path, *, answers: str = "devkit") -> Path:
    for part, rows in (("train", TRAIN), ("test", TEST)):
        for place, (name, _) in enumerate(rows):
            seed = place + 10 * (part == "test")
            save(root / f"cars_{part}" / name, picture(seed, size=(24, 30)), quality=95)
    (root / "devkit").mkdir(exist_ok=True)
    savemat(root / "devkit" / "cars_meta.mat", {"class_names": names()})
    kit = [(name, label) for name, label in TRAIN]
    fields = ("fname", "class")
    train = annotations(tuple((label, name) for name, label in kit), ("class", "fname"))
    savemat(root / "devkit" / "cars_train_annos.mat", {"annotations": train})
    test = annotations(tuple(TEST), fields)
    savemat(root / answers / "cars_test_annos_withlabels.mat", {"annotations": test})
    return root


@pytest.mark.parametrize("answers", ["devkit", "."])
def test_parts_in_folders_of_their_own(tmp_path: Path, answers: str) -> None:
    in_parts(tmp_path / "stanford-cars", answers=answers)
    source = read_cars(options("stanford-cars", image_size=16), reading(tmp_path))
    assert source.classes == NAMES
    assert source.train.labels.tolist() == [2, 0, 1]
    assert source.test.labels.tolist() == [1, 2]
    assert source.test.ids.tolist() == ["cars_test/00001.jpg", "cars_test/00002.jpg"]
    seen = source.test.take(np.array([1]))[0].float().mean((1, 2)).numpy()
    expected = [picture(k, size=(24, 30))[:, 3:27].mean((0, 1)) for k in (0, 1, 2, 10, 11)]
    assert int(np.argmin([np.abs(seen - mean).sum() for mean in expected])) == 4


def test_all_pictures_in_one_folder(tmp_path: Path) -> None:
    root = tmp_path / "stanford-cars"
    rows = [(f"car_ims/{k + 1:06d}.jpg", k % 3 + 1, int(k > 3)) for k in range(6)]
    for place, (name, _, _) in enumerate(rows):
        save(root / name, picture(place))
    record = annotations(tuple(rows), ("relative_im_path", "class", "test"))
    savemat(root / "cars_annos.mat", {"annotations": record, "class_names": names()})
    source = read_cars(options("stanford-cars"), reading(tmp_path))
    assert source.train.labels.tolist() == [0, 1, 2, 0]
    assert source.test.labels.tolist() == [1, 2]
    assert source.test.ids.tolist() == ["car_ims/000005.jpg", "car_ims/000006.jpg"]
    assert source.train.take(np.arange(4)).shape == (4, 3, 64, 64)


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="stanford-cars is not in"):
        read_cars(options("stanford-cars"), reading(tmp_path))
    root = in_parts(tmp_path / "stanford-cars")
    answers = root / "devkit" / "cars_test_annos_withlabels.mat"
    savemat(answers, {"annotations": annotations((("00001.jpg",),), ("fname",))})
    with pytest.raises(BadInput, match="no field class"):
        read_cars(options("stanford-cars"), reading(tmp_path))
    savemat(answers, {"annotations": annotations((("00001.jpg", 4),), ("fname", "class"))})
    with pytest.raises(BadInput, match=r"cars_test/00001.jpg has class 4 of 3"):
        read_cars(options("stanford-cars"), reading(tmp_path))
    answers.unlink()
    with pytest.raises(BadInput, match=r"has no cars_test_annos_withlabels.mat"):
        read_cars(options("stanford-cars"), reading(tmp_path))
    answers.write_bytes(b"not a matrix")
    with pytest.raises(BadInput, match=r"cars_test_annos_withlabels.mat"):
        read_cars(options("stanford-cars"), reading(tmp_path))
