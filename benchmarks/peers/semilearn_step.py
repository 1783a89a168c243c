"""One FixMatch step of semilearn 0.3.2, timed on demand, in an environment of its own.

Run by `benchmarks/step.py` with the interpreter that MIXCAL_PEERS names; needs nothing of mixcal.
Reads "step" lines from standard input and answers each with the CPU seconds of one step. The
package insists on CUDA, torchaudio, aim and wandb, none of which takes part in a step: they are
replaced by empty modules, and torchvision's compiled operators are declared, never called.
"""

import importlib.machinery
import json
import sys
import time
import types
import warnings

warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402

OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


def import_semilearn() -> None:
    """Make the package importable on a machine without a GPU."""
    global library  # must outlive the import
    if torch.version.cuda is None:
        library = torch.library.Library("torchvision", "FRAGMENT")
        for operator in OPERATORS:
            library.define(operator)
        torch.Tensor.cuda = lambda self, *_, **__: self
    for name in ("torchaudio", "aim", "wandb"):
        module = types.ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        sys.modules[name] = module


import_semilearn()

from semilearn import BasicDataset, get_config, get_net_builder  # noqa: E402
from semilearn.algorithms import name2alg  # noqa: E402
from semilearn.core.hooks import EMAHook, ParamUpdateHook  # noqa: E402


def built(batch: int, ratio: int):
    """The package's FixMatch with the hooks of one training step only, on made-up data."""
    config = dict(
        algorithm="fixmatch", net="wrn_28_2", net_from_name=False, use_pretrain=False,
        epoch=1024, num_train_iter=1048576, num_eval_iter=0, num_log_iter=0,
        optim="SGD", lr=0.03, momentum=0.9, weight_decay=5e-4, ema_m=0.999,
        batch_size=batch, uratio=ratio, eval_batch_size=256,
        dataset="made-up", num_classes=10, num_labels=40, img_size=32,
        num_workers=0, gpu=None, world_size=1, rank=0, distributed=False,
        amp=False, clip_grad=0, use_cat=True, resume=False, seed=0,
        use_wandb=False, use_aim=False, ulb_dest_len=1000, lb_dest_len=40,
    )  # fmt: skip
    base = name2alg["fixmatch"]
    kept = ("PseudoLabelingHook", "MaskingHook", "DistAlignHook")

    class Bare(base):
        def set_dataset(self):
            images = np.zeros((1000, 32, 32, 3), np.uint8)
            one = BasicDataset("fixmatch", images, np.arange(1000) % 10, 10, None, False, None)
            return {"train_lb": one, "train_ulb": one, "eval": one, "test": None}

        def set_data_loader(self):
            return {}

        def register_hook(self, hook, name=None, priority="NORMAL"):
            if name in kept or isinstance(hook, ParamUpdateHook | EMAHook):
                super().register_hook(hook, name, priority)

    torch.manual_seed(0)
    logger = types.SimpleNamespace(info=lambda *_: None)
    return Bare(get_config(config), get_net_builder("wrn_28_2", False), None, logger)


def main() -> None:
    batch, ratio = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    algorithm = built(batch, ratio)
    algorithm.model.train()
    algorithm.call_hook("before_run")
    algorithm.epoch = 0
    generator = torch.Generator().manual_seed(0)

    def images(n: int) -> torch.Tensor:
        return torch.randn(n, 3, 32, 32, generator=generator)

    given = dict(
        x_lb=images(batch),
        y_lb=torch.randint(10, (batch,), generator=generator),
        x_ulb_w=images(batch * ratio),
        x_ulb_s=images(batch * ratio),
    )
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() != "step":
            break
        began = time.process_time()
        algorithm.call_hook("before_train_step")
        algorithm.out_dict, algorithm.log_dict = algorithm.train_step(**given)
        algorithm.call_hook("after_train_step")
        algorithm.it += 1
        print(json.dumps(time.process_time() - began), flush=True)


if __name__ == "__main__":
    main()
