"""Converted networks against the published computation written out; files that must be refused."""

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from mixcal.core.errors import BadInput
from mixcal.synthesis.denoiser import Denoiser
from mixcal.synthesis.inert_pickle import read_inert
from mixcal.synthesis.model import make_network
from mixcal.synthesis.published_generator import read_published
from mixcal.synthesis.published_tensors import tensor_of
from tests.support import published_edm
from tests.support.published_edm import DDPM, NCSN, network, pickled, published


@pytest.mark.parametrize("said", [DDPM, NCSN], ids=["ddpm++", "ncsn++"])
def test_the_converted_network_computes_the_same(tmp_path: Path, said: dict[str, Any]) -> None:
    theirs = published(tmp_path / "edm.pkl", said)
    found = read_published(tmp_path / "edm.pkl")
    ours = make_network(found.network, classes=found.classes, shape=found.shape).eval()
    ours.load_state_dict(dict(found.tensors))
    images, told = torch.randn(3, 1, 8, 8), torch.randn(3, 9)
    levels, targets = (
        torch.tensor([0.1, 1.0, 20.0]),
        torch.tensor([[1.0, 0, 0], [0.3, 0.7, 0], [0, 0, 0]]),
    )
    with torch.no_grad():
        for more in ((), (told,)):
            raw = theirs.model(images, levels, targets, *more)
            assert raw.std() > 0.1
            assert torch.allclose(ours(images, levels, targets, *more), raw, atol=1e-4)
        clean = Denoiser(ours)(images, levels, targets)
        for row, level in enumerate(levels):
            power = level**2 + 0.25
            inner = theirs.model(
                images[row : row + 1] / power.sqrt(), level.log()[None] / 4, targets[row : row + 1]
            )
            expected = 0.25 / power * images[row] + 0.5 * level / power.sqrt() * inner[0]
            assert torch.allclose(clean[row], expected, atol=1e-4)


def test_what_it_says_of_itself(tmp_path: Path) -> None:
    published(tmp_path / "edm.pkl", NCSN)
    found = read_published(tmp_path / "edm.pkl")
    assert found.network.name == "ncsn++"
    assert (found.network.width, found.network.blocks) == (8, 1)
    assert found.network.multipliers == (1, 2, 2)
    assert (found.network.attention, found.network.dropout) == ((4,), 0.13)
    assert found.network.told_augmentation
    assert (found.classes, found.shape, found.guidable) == (3, (8, 8, 1), False)
    with_dropout = DDPM | {"label_dropout": 0.1, "augment_dim": 0}
    published(tmp_path / "edm.pkl", with_dropout)
    found = read_published(tmp_path / "edm.pkl")
    assert found.guidable
    assert not found.network.told_augmentation


def written(path: Path, made: Any) -> Path:
    path.write_bytes(pickled(made))
    return path


@pytest.mark.parametrize(
    ("said", "classes", "message"),
    [
        (DDPM, 0, "knows no classes"),
        (DDPM | {"augment_dim": 6}, 3, "neither EDM's DDPM"),
        (NCSN | {"channel_mult_emb": 2}, 3, "neither EDM's DDPM"),
        (DDPM | {"resample_filter": [1, 3, 3, 1]}, 3, "neither EDM's DDPM"),
        (DDPM | {"dropout": "much"}, 3, "dropout is 'much'"),
    ],
)
def test_other_networks_are_refused(
    tmp_path: Path, said: dict[str, Any], classes: int, message: str
) -> None:
    made = network(DDPM, classes=classes)
    made.model._init_kwargs |= said
    with pytest.raises(BadInput, match=message):
        read_published(written(tmp_path / "edm.pkl", made))


def test_other_preconditioning_and_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "edm.pkl"
    with pytest.raises(BadInput, match="'VPPrecond', not a network with EDM's"):
        read_published(written(path, network(kind=published_edm.VPPrecond)))
    made = network()
    made.model.__class__ = published_edm.EDMLoss
    with pytest.raises(BadInput, match="holds a 'EDMLoss'"):
        read_published(written(path, made))
    path.write_bytes(pickle.dumps({"G_ema": 1}))
    with pytest.raises(BadInput, match="no averaged network"):
        read_published(path)
    path.write_bytes(pickle.dumps({"ema": 1}))
    with pytest.raises(BadInput, match="not built as EDM's generators are"):
        read_published(path)
    path.write_bytes(pickled(network())[:-500])
    with pytest.raises(BadInput, match="cannot be read as a pickle"):
        read_published(path)
    with pytest.raises(BadInput, match="check the path"):
        read_published(tmp_path / "nothing.pkl")


def test_tensors_must_fit(tmp_path: Path) -> None:
    path = tmp_path / "edm.pkl"
    made = network()
    made.model.map_layer0.weight = torch.nn.Parameter(torch.zeros(3, 3))
    with pytest.raises(BadInput, match=r"'embedding.layer_1.weight' is \(3, 3\) and not \(32, 8\)"):
        read_published(written(path, made))
    made = network()
    del made.model.dec["4x4_in1"]
    with pytest.raises(BadInput, match=r"'middle\.1\.convolution_1\.bias' is missing"):
        read_published(written(path, made))
    made = network()
    made.model.enc["4x4_down"].conv0.resample_filter = torch.ones(1, 1, 2, 2)
    with pytest.raises(BadInput, match=r"filter enc\.4x4_down\.conv0\.resample_filter is"):
        read_published(written(path, made))
    made = network()
    made.model.extra = torch.nn.Parameter(torch.zeros(1))
    with pytest.raises(BadInput, match="not built as EDM's"):
        read_published(written(path, made))


