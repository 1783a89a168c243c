"""MobileNetV2 against its published parameter count and a file of the published structure."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from mixcal.backbones.mobilenet import mobilenet_v2


def test_parameter_count() -> None:
    with torch.device("meta"):
        network = mobilenet_v2(1000)
    assert sum(parameter.numel() for parameter in network.parameters()) == 3_504_872


def test_a_block_by_hand() -> None:
    torch.manual_seed(0)
    block = mobilenet_v2(10).features[3].eval()
    inputs = torch.randn(2, 24, 8, 8)
    (wide, norm1, _), (each, norm2, _), narrow, norm3 = block.conv
    hidden = F.relu6(norm1(F.conv2d(inputs, wide.weight)))
    hidden = F.relu6(norm2(F.conv2d(hidden, each.weight, padding=1, groups=144)))
    torch.testing.assert_close(block(inputs), norm3(F.conv2d(hidden, narrow.weight)) + inputs)


@pytest.mark.parametrize(
    ("stem", "channels", "size", "last"),
    [("small", 1, 8, 1), ("small", 1, 28, 4), ("small", 3, 32, 4), ("imagenet", 3, 224, 7)],
)
def test_sizes(stem: str, channels: int, size: int, last: int) -> None:
    with torch.device("meta"):
        network = mobilenet_v2(10, channels=channels, stem=stem)
        inputs = torch.empty(2, channels, size, size)
        assert network.features(inputs).shape == (2, 1280, last, last)
        assert network(inputs).logits.shape == (2, 10)


@pytest.mark.parametrize("stem", ["small", "imagenet"])
def test_a_file_with_the_published_names_loads_with_either_stem(stem: str, tmp_path: Path) -> None:
    teacher = mobilenet_v2(1000)
    names = {"head.weight": "classifier.1.weight", "head.bias": "classifier.1.bias"}
    published = {names.get(name, name): t for name, t in teacher.state_dict().items()}
    file = tmp_path / "mobilenet_v2-b0353104.pth"
    torch.save(published, file)
    same = mobilenet_v2(1000, stem=stem, weights=str(file))
    assert all(torch.equal(t, teacher.state_dict()[n]) for n, t in same.state_dict().items())
    with pytest.warns(UserWarning, match=r"a head 1280 → 1000; .* a head 1280 → 10, begins"):
        tuned = mobilenet_v2(10, stem=stem, weights=str(file))
    assert torch.equal(tuned.features[18][0].weight, teacher.features[18][0].weight)
    assert tuned.head.weight.std().item() == pytest.approx(0.01, rel=0.1)
