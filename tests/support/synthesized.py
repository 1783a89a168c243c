"""A small way from pictures to annotated images between classes."""

from pathlib import Path

from tests.support.command import QUICK
from tests.support.pictures import class_folders
from tests.support.runs import ran

SMALL = (
    "method.images=32",
    "method.batch=16",
    "method.precision=float32",
    "method.data.image_size=0",
    'method.network={ name = "unet", width = 8, multipliers = [1, 2], attention = [], patch = 1 }',
)
SAMPLER = ("--steps", "3", "--sets-per-pass", "4")
LITTLE = (
    *QUICK,
    "--set",
    "method.algorithm=none",
    "--set",
    "method.batch=8",
    "--set",
    "running.rescaler=none",
)


def synthesized(root: Path) -> None:
    """Pictures, a generator, a store of 46 sets, a run to annotate it by, and the annotation."""
    for part, count in (("train", 12), ("test", 3)):
        class_folders(root / "mine" / part, dict.fromkeys("abc", count), size=(16, 12))
    settings = [word for key in SMALL for word in ("--set", key)]
    train = ("--data", root / "mine", *settings, "--into", root / "generator")
    assert ran("synthesize", "train", *train) == 0
    generate = ("synthesize", "generate", root / "generator", "--sets", "46", *SAMPLER)
    for shard in ("1/2", "0/2"):
        assert ran(*generate, "--into", root / "store", "--shard", shard) == 0
    assert ran("train", "--data", root / "mine", *LITTLE, "--into", root / "run") == 0
    annotate = ("synthesize", "annotate", root / "store", "--encoder", f"run:{root / 'run'}")
    assert ran(*annotate, "--shares", "--per-class", "5") == 0