class Runs:
    """Runs a command when it is unpickled."""

    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> tuple:
        return self.call[0], self.call[1:]


def traps(mark: Path) -> dict[str, Any]:
    """Objects that leave a mark when they are unpickled, each by a way of its own."""
    command = f"touch {mark}"
    return {
        "system": Runs(os.system, command),
        "eval": Runs(eval, f"__import__('os').system({command!r})"),
        "getattr": Runs(getattr, Runs(__import__, "os"), "system"),
        "import": Runs(__import__, "os"),
        "open": Runs(open, str(mark), "w"),
        "torch.load": Runs(torch.load, str(mark)),
        "path": Runs(Path.touch, mark),
    }


@pytest.mark.parametrize("trap", sorted(traps(Path("x"))))
@pytest.mark.parametrize("place", ["alone", "ema", "state", "tensor"])
def test_what_would_run_is_refused_and_not_run(tmp_path: Path, trap: str, place: str) -> None:
    mark, path = tmp_path / "mark", tmp_path / "edm.pkl"
    object_ = traps(mark)[trap]
    if place == "alone":
        path.write_bytes(pickle.dumps(object_))
    elif place == "ema":
        path.write_bytes(pickle.dumps({"ema": object_}))
    else:
        made = network()
        if place == "state":
            made.model._init_kwargs["dropout"] = object_
        else:
            made.model.enc["8x8_conv"]._buffers["weight"] = object_
        path.write_bytes(pickled(made))
    with pytest.raises(BadInput, match=r"edm\.pkl asks for .* could run foreign code") as refusal:
        read_published(path)
    assert not mark.exists()
    assert "\n" not in str(refusal.value)


def stored(inner: bytes) -> Any:
    """A network one of whose storages holds these bytes."""
    made = network()
    made.model.enc["8x8_conv"]._buffers["trap"] = Runs(
        torch._utils._rebuild_tensor_v2,
        Runs(torch.storage._load_from_bytes, inner),
        0,
        (1,),
        (1,),
        False,
        {},
    )
    return made


def old_and_new(object_: Any) -> list[bytes]:
    """The bytes of torch.save in both of its formats."""
    files = []
    for new in (False, True):
        file = io.BytesIO()
        torch.save(object_, file, _use_new_zipfile_serialization=new)
        files.append(file.getvalue())
    return files


@pytest.mark.parametrize("trap", ["system", "eval", "getattr", "path"])
def test_a_trap_within_the_stored_numbers(tmp_path: Path, trap: str) -> None:
    mark = tmp_path / "mark"
    object_ = traps(mark)[trap]
    for inner in (*old_and_new(object_), pickle.dumps(object_)):
        with pytest.raises(BadInput, match="a pickle within the pickle") as refusal:
            read_published(written(tmp_path / "edm.pkl", stored(inner)))
        assert not mark.exists()
        assert "\n" not in str(refusal.value)


def test_numbers_nested_deeper_than_a_stack_are_refused(tmp_path: Path) -> None:
    deep = b"\x80\x02}K\x01" + b"\x85" * 400_000 + b"K\x01s."
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("archive/data.pkl", deep)
        file.writestr("archive/version", "3\n")
    for inner in (deep, pickle.dumps(1) + deep, archive.getvalue()):
        with pytest.raises(BadInput, match="more parts than any published generator"):
            read_published(written(tmp_path / "edm.pkl", stored(inner)))


def test_other_numbers_than_a_storage(tmp_path: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("nothing", "")
    for inner in (*old_and_new([1, 2]), b"", archive.getvalue()):
        with pytest.raises(BadInput, match=r"edm\.pkl"):
            read_published(written(tmp_path / "edm.pkl", stored(inner)))


def test_the_newer_form_of_storages_is_read(tmp_path: Path) -> None:
    numbers = torch.arange(6.0).double()
    for inner in old_and_new(numbers._typed_storage()):
        noted = pickle.dumps(stored(inner).model.enc["8x8_conv"]._buffers["trap"])
        path = tmp_path / "one.pkl"
        path.write_bytes(noted)
        found = tensor_of(read_inert(path))
        assert found.tolist() == [0.0]
        assert found.dtype == torch.float32


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [(0, (7,), (1,)), (5, (2,), (1,)), (-1, (1,), (1,)), (0, (2,), (-1,)), (0, (10**6, 6), (0, 1))],
)
def test_tensors_beyond_their_numbers(
    tmp_path: Path, offset: int, size: tuple, stride: tuple
) -> None:
    inner = old_and_new(torch.zeros(6)._typed_storage())[0]
    made = stored(inner)
    trap = made.model.enc["8x8_conv"]._buffers["trap"]
    trap.call = (*trap.call[:2], offset, size, stride, False, {})
    with pytest.raises(BadInput, match="beyond its numbers"):
        read_published(written(tmp_path / "edm.pkl", made))


def test_modules_without_end(tmp_path: Path) -> None:
    made = network()
    made.model.enc._modules["more"] = made.model.enc
    with pytest.raises(BadInput, match="modules without end"):
        read_published(written(tmp_path / "edm.pkl", made))
