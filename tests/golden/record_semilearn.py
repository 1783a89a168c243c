"""Records what semilearn 0.3.2's hooks answer to random logits; run once, in their environment.

    PEERS/bin/python tests/golden/record_semilearn.py tests/golden/semilearn_weights.npz

The arrays are committed; the tests compare ours with them and need nothing of semilearn.
"""

import importlib.machinery
import sys
import types
from importlib.metadata import version

import numpy as np
import torch

STEPS, ROWS, SAMPLES, CLASSES = 200, 24, 60, 5


def import_hooks():
    """The three hooks, past the imports that need a GPU or the network."""
    global library
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    for name in ("torchaudio", "aim", "wandb"):
        module = types.ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        sys.modules[name] = module
    from semilearn.algorithms.flexmatch.utils import FlexMatchThresholdingHook
    from semilearn.algorithms.hooks import DistAlignEMAHook, FixedThresholdingHook
    from semilearn.algorithms.softmatch.utils import SoftMatchWeightingHook

    return (
        FixedThresholdingHook,
        FlexMatchThresholdingHook,
        SoftMatchWeightingHook,
        DistAlignEMAHook,
    )


def main() -> None:
    Fixed, Flex, Soft, Align = import_hooks()
    generator = np.random.default_rng(20261118)
    sharpness = np.linspace(1, 5, STEPS)[:, None, None]
    bias = np.array([1.5, 0.5, 0, -0.5, -1])
    logits = generator.normal(size=(STEPS, ROWS, CLASSES)) * sharpness + bias
    logits = logits.astype(np.float32)
    index = np.stack([generator.permutation(SAMPLES)[:ROWS] for _ in range(STEPS)])
    algorithm = types.SimpleNamespace(
        p_cutoff=0.95, distributed=False, world_size=1, compute_prob=lambda z: z.softmax(-1)
    )
    hooks = {
        "fixmatch": Fixed(),
        "flexmatch_warmup": Flex(SAMPLES, CLASSES, thresh_warmup=True),
        "flexmatch_plain": Flex(SAMPLES, CLASSES, thresh_warmup=False),
    }
    # With the usual momentum nothing falls below the mean within 200 steps; a quicker one shows it.
    softs = {
        "softmatch_quick": (Soft(CLASSES, momentum=0.9), Align(CLASSES, momentum=0.9)),
    }
    weights = {name: [] for name in (*hooks, *softs)}
    for step in range(STEPS):
        z, where = torch.from_numpy(logits[step]), torch.from_numpy(index[step])
        probs = z.softmax(-1)
        for name, hook in hooks.items():
            found = hook.masking(algorithm, logits_x_ulb=probs, idx_ulb=where, softmax_x_ulb=False)
            weights[name].append(found.numpy())
        for name, (soft, align) in softs.items():
            aligned = align.dist_align(algorithm, probs_x_ulb=probs)
            found = soft.masking(algorithm, logits_x_ulb=aligned, softmax_x_ulb=False)
            weights[name].append(found.numpy())
    arrays = {name: np.stack(rows).astype(np.float32) for name, rows in weights.items()}
    made_with = f"semilearn {version('semilearn')}, torch {torch.__version__}"
    np.savez_compressed(
        sys.argv[1], logits=logits, index=index, made_with=np.array(made_with), **arrays
    )


if __name__ == "__main__":
    main()
