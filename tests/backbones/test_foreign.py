"""Other people's networks: ours with their parts against what they answered themselves."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from mixcal import catalog
from mixcal.backbones.foreign import adapted, as_backbone, named
from mixcal.backbones.wide_resnet import small
from mixcal.core.activations import Backbone, Between
from mixcal.core.errors import BadInput


class Theirs(nn.Module):
    """A network as people write them: convolution, batch norm, two linear layers."""

    def __init__(self, classes: int = 7) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, padding=1)
        self.norm = nn.BatchNorm2d(6)
        self.classifier = nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, classes))

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = self.norm(self.conv(inputs)).relu().mean((2, 3))
        return self.classifier(hidden)


PICTURES = torch.linspace(-2, 2, 4 * 3 * 8 * 8).view(4, 3, 8, 8).sin()


@pytest.mark.parametrize("training", [True, False])
def test_the_adapted_module_answers_as_before(training: bool) -> None:
    torch.manual_seed(0)
    theirs = Theirs().train(training)
    ours = adapted(theirs, example=PICTURES)
    assert isinstance(ours, Backbone)
    assert ours.training == theirs.training == training
    assert theirs.norm.num_batches_tracked == ours.body.norm.num_batches_tracked == 0
    answer = ours(PICTURES)
    torch.testing.assert_close(answer.logits, theirs(PICTURES))
    torch.testing.assert_close(ours.head(answer.features), answer.logits)
    assert answer.features.shape == (4, ours.feature_width) == (4, 9)
    assert ours.head is not theirs.classifier[2]


def test_another_number_of_classes_gets_a_new_head() -> None:
    theirs = Theirs()
    assert adapted(theirs, classes=7).head.weight.equal(theirs.classifier[2].weight)
    ours = adapted(theirs, classes=4)
    assert ours(PICTURES).logits.shape == (4, 4)
    assert theirs(PICTURES).shape == (4, 7)


def test_mixing_reaches_its_input_only() -> None:
    ours = adapted(Theirs()).eval()
    assert ours.stages == ("input",)
    mixed = ours(PICTURES, between=Between("input", lambda hidden: hidden.flip(0))).logits
    torch.testing.assert_close(mixed, ours(PICTURES).logits.flip(0))
    with pytest.raises(BadInput, match="no stage 'group1'"):
        ours(PICTURES, between=Between("group1", lambda hidden: hidden))


def test_dropout_stands_before_the_head() -> None:
    ours = adapted(Theirs(), dropout=0.5).train()
    ours.body.eval()
    first, second = ours(PICTURES).features, ours(PICTURES).features
    assert not torch.equal(first, second)
    assert torch.equal(ours.eval()(PICTURES).features, ours(PICTURES).features)


class Early(Theirs):
    """Its last registered linear layer is not its last."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 6)

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = self.norm(self.conv(inputs)).relu().mean((2, 3))
        return self.classifier(self.first(hidden))


class LogProbs(Theirs):
    """Something follows its last linear layer."""

    def forward(self, inputs: Tensor) -> Tensor:
        return super().forward(inputs).log_softmax(1)


class Record(Theirs):
    """Its answer is not a tensor."""

    def forward(self, inputs: Tensor) -> dict[str, Tensor]:
        return {"logits": super().forward(inputs)}


def test_a_head_that_is_not_the_last_one_registered_can_be_named() -> None:
    theirs = Early().eval()
    with pytest.raises(BadInput, match="Early's layer 'first' does not make the logits"):
        adapted(theirs, example=PICTURES)
    ours = adapted(theirs, head="classifier.2", example=PICTURES)
    torch.testing.assert_close(ours(PICTURES).logits, theirs(PICTURES))
    with pytest.raises(BadInput, match=r"no linear layer 'fc'; it has 'classifier\.0', 'class"):
        adapted(theirs, head="fc")


@pytest.mark.parametrize("kind", [LogProbs, Record])
def test_modules_that_do_more_than_logits_are_refused(kind: type[nn.Module]) -> None:
    with pytest.raises(BadInput, match=f"{kind.__name__}'s layer .* name the last linear layer"):
        adapted(kind(), example=PICTURES)


def test_modules_without_a_linear_layer_inside_are_refused() -> None:
    for module in (nn.Conv2d(3, 4, 1), nn.Linear(4, 2)):
        with pytest.raises(BadInput, match="has no linear layer inside"):
            adapted(module)


def test_images_it_does_not_take_are_one_sentence() -> None:
    with pytest.raises(BadInput, match=r"Theirs does not take images of \(1, 8, 8\)") as caught:
        adapted(Theirs(), example=PICTURES[:, :1])
    assert "\n" not in str(caught.value)


def test_backbones_stay_and_others_are_adapted() -> None:
    own = small(4)
    assert as_backbone(own, 4, channels=3, size=8) is own
    other = as_backbone(Theirs(), 4, channels=3, size=8)
    assert other(PICTURES).logits.shape == (4, 4)


