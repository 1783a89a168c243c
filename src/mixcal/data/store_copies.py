"""A second store of the same images, to be annotated otherwise."""

import json
import os
import shutil
from pathlib import Path

from mixcal.core.errors import BadInput
from mixcal.data.mixed_store import MixedStore
from mixcal.data.whole_folder import make_whole

SHARED = ("images.npy", "seeds.npy", "pairs.npy", "positions.npy", "done.npy")


def linked_copy(store: MixedStore, path: Path) -> MixedStore:
    """The store under another path: its arrays are links where the disk allows, its header is new.

    One that is there already is opened, if it is of the same sets.
    """
    header = {key: value for key, value in store.header.items() if key != "annotation"}

    def fill(fresh: Path) -> None:
        for name in SHARED:
            try:
                os.link(store.path / name, fresh / name)
            except OSError:
                shutil.copyfile(store.path / name, fresh / name)
        (fresh / "header.json").write_text(json.dumps(header, indent=1) + "\n")

    make_whole(path, "header.json", fill)
    there = MixedStore.open(path)
    if {k: v for k, v in there.header.items() if k != "annotation"} != header:
        raise BadInput(f"{path} is a store of other sets; name another folder with --into.")
    return there
