"""ImageNet: class folders, and the flat validation set with the development kit's answers."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from mixcal.core.errors import BadInput
from mixcal.data.sources.imagenet import read_imagenet
from tests.support.pictures import picture, save
from tests.support.published import options, reading

SYNSETS = ("n01440764", "n01443537", "n02012849")
KIT = "ILSVRC2012_devkit_t12/data"


def tree(root: Path, *, flat: bool) -> Path:
    for k, synset in enumerate(SYNSETS):
        for number in range(2):
            pixels = picture(10 * k + number, size=(32, 60 + 2 * k))
            save(root / "train" / synset / f"{synset}_{number}.JPEG", pixels, quality=95)
    if flat:
        for number in range(4):
            name = f"ILSVRC2012_val_{number + 1:08d}.JPEG"
            save(root / "val" / name, picture(100 + number, size=(50, 40)))
    else:
        for k, synset in enumerate(SYNSETS):
            save(root / "val" / synset / f"v{k}.JPEG", picture(200 + k))
    return root


def kit(root: Path, answers: list[int]) -> None:
    """Class numbers in an order of their own, and a group of classes, which is none."""
    rows = [(1, "n02012849", "crane", 0), (2, "n01440764", "tench, Tinca tinca", 0)]
    rows += [(3, "n01443537", "goldfish", 0), (4, "n01440000", "fish", 2)]
    kinds = [("ILSVRC2012_ID", "O"), ("WNID", "O"), ("words", "O"), ("num_children", "O")]
    (root / KIT).mkdir(parents=True)
    savemat(root / KIT / "meta.mat", {"synsets": np.array(rows, dtype=kinds)[:, None]})
    truth = root / KIT / "ILSVRC2012_validation_ground_truth.txt"
    truth.write_text("".join(f"{answer}\n" for answer in answers))


def test_class_folders(tmp_path: Path) -> None:
    tree(tmp_path / "imagenet", flat=False)
    source = read_imagenet(options("imagenet", image_size=16), reading(tmp_path))
    assert source.classes == SYNSETS
    assert source.train.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert source.test.labels.tolist() == [0, 1, 2]
    assert source.train.take(np.arange(6)).shape == (6, 3, 16, 16)
    assert not source.remarks
    seen = source.train.take(np.array([5]))[0].permute(1, 2, 0).numpy()
    picture = Image.open(tmp_path / "imagenet" / "train" / "n02012849" / "n02012849_1.JPEG")
    # 32 x 64 becomes 16 x 32; columns 8 to 24 are its middle.
    half = picture.resize((32, 16), Image.Resampling.BILINEAR)
    assert np.array_equal(seen, np.asarray(half)[:, 8:24])


def test_a_flat_validation_set_takes_its_answers_from_the_kit(tmp_path: Path) -> None:
    root = tree(tmp_path / "imagenet", flat=True)
    kit(root, [2, 1, 1, 3])
    source = read_imagenet(options("imagenet"), reading(tmp_path))
    assert source.test.labels.tolist() == [0, 2, 2, 1]
    assert source.test.ids[0] == "val/ILSVRC2012_val_00000001.JPEG"
    assert source.classes == ("tench (n01440764)", "goldfish (n01443537)", "crane (n02012849)")
    assert "image_size is not set" in source.remarks[-1]
    assert source.test.take(np.arange(4)).shape == (4, 3, 64, 64)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be fetched"):
        read_imagenet(options("imagenet"), reading(tmp_path))
    root = tree(tmp_path / "imagenet", flat=True)
    with pytest.raises(BadInput, match="development kit"):
        read_imagenet(options("imagenet"), reading(tmp_path))
    kit(root, [2, 1, 1])
    with pytest.raises(BadInput, match="3 labels for 4 pictures"):
        read_imagenet(options("imagenet"), reading(tmp_path))
    truth = root / KIT / "ILSVRC2012_validation_ground_truth.txt"
    truth.write_text("2\n1\n1\n4\n")
    with pytest.raises(BadInput, match="class 4 has no folder"):
        read_imagenet(options("imagenet"), reading(tmp_path))
    (root / KIT / "meta.mat").write_bytes(b"no matlab")
    with pytest.raises(BadInput, match=r"meta\.mat is damaged"):
        read_imagenet(options("imagenet"), reading(tmp_path))
    (root / "train" / "n01440001").mkdir()
    (root / KIT / "meta.mat").unlink()
    with pytest.raises(BadInput, match=r"n01440001 has no \.JPEG pictures"):
        read_imagenet(options("imagenet"), reading(tmp_path))


def test_names_may_come_from_kaggles_list(tmp_path: Path) -> None:
    root = tree(tmp_path / "imagenet", flat=False)
    (root / "LOC_synset_mapping.txt").write_text("n01440764 tench, Tinca tinca\n")
    source = read_imagenet(options("imagenet"), reading(tmp_path))
    assert source.classes == ("tench (n01440764)", "n01443537", "n02012849")
