"""Tiny data sets in the published formats, written byte by byte as their authors describe them."""

import gzip
import io
import lzma
import struct
import tarfile
from pathlib import Path

import numpy as np

from mixcal.data.options import DataOptions
from mixcal.data.reading import Reading


def options(source: str = "", **more) -> DataOptions:
    """Options that name a source."""
    return DataOptions(source=source, **more)


def reading(folder: Path, **more) -> Reading:
    """Reading from this folder with two workers."""
    return Reading(folder=folder, **({"workers": 2} | more))


def random_images(n: int, *shape: int, seed: int = 0) -> np.ndarray:
    """Bytes without structure: no two images are equal."""
    return np.random.default_rng(seed).integers(0, 256, (n, *shape), dtype=np.uint8)


PACKERS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}


def write_idx(path: Path, array: np.ndarray) -> Path:
    """An IDX file of bytes, packed as its ending says."""
    start = bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
    suffix = path.suffix if path.suffix in PACKERS else ""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(PACKERS[suffix](start + array.tobytes()))
    return path


def write_tar(path: Path, files: dict[str, bytes]) -> Path:
    """A tar.gz of these files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, contents in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(contents)
            archive.addfile(member, io.BytesIO(contents))
    return path


def write_files(root: Path, files: dict[str, bytes]) -> Path:
    """The same files unpacked."""
    for name, contents in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(contents)
    return root


def cifar_record(images: np.ndarray, *labels: np.ndarray) -> bytes:
    """The binary version: label bytes, then red, green and blue, image by image."""
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    columns = [np.asarray(column, np.uint8)[:, None] for column in labels]
    return np.concatenate([*columns, planes], axis=1).tobytes()


def python2_pickle(images: np.ndarray, lists: dict[str, np.ndarray]) -> bytes:
    """The python version: a dict with the pixels as a NumPy array, as Python 2 pickled it."""
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    rows, columns = planes.shape

    def text(value: bytes) -> bytes:
        return b"U" + bytes([len(value)]) + value

    def number(value: int) -> bytes:
        return b"K" + bytes([value]) if value < 256 else b"J" + struct.pack("<i", value)

    out = [b"\x80\x02}q\x01(", text(b"data"), b"q\x02"]
    out += [b"cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\nq\x04"]
    out += [b"K\x00\x85q\x05", text(b"b"), b"q\x06\x87q\x07Rq\x08("]
    out += [b"K\x01", number(rows), number(columns), b"\x86q\x09cnumpy\ndtype\nq\x0a"]
    out += [text(b"u1"), b"q\x0bK\x00K\x01\x87q\x0cRq\x0d(K\x03", text(b"|"), b"q\x0e"]
    out += [b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x0fb\x89"]
    out += [b"T", struct.pack("<i", planes.size), planes.tobytes(), b"q\x10tq\x11b"]
    for key, values in lists.items():
        out += [text(key.encode()), b"q\x12]q\x13("]
        out += [number(int(value)) for value in values]
        out += [b"e"]
    out += [text(b"batch_label"), b"q\x14", text(b"training batch 1 of 5"), b"q\x15u."]
    return b"".join(out)