LIBRARY = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 5, 3)
        self.fc = nn.Linear(5, classes)

    def forward(self, inputs):
        answer = self.fc(self.conv1(inputs).mean((2, 3)))
        return answer
"""
TORCHVISION = """
def list_models(module=None):
    return ["net18", "net50"]

def get_model(name, weights=None, num_classes=1000):
    assert weights is None and name in list_models()
    return Net(num_classes)
"""
TIMM = """
def list_models():
    return ["net_tiny"]

def is_model(name):
    return name in list_models()

def create_model(name, pretrained=True, num_classes=1000):
    assert not pretrained
    return Net(num_classes)
"""


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand-ins for torchvision and timm, with as much of their interface as is used."""
    for name in ("torchvision", "torchvision.models", "timm"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "torchvision").mkdir()
    (tmp_path / "torchvision" / "__init__.py").write_text("from torchvision import models\n")
    (tmp_path / "torchvision" / "models.py").write_text(LIBRARY + TORCHVISION)
    (tmp_path / "timm.py").write_text(LIBRARY + TIMM)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize("model", ["torchvision:net18", "timm:net_tiny"])
def test_a_named_model_with_a_file_in_its_own_names(model: str, libraries: Path) -> None:
    first = named(4, model=model, size=8)
    tensors = {
        name.removeprefix("body.").replace("head.", "fc."): tensor
        for name, tensor in first.state_dict().items()
    }
    assert set(tensors) == {"conv1.weight", "conv1.bias", "fc.weight", "fc.bias"}
    save_file(tensors, libraries / "weights.safetensors")
    knobs = {"weights": str(libraries / "weights.safetensors")}
    again = catalog.make("backbone", model, knobs, 4, channels=3, size=8)
    assert torch.equal(again(PICTURES).logits, first(PICTURES).logits)
    gray = catalog.make("backbone", model, knobs, 4, channels=1, size=8)
    expected = again(PICTURES[:, :1].repeat(1, 3, 1, 1)).logits
    torch.testing.assert_close(gray(PICTURES[:, :1]).logits, expected)
    with pytest.warns(UserWarning, match="begins with its own initialization"):
        catalog.make("backbone", model, knobs, 6, channels=3, size=8)


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize(
    ("model", "channels", "said"),
    [
        ("torchvision:net19", 3, "torchvision has no model 'net19'; did you mean 'net18'?"),
        ("timm:convnext", 3, "timm has no model 'convnext'; it has 'net_tiny'"),
        ("keras:net18", 3, "write torchvision:NAME or timm:NAME"),
        ("torchvision:", 3, "write torchvision:NAME or timm:NAME"),
        ("torchvision:net18", 4, "takes images of 1 or 3 channels, not 4"),
    ],
)
def test_what_cannot_be_named_is_one_sentence(model: str, channels: int, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        named(4, channels=channels, model=model)
    assert said in str(caught.value)


def test_a_library_that_is_absent_or_broken_is_one_sentence(
    libraries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = "raise RuntimeError('operator torchvision::nms does not exist\\nand more')\n"
    (libraries / "torchvision" / "__init__.py").write_text(broken)
    (libraries / "timm.py").write_text("import torchvision\n")
    for model in ("torchvision:net18", "timm:net_tiny"):
        with pytest.raises(BadInput) as caught:
            named(4, model=model)
        library = model.partition(":")[0]
        assert str(caught.value).startswith(
            f"{library} cannot be imported (operator torchvision::nms does not exist); install a "
        )
        assert "\n" not in str(caught.value)
    monkeypatch.setitem(sys.modules, "torchvision", None)
    with pytest.raises(BadInput, match=r"^torchvision cannot be imported|^torchvision is not"):
        named(4, model="torchvision:net18")


ABSENT = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torchvision", "timm"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
from mixcal import catalog
from mixcal.core.errors import BadInput
import mixcal.build
for entry in catalog.ENTRIES:
    if entry.kind == "backbone":
        entry.factory()
for name in ("small", "wrn-16-1", "resnet-18", "vgg-16", "mobilenet-v2"):
    catalog.make("backbone", name, {}, 4, channels=3, size=32)
print([name for name in ("torchvision", "timm", "transformers") if name in sys.modules])
try:
    catalog.make("backbone", "torchvision:resnet18", {}, 4, channels=3, size=32)
except BadInput as error:
    print(error)
"""


def test_our_own_networks_import_no_other_library() -> None:
    found = subprocess.run(
        [sys.executable, "-c", ABSENT], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert found[0] == "[]"
    assert found[1].startswith("torchvision is not installed; install a torchvision that fits")


def test_a_backbone_is_known_by_what_python_3_12_can_see():
    """From 3.12 on a protocol is checked without `__getattr__`, by which torch finds modules."""
    network = small(3, channels=1)
    members = Backbone.__protocol_attrs__ if hasattr(Backbone, "__protocol_attrs__") else ()
    for name in members or ("stages", "feature_width", "__call__"):
        inspect.getattr_static(network, name)
    assert as_backbone(network, 3) is network
