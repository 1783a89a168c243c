"""Swin-V2 against its published parameter count and against transformers' own forward pass."""

import builtins

import pytest
import torch
from safetensors.torch import save_file

from mixcal.backbones.swin import swin_v2
from mixcal.core.errors import BadInput

TINY = {"width": 12, "depths": (1, 2), "heads": (2, 3), "window": 4, "patch": 2}


def test_the_default_is_swin_v2_t() -> None:
    network = swin_v2(1000)
    assert sum(parameter.numel() for parameter in network.parameters()) == 28_347_154


@pytest.mark.parametrize(("channels", "size"), [(1, 8), (1, 28), (3, 32), (3, 30)])
def test_equals_the_librarys_own_pass(channels: int, size: int) -> None:
    torch.manual_seed(0)
    network = swin_v2(10, channels=channels, size=size, **TINY).eval()
    inputs = torch.randn(2, channels, size, size)
    hidden = network.body(inputs).last_hidden_state
    answer = network(inputs)
    torch.testing.assert_close(answer.features, hidden.mean(1))
    assert answer.logits.shape == (2, 10)


def test_files_in_the_librarys_names_load(tmp_path) -> None:
    teacher = swin_v2(10, size=16, **TINY)
    names = {"body.": "swinv2.", "head.": "classifier."}
    tensors = {
        names[name[:5]] + name[5:]: tensor.contiguous()
        for name, tensor in teacher.state_dict().items()
    }
    save_file(tensors, tmp_path / "model.safetensors")
    file = str(tmp_path / "model.safetensors")
    again = swin_v2(10, size=16, weights=file, **TINY)
    for name, tensor in again.state_dict().items():
        assert torch.equal(tensor, teacher.state_dict()[name])


def test_drop_path_grows_to_the_value_asked_for() -> None:
    network = swin_v2(10, size=16, path_dropout=0.3, **TINY)
    rates = [
        0.0 if isinstance(block.drop_path, torch.nn.Identity) else block.drop_path.drop_prob
        for layer in network.body.encoder.layers
        for block in layer.blocks
    ]
    assert rates == pytest.approx([0, 0.15, 0.3])


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"heads": (2, 5)}, r"heads are \[2, 5\]; stages of widths \[12, 24\] need as many"),
        ({"heads": (2,)}, r"heads are \[2\]; stages of widths \[12, 24\] need as many numbers"),
        ({"size": 3}, "with patch 2 and 2 stages needs 4 pixels, not 3; take a smaller patch"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(knobs: dict, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        swin_v2(10, **{"size": 16, **TINY, **knobs})


def test_without_transformers_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load = builtins.__import__

    def refuse(name: str, *rest: object, **more: object) -> object:
        if name == "transformers":
            raise ImportError("no module named transformers")
        return load(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(BadInput, match=r"needs transformers.*pip install 'mixcal\[csm\]'"):
        swin_v2(10, size=16, **TINY)
