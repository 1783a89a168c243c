"""Weights files against the tensors that were written; damaged and harmful ones are refused."""

import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from mixcal import catalog
from mixcal.backbones.densenet import densenet_121
from mixcal.backbones.preact_resnet import preact_resnet
from mixcal.backbones.resnet import resnet
from mixcal.backbones.wide_resnet import small, wide_resnet
from mixcal.core.errors import BadInput


def written(path: Path, tensors: dict[str, Tensor]) -> str:
    if path.suffix == ".safetensors":
        save_file(tensors, path)
    else:
        torch.save(tensors, path)
    return str(path)


def renamed(network: nn.Module, *pairs: tuple[str, str]) -> dict[str, Tensor]:
    """Our weights under other people's names."""
    tensors = {}
    for name, tensor in network.state_dict().items():
        for ours, theirs in pairs:
            name = name.replace(ours, theirs)
        tensors[name] = tensor
    return tensors


def assert_equal(network: nn.Module, other: nn.Module) -> None:
    theirs = other.state_dict()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in network.state_dict().items())


@pytest.mark.parametrize("suffix", [".safetensors", ".pth", ".pt"])
def test_a_run_of_our_own_starts_another(suffix: str, tmp_path: Path) -> None:
    teacher = small(4)
    file = written(tmp_path / f"best{suffix}", teacher.state_dict())
    assert_equal(small(4, weights=file), teacher)
    made = catalog.make("backbone", "small", {"weights": file}, 4, channels=3, size=32)
    assert_equal(made, teacher)


def test_names_of_semilearn_and_its_larger_record(tmp_path: Path) -> None:
    teacher = wide_resnet(10, depth=10)
    pairs = [(f"groups.{n}.", f"block{n + 1}.layer.") for n in range(3)]
    pairs += [(".norm1.", ".bn1."), (".norm2.", ".bn2."), ("norm.", "bn1."), ("stem.", "conv1.")]
    pairs += [(".shortcut.", ".convShortcut."), ("head.", "classifier.")]
    averaged = renamed(teacher, *pairs)
    assert "block2.layer.0.bn1.running_var" in averaged
    live = {f"module.{name}": torch.zeros_like(tensor) for name, tensor in averaged.items()}
    file = tmp_path / "latest_model.pth"
    torch.save({"model": live, "ema_model": averaged, "it": 7, "optimizer": {"state": {}}}, file)
    assert_equal(wide_resnet(10, depth=10, weights=str(file)), teacher)
    torch.save({"model": {f"module.{n}": t for n, t in averaged.items()}}, file)
    assert_equal(wide_resnet(10, depth=10, weights=str(file)), teacher)


def test_names_of_codes_for_small_images(tmp_path: Path) -> None:
    teacher = resnet(10)
    tensors = renamed(teacher, (".downsample.", ".shortcut."), ("head.", "linear."))
    file = written(tmp_path / "a.safetensors", tensors)
    assert_equal(resnet(10, weights=file), teacher)
    teacher = preact_resnet(10, last_norm=False)
    tensors = renamed(teacher, (".shortcut.", ".shortcut.0."), ("head.", "linear."))
    file = written(tmp_path / "b.safetensors", tensors)
    assert_equal(preact_resnet(10, last_norm=False, weights=file), teacher)


def test_names_with_dots_and_files_that_count_no_batches(tmp_path: Path) -> None:
    teacher = densenet_121(10)
    dots = [(f"{kind}{n}.", f"{kind}.{n}.") for kind in ("norm", "conv") for n in (1, 2)]
    tensors = renamed(teacher, ("head.", "classifier."), *dots)
    tensors = {n: t for n, t in tensors.items() if not n.endswith("num_batches_tracked")}
    assert "features.denseblock1.denselayer1.norm.1.weight" in tensors
    assert_equal(densenet_121(10, weights=written(tmp_path / "a.pth", tensors)), teacher)


def test_another_head_is_left_out_with_a_warning(tmp_path: Path) -> None:
    teacher = small(7)
    file = written(tmp_path / "a.safetensors", teacher.state_dict())
    torch.manual_seed(0)
    fresh = small(4)
    torch.manual_seed(0)
    said = r"a\.safetensors has a head 128 → 7; this network's own, a head 128 → 4, begins with"
    with pytest.warns(UserWarning, match=said):
        network = small(4, weights=file)
    assert torch.equal(network.head.weight, fresh.head.weight)
    assert torch.equal(network.stem.weight, teacher.stem.weight)
    body = {n: t for n, t in teacher.state_dict().items() if not n.startswith("head.")}
    file = written(tmp_path / "b.safetensors", body)
    with pytest.warns(UserWarning, match="has no head; this network's own"):
        small(4, weights=file)


def test_differences_are_one_sentence_that_names_the_first(tmp_path: Path) -> None:
    tensors = small(4).state_dict()
    del tensors["stem.bias"], tensors["norm.weight"]
    file = written(tmp_path / "a.safetensors", tensors)
    said = r"a\.safetensors does not fit WideResNet: it lacks 'stem\.bias' \(1 more differences?\)"
    with pytest.raises(BadInput, match=said):
        small(4, weights=file)
    tensors = {**small(4).state_dict(), "fourth.weight": torch.zeros(2)}
    file = written(tmp_path / "b.safetensors", tensors)
    with pytest.raises(BadInput, match=r"it has 'fourth\.weight', which the network lacks; name"):
        small(4, weights=file)
    with pytest.raises(
        BadInput, match=r"'stem\.weight' is \(16, 3, 3, 3\) and not \(16, 1, 3, 3\)"
    ):
        small(4, channels=1, weights=written(tmp_path / "c.safetensors", small(4).state_dict()))


class Harmful:
    """Unpickling this would create a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return Path.touch, (self.path,)


def test_files_that_would_run_code_are_refused(tmp_path: Path) -> None:
    file, trace = tmp_path / "a.pth", tmp_path / "trace"
    torch.save({"stem.weight": Harmful(trace)}, file)
    with pytest.raises(BadInput, match=r"a\.pth is damaged or holds more than tensors"):
        small(4, weights=str(file))
    file.write_bytes(pickle.dumps(Harmful(trace), protocol=2))
    with pytest.raises(BadInput, match=r"a\.pth"):
        small(4, weights=str(file))
    assert not trace.exists()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.ckpt", b"", "no weights file; name a .safetensors, .pth or .pt file"),
        ("a.safetensors", b"\0\1\2", "cannot be read as safetensors"),
        ("a.pth", b"", "cannot be read as weights|damaged"),
        ("a.pth", b"PK\3\4 and then nothing", "cannot be read as weights|damaged"),
        ("a.safetensors", None, "There is no weights file .*a.safetensors; check the path"),
    ],
)
def test_bad_files_are_one_sentence(
    name: str, content: bytes | None, said: str, tmp_path: Path
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BadInput, match=said) as caught:
        small(4, weights=str(file))
    assert "\n" not in str(caught.value)


def test_a_file_without_weights_by_name_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.pt"
    for record in ({"epoch": 3}, [torch.zeros(2)], {}):
        torch.save(record, file)
        with pytest.raises(BadInput, match=r"a\.pt holds no weights by name"):
            small(4, weights=str(file))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(value: float, tmp_path: Path) -> None:
    tensors = small(4).state_dict()
    name = next(name for name, tensor in tensors.items() if tensor.is_floating_point())
    tensors[name].view(-1)[0] = value
    file = written(tmp_path / "failed.pth", tensors)
    with pytest.raises(BadInput, match=rf"failed\.pth: its '{name}' holds values that are not"):
        small(4, weights=file)
