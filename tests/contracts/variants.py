"""The calibrators under contract: every entry of the catalog, awake, in its notable variants."""

from collections.abc import Callable
from typing import Any

from mixcal.catalog import ENTRIES, make
from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Calibrator, combine
from tests.contracts.toy_methods import TOYS
from tests.support.mixed import toy_store

# Knobs under which an entry does something at every step of a toy run; none: as it comes.
AWAKE: dict[str, dict[str, Any]] = {
    "calibratemix": {"warmup_steps": 0},
    "random-mixup": {"warmup_steps": 0},
}
# Further variants of an entry, by a name of their own.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "calibratemix-official": ("calibratemix", {"preset": "official", "warmup_steps": 0}),
    "calibratemix-anchored": ("calibratemix", {"preset": "anchored", "warmup_steps": 0}),
    "calibratemix-with-strong": (
        "calibratemix",
        {"mixed_branch": "with_strong", "warmup_steps": 0},
    ),
    "calibratemix-all": ("calibratemix", {"pairs": "all", "warmup_steps": 0, "k": 0.0}),
    "calibratemix-features": (
        "calibratemix",
        {"space": "features", "dissimilarity": "euclidean", "warmup_steps": 0},
    ),
    "calibratemix-pool": (
        "calibratemix",
        {"median": "pool", "split": "median", "warmup_steps": 0, "draw": "sample"},
    ),
    "calibratemix-soft": (
        "calibratemix",
        {"pseudo_targets": "soft", "weight_by_host": True, "warmup_steps": 0, "gamma": 0.4},
    ),
    "calibratemix-half": ("calibratemix", {"precision": "half", "warmup_steps": 0}),
    "random-mixup-anchored": ("random-mixup", {"anchor": "labeled", "warmup_steps": 0}),
    "mixup-two-loaders": ("mixup", {"pairing": "two_loaders", "draw": "sample"}),
    "feature-only-mixup-two-loaders": ("feature-only-mixup", {"pairing": "two_loaders"}),
    "manifold-mixup-bce": ("manifold-mixup", {"stages": ["group1", "group2"], "loss": "bce"}),
    "cutmix-always": ("cutmix", {"probability": 1.0}),
    "augmix-own-pass": ("augmix", {"joint_forward": False, "weight": 1.0, "depth": 2}),
    "rankmixup-mrl": ("rankmixup", {"variant": "mrl", "joint_forward": True}),
    "regmixup-own-pass": ("regmixup", {"joint_forward": False, "scale": 0.5}),
    "entropy-penalty-mean": ("entropy-penalty", {"entropy_reduction": "mean_K"}),
    "cals-near": ("cals", {"margin": 0.5}),
    "focal-flsd": ("focal", {"variant": "sample_dependent"}),
    "focal-scheduled": ("focal", {"variant": "scheduled", "epochs": [0, 3, 5]}),
    "inverse-focal-everywhere": (
        "inverse-focal",
        {"parts": ["labeled", "unlabeled", "mixed"]},
    ),
    "brier-mean": ("brier", {"reduction": "mean_K"}),
    "mmce-plain": ("mmce", {"variant": "plain"}),
    "mmce-m": ("mmce", {"variant": "m"}),
    "mmce-m-sq": ("mmce", {"variant": "m_sq"}),
    "mmce-port": ("mmce", {"variant": "port"}),
    "arc-v2-bins": ("arc", {"variant": "V2", "bins": [5, 15, 30], "bin_weight": "count"}),
    "arc-validation": ("arc", {"placement": "validation"}),
    "arc-xtilde-alone": ("arc", {"placement": "xtilde"}),
}
# Calibrators that do something else together than alone.
TOGETHER: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "arc-mixup": (("mixup", {}), ("arc", {"placement": "x1x2"})),
    "arc-mixup-two-loaders": (
        ("mixup", {"pairing": "two_loaders"}),
        ("arc", {"placement": "x1x2", "joint_forward": True, "bins": 15}),
    ),
    "arc-mixup-mixed": (("mixup", {}), ("arc", {"placement": "xtilde"})),
    "arc-mixup-plain": (("mixup", {}), ("arc", {"placement": "plain"})),
    "arc-calibratemix": (("calibratemix", {"warmup_steps": 0}), ("arc", {})),
    "mmce-mixup": (("mixup", {}), ("mmce", {})),
    "mmce-mixup-mixed": (("mixup", {}), ("mmce", {"placement": "xtilde"})),
    "cals-mixup": (("mixup", {}), ("cals", {"margin": 0.5})),
    "crl-regmixup": (("regmixup", {}), ("crl", {})),
    "crl-mixup": (("mixup", {}), ("crl", {})),
}


def maker(name: str, knobs: dict[str, Any]) -> Callable[[DataFacts], Calibrator]:
    """A function of the facts."""
    return lambda facts: make("calibrator", name, knobs, facts)


def together(*parts: tuple[str, dict[str, Any]]) -> Callable[[DataFacts], Calibrator]:
    """Several calibrators as one."""
    return lambda facts: combine([make("calibrator", *part, facts) for part in parts])


MAKERS: dict[str, Callable[[DataFacts], Calibrator]] = {
    **{
        entry.name: maker(entry.name, AWAKE.get(entry.name, {}))
        for entry in ENTRIES
        if entry.kind == "calibrator"
    },
    **{variant: maker(*known) for variant, known in VARIANTS.items()},
    **{variant: together(*parts) for variant, parts in TOGETHER.items()},
    "csm": lambda facts: make("calibrator", "csm", {"images": toy_store()}, facts),
    "csm-joint": lambda facts: make(
        "calibrator", "csm", {"images": toy_store(), "joint_forward": True, "s": 2.0}, facts
    ),
    **TOYS,
}
