"""A person's own data by its path: which source reads it."""

from pathlib import Path

from mixcal.core.errors import BadInput

KINDS = {".csv": "manifest", ".tsv": "manifest", ".parquet": "manifest", ".npz": "npz"}


def own_data(text: str, *, asked: str) -> list[str]:
    """Settings that name a person's own data by what the path is; `asked`: how they put it."""
    path = Path(text).expanduser()
    if path.is_dir():
        kind = "folder"
    elif path.is_file() and path.suffix in KINDS:
        kind = KINDS[path.suffix]
    else:
        there = "" if path.exists() else "there is no such file or folder; "
        raise BadInput(
            f"{asked}: {there}give a folder of class folders, a .csv or .parquet manifest, or a "
            ".npz."
        )
    return [f'method.data.source="{kind}"', f"method.data.path={path.resolve()}"]
