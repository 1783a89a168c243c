"""Records names, shapes and answers of other people's networks; run once, in their environment.

    PEERS/bin/python tests/golden/record_backbones.py tests/golden/backbones.json.gz

torchvision 0.28.0, timm 1.0.31 and semilearn 0.3.2. The weights are made up out of the names, so
that the file holds no weights; the tests make up the same, load them by name into our networks and
compare the answers.
"""

import gzip
import importlib.machinery
import json
import sys
import types
from collections import OrderedDict
from collections.abc import Mapping
from importlib.metadata import version

import torch
from torch import Tensor, nn

SIZE = 64


def made_up(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """Weights for these names and shapes, with which activations neither vanish nor explode."""
    generator = torch.Generator().manual_seed(0)
    tensors = {}
    for name in sorted(shapes):
        shape = tuple(shapes[name])
        if name.endswith("num_batches_tracked"):
            tensors[name] = torch.tensor(7)
            continue
        noise = torch.randn(shape, generator=generator)
        if len(shape) > 1:
            tensors[name] = noise / noise[0].numel() ** 0.5
        elif name.endswith("running_var"):
            tensors[name] = 0.5 + noise.abs()
        elif name.endswith("weight"):
            tensors[name] = 1 + 0.1 * noise
        else:
            tensors[name] = 0.1 * noise
    return tensors


def picture(size: int = SIZE) -> Tensor:
    """Two images to look at."""
    return torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def record(network: nn.Module, answer) -> dict[str, object]:
    """Names with shapes, and what the network answers in evaluation mode."""
    network.eval()
    shapes = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    network.load_state_dict(made_up(shapes))
    found = answer(network, picture())
    return {"shapes": shapes, "answer": [[round(v, 6) for v in row] for row in found.tolist()]}


def import_networks():
    """torchvision's models, timm and semilearn's builders, past the imports that need a GPU."""
    global library  # must outlive the import
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    for name in ("torchaudio", "aim", "wandb"):
        module = types.ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        sys.modules[name] = module
    import timm
    from semilearn.nets.wrn.wrn import wrn_28_2
    from semilearn.nets.wrn.wrn_var import wrn_var_37_2
    from torchvision import models

    return models, timm, wrn_28_2, wrn_var_37_2


def main() -> None:
    models, timm, wrn_28_2, wrn_var_37_2 = import_networks()

    def logits(network, inputs):
        return network(inputs)[:, :10]

    def usb(network, inputs):
        return network(inputs)["logits"]

    def maps(network, inputs):
        return network(inputs).mean((2, 3))[:, :10]

    recorded = {
        "resnet18": record(models.resnet18(), logits),
        "resnet50": record(models.resnet50(), logits),
        "densenet121": record(models.densenet121(), logits),
        "mobilenet_v2": record(models.mobilenet_v2(), logits),
        "vgg16_bn": record(nn.Sequential(OrderedDict(features=models.vgg16_bn().features)), maps),
        "resnext101_32x4d": record(timm.create_model("resnext101_32x4d"), logits),
        "wrn_28_2": record(wrn_28_2(num_classes=10), usb),
        "wrn_var_37_2": record(wrn_var_37_2(num_classes=10), usb),
    }
    packages = ("torch", "torchvision", "timm", "semilearn")
    recorded["versions"] = {name: version(name) for name in packages}
    with open(sys.argv[1], "wb") as file:
        file.write(gzip.compress(json.dumps(recorded).encode(), mtime=0))


if __name__ == "__main__":
    main()
