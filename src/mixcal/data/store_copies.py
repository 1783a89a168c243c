"""A second store of the same images, to be annotated otherwise."""

import json
import os
import shutil
from pathlib import Path

from mixcal.core.errors import BadInput
from mixcal.data.mixed_store import MixedStore

SHARED = ("images.npy", "seeds.npy", "pairs.npy", "positions.npy", "done.npy")


def linked_copy(store: MixedStore, path: Path) -> MixedStore:
    """The store under another path: its arrays are links where the disk allows, its header is new.

    One that is there already is opened, if it is of the same sets.
    """
    header = {key: value for key, value in store.header.items() if key != "annotation"}
    if (path / "header.json").exists():
        there = MixedStore.open(path)
        if {k: v for k, v in there.header.items() if k != "annotation"} != header:
            raise BadInput(f"{path} is a store of other sets; name another folder with --into.")
        return there
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise BadInput(f"{path} exists and is no store of mixed images; name another with --into.")
    path.mkdir(parents=True, exist_ok=True)
    for name in SHARED:
        try:
            os.link(store.path / name, path / name)
        except OSError:
            shutil.copyfile(store.path / name, path / name)
    part = path / ".header.json.part"
    part.write_text(json.dumps(header, indent=1) + "\n")
    part.replace(path / "header.json")
    return MixedStore.open(path)
