"""Decoding against Pillow and NumPy done by hand, and against files that are no pictures."""

import io
import struct
import warnings
import zlib

import numpy as np
import pytest
from PIL import Image

from mixcal.data.decoding import Unreadable, decoded, header
from tests.support.images import smooth_images

COLOR = smooth_images(1, size=40)[0, :, :30].permute(1, 2, 0).numpy()
GRAY = COLOR[..., 0]


def stored(image: Image.Image | np.ndarray, kind: str = "PNG", **more) -> io.BytesIO:
    file = io.BytesIO()
    image = Image.fromarray(image) if isinstance(image, np.ndarray) else image
    image.save(file, kind, **more)
    file.seek(0)
    return file


@pytest.mark.parametrize("kind", ["PNG", "BMP", "PPM", "TIFF"])
def test_lossless_formats_come_back_as_they_went(kind: str) -> None:
    assert np.array_equal(decoded(stored(COLOR, kind), size=None, channels=3), COLOR)
    assert np.array_equal(decoded(stored(GRAY, kind), size=None, channels=1)[..., 0], GRAY)


@pytest.mark.parametrize("kind", ["JPEG", "WEBP", "GIF"])
def test_other_formats_come_back_as_pillow_reads_them(kind: str) -> None:
    expected = np.asarray(Image.open(stored(COLOR, kind)).convert("RGB"))
    assert np.array_equal(decoded(stored(COLOR, kind), size=None, channels=3), expected)


def test_gray_and_colour_become_each_other_as_in_pillow() -> None:
    gray = decoded(stored(COLOR), size=None, channels=1)[..., 0]
    assert np.array_equal(gray, np.asarray(Image.fromarray(COLOR).convert("L")))
    color = decoded(stored(GRAY), size=None, channels=3)
    assert np.array_equal(color, np.repeat(GRAY[..., None], 3, axis=2))


def test_sixteen_bits_keep_the_upper_byte() -> None:
    deep = (GRAY.astype(np.uint16) << 8) + 77
    assert np.array_equal(decoded(stored(deep), size=None, channels=1)[..., 0], GRAY)


def test_transparency_is_dropped() -> None:
    half = np.dstack([COLOR, np.full_like(GRAY, 9)])
    assert np.array_equal(decoded(stored(half), size=None, channels=3), COLOR)
    palette = Image.fromarray(COLOR).quantize(16)
    file = stored(palette, transparency=bytes([0, 128] * 8))
    assert np.array_equal(decoded(file, size=None, channels=3), np.asarray(palette.convert("RGB")))


def test_the_shorter_side_fits_and_the_middle_is_kept() -> None:
    wide = smooth_images(1, size=42)[0, :, :30].permute(1, 2, 0).numpy()
    found = decoded(stored(wide), size=(15, 15), channels=3)
    whole = Image.fromarray(wide).resize((21, 15), Image.Resampling.BILINEAR)
    assert np.array_equal(found, np.asarray(whole)[:, 3:18])
    # An enlarged one too, and one that is as it should be is untouched.
    assert decoded(stored(COLOR), size=(60, 60), channels=3).shape == (60, 60, 3)
    assert np.array_equal(decoded(stored(COLOR), size=(30, 40), channels=3), COLOR)


def test_shrinking_is_antialiased() -> None:
    # A chessboard of single pixels must become gray, not black or white.
    board = (np.indices((64, 64)).sum(0) % 2 * 255).astype(np.uint8)
    small = decoded(stored(board), size=(8, 8), channels=1)
    assert small.min() > 110
    assert small.max() < 145


def test_jpeg_may_skip_detail_but_not_what_is_seen() -> None:
    large = smooth_images(1, size=512)[0].permute(1, 2, 0).numpy()
    found = decoded(stored(large, "JPEG", quality=95), size=(32, 32), channels=3)
    expected = Image.fromarray(large).resize((32, 32), Image.Resampling.BILINEAR)
    assert np.abs(found.astype(int) - np.asarray(expected)).max() <= 3


@pytest.mark.parametrize("turned", range(1, 9))
def test_pictures_are_turned_upright(turned: int) -> None:
    # As EXIF 2.32, table 6: which side of the stored picture is its top, which its left.
    ways = [
        lambda a: a,
        np.fliplr,
        lambda a: a[::-1, ::-1],
        np.flipud,
        lambda a: a.transpose(1, 0, 2),
        lambda a: np.rot90(a, -1),
        lambda a: a[::-1, ::-1].transpose(1, 0, 2),
        np.rot90,
    ]
    exif = Image.Exif()
    exif[0x0112] = turned
    file = stored(COLOR, exif=exif)
    expected = ways[turned - 1](COLOR)
    assert np.array_equal(decoded(file, size=None, channels=3), expected)
    assert header(file).size == expected.shape[:2]


@pytest.mark.parametrize(
    ("image", "color"),
    [
        (Image.new("1", (4, 4)), False),
        (Image.new("L", (4, 4)), False),
        (Image.new("LA", (4, 4)), False),
        (Image.new("I;16", (4, 4)), False),
        (Image.new("RGB", (4, 4)), True),
        (Image.new("RGBA", (4, 4)), True),
        (Image.fromarray(COLOR).quantize(8), True),
        (Image.fromarray(GRAY).convert("P"), False),
    ],
    ids=["1", "L", "LA", "I;16", "RGB", "RGBA", "P", "gray P"],
)
def test_headers_tell_gray_from_colour(image: Image.Image, color: bool) -> None:
    found = header(stored(image))
    assert found.color == color
    assert found.ended


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_a_cut_file_does_not_end_as_it_should(kind: str) -> None:
    whole = stored(COLOR, kind).getvalue()
    assert header(io.BytesIO(whole)).ended
    cut = whole[: len(whole) * 3 // 4]
    assert not header(io.BytesIO(cut)).ended
    with pytest.raises(Unreadable):
        decoded(io.BytesIO(cut), size=None, channels=3)


def test_files_that_are_no_pictures() -> None:
    for junk in (b"", b"GIF89a", b"a note about cats", bytes(1000), b"\xff\xd8\xff\xe0"):
        with pytest.raises(Unreadable):
            header(io.BytesIO(junk))
        with pytest.raises(Unreadable):
            decoded(io.BytesIO(junk), size=(8, 8), channels=3)
    # PostScript would be run, not read.
    with pytest.raises(Unreadable, match="no picture in a known format"):
        header(io.BytesIO(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 4\n"))


def test_values_of_32_bits_have_no_range() -> None:
    with pytest.raises(Unreadable, match="32 bits"):
        decoded(stored(GRAY.astype(np.float32), "TIFF"), size=None, channels=1)


def test_a_decompression_bomb_is_not_decoded() -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    for side in (10_000, 50_000):
        head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
        bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IEND", b"")
        with pytest.raises(Unreadable, match=r"pixels"):
            header(io.BytesIO(bomb))


def test_damaged_exif_data_do_not_cost_the_picture() -> None:
    file = stored(COLOR, "JPEG", exif=b"Exif\0\0MM\0\x2a\xff\xff\xff\xff garbage")
    with warnings.catch_warnings():
        # Pillow says so, too.
        warnings.simplefilter("ignore")
        assert decoded(file, size=None, channels=3).shape == COLOR.shape
