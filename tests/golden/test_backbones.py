"""Our networks against torchvision's, timm's and semilearn's answers with the same weights."""

import gzip
import json
from pathlib import Path

import pytest
import torch

from mixcal import catalog
from mixcal.backbones.densenet import TORCHVISION_NAMES as DENSENET
from mixcal.backbones.mobilenet import TORCHVISION_NAMES as MOBILENET
from mixcal.backbones.resnet import TORCHVISION_NAMES as RESNET
from mixcal.backbones.vgg import TORCHVISION_NAMES as VGG
from mixcal.backbones.weights import Renaming, with_tensors
from mixcal.backbones.wide_resnet import PUBLISHED_NAMES as WIDE
from tests.golden.record_backbones import SIZE, made_up, picture

RECORDED = json.loads(gzip.decompress((Path(__file__).parent / "backbones.json.gz").read_bytes()))
IMAGENET = {"stem": "imagenet"}
OURS: dict[str, tuple[str, dict[str, str], int, Renaming]] = {
    "resnet18": ("resnet-18", IMAGENET, 1000, RESNET),
    "resnet50": ("resnet-50", IMAGENET, 1000, RESNET),
    "densenet121": ("densenet-121", IMAGENET, 1000, DENSENET),
    "mobilenet_v2": ("mobilenet-v2", IMAGENET, 1000, MOBILENET),
    "resnext101_32x4d": ("resnext-101", {}, 1000, RESNET),
    "wrn_28_2": ("wrn-28-2", {}, 10, WIDE),
    "wrn_var_37_2": ("wrn-37-2", {}, 10, WIDE),
}


def test_all_that_is_recorded_is_compared() -> None:
    assert set(RECORDED) == {*OURS, "vgg16_bn", "versions"}


@torch.no_grad()
@pytest.mark.parametrize("recorded", OURS)
def test_answers_are_equal_to_rounding(recorded: str) -> None:
    name, knobs, classes, renaming = OURS[recorded]
    network = catalog.make("backbone", name, knobs, classes, channels=3, size=SIZE)
    weights = made_up(RECORDED[recorded]["shapes"])
    network = with_tensors(network, weights, renaming, where=recorded).eval()
    expected = torch.tensor(RECORDED[recorded]["answer"])
    found = network(picture()).logits[:, :10]
    assert expected.std() > 0.1
    torch.testing.assert_close(found, expected, rtol=0, atol=2e-4 * expected.abs().max().item())


@torch.no_grad()
def test_the_convolutions_of_vgg_are_torchvisions() -> None:
    network = catalog.make("backbone", "vgg-16", {}, 10, channels=3, size=SIZE)
    weights = made_up(RECORDED["vgg16_bn"]["shapes"])
    with pytest.warns(UserWarning, match="has no head"):
        network = with_tensors(network, weights, VGG, where="vgg16_bn").eval()
    expected = torch.tensor(RECORDED["vgg16_bn"]["answer"])
    found = network(picture()).features[:, :10]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
