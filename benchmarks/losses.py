"""What each loss costs, forward and backward, beside torch's cross-entropy.

    python benchmarks/losses.py [--json] [--records FOLDER] [--rows 1024] [--classes 1000]
                                [--repeats 15] [--only NAME]

CPU seconds of one thread; each loss and F.cross_entropy run in turns on the same logits, and ratios
are medians of pairs, because machines are noisy. Targets are integer labels, two classes a row as
mixup makes them ("mixed"), and distributions over all classes ("dense"), each measured against
F.cross_entropy on the same targets. Losses that read further logits (mixed or augmented rows) are
measured against F.cross_entropy on as many rows as they read. Peaks are what a loss holds at its
worst beyond its logits' own size, forward and backward, by the allocations torch's profiler saw;
the largest over the kinds of targets. `--records` writes one file a loss.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mixcal import losses

# How many sets of logits a loss reads; elsewhere one.
SETS = {"regmixup": 2, "rankmixup": 4, "jensen_shannon": 3}
# All pairs of classes: fewer repeats, or nobody would wait.
QUADRATIC = ("pairwise_constraints",)
FEWER = 7
ONLY_TRUE_CLASS = ("cross_entropy", "focal", "focal_sample_dependent", "inverse_focal", "regmixup")
KINDS = ("labels", "mixed", "dense")

Loss = Callable[[Tensor], Tensor]


def targets_of(kind: str, rows: int, classes: int) -> Tensor:
    """Labels, mixes of two, or distributions."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(classes, (rows,), generator=generator)
    if kind == "labels":
        return labels
    if kind == "dense":
        return torch.randn(rows, classes, generator=generator).softmax(1)
    pure = F.one_hot(labels, classes).float()
    return torch.lerp(pure, pure.flip(0), 0.3)


def every_loss(targets: Tensor, classes: int) -> dict[str, Loss]:
    """Each public loss with its defaults as a function of logits, its mean over the samples."""
    rows, generator = len(targets), torch.Generator().manual_seed(1)
    others = torch.randn(3, rows, classes, generator=generator)
    shares = torch.randn(3, rows, classes, generator=generator).softmax(2)
    more = {
        "correctness_ranking": {"counts": torch.arange(rows) % 7, "most": 7},
        "regmixup": {"mixed_logits": others[0], "mixed_targets": shares[0]},
        "rankmixup": {"mixed_logits": others, "mixed_targets": shares},
        "jensen_shannon": {"augmented_logits": others[:2]},
    }

    def averaged(function: Callable[..., Tensor], logits: Tensor) -> Tensor:
        return function(logits, targets).mean()

    found: dict[str, Loss] = {"torch": partial(averaged, F.cross_entropy)}
    for name in losses.__all__:
        function = partial(vars(losses)[name], **more.get(name, {}))
        found[name] = partial(averaged, function)
    return found


def seconds(loss: Loss, logits: Tensor) -> float:
    """CPU seconds of one forward and backward."""
    began = time.process_time()
    loss(logits).backward()
    spent = time.process_time() - began
    logits.grad = None
    return spent


def ratio(loss: Loss, baseline: Loss, logits: Tensor, repeats: int, sets: int) -> float:
    """The median over pairs, after one warm-up of each."""

    def pair() -> tuple[float, float]:
        return seconds(loss, logits), sum(seconds(baseline, logits) for _ in range(sets))

    pair()
    pairs = [pair() for _ in range(repeats)]
    return statistics.median(ours / theirs for ours, theirs in pairs)


def peak_megabytes(loss: Loss, logits: Tensor) -> float:
    """The most that was held at once, counted from torch's own allocations."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        loss(logits).backward()
    logits.grad = None
    held = most = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            most = max(most, held)
    return most / 2**20


def measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """One loss on every kind of targets."""
    logits = torch.randn(options.rows, options.classes, requires_grad=True)
    repeats = min(FEWER, options.repeats) if name in QUADRATIC else options.repeats
    found: dict[str, Any] = {"loss": name, "reads": reading(name), "logits": SETS.get(name, 1)}
    peaks = []
    for kind in KINDS:
        known = every_loss(targets_of(kind, options.rows, options.classes), options.classes)
        sets = SETS.get(name, 1)
        found[kind] = round(ratio(known[name], known["torch"], logits, repeats, sets), 2)
        peaks.append(peak_megabytes(known[name], logits))
    return {**found, "peak_mib": round(max(peaks), 1), "pairs": repeats}


def reading(name: str) -> str:
    """What of the probabilities a loss looks at, if the targets are labels."""
    if name in QUADRATIC:
        return "all pairs of classes"
    return "the true class" if name in ONLY_TRUE_CLASS else "all classes"


def main() -> None:
    """Measure, print a table, and the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--records", type=Path, help="a folder for one file a loss")
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--only", nargs="*", default=())
    options = parser.parse_args()
    torch.set_num_threads(1)
    records = []
    for name in options.only or losses.__all__:
        records.append(record := measured(name, options))
        shown = "  ".join(f"{kind} {record[kind]:7.2f} x" for kind in KINDS)
        print(f"{name:24s} {shown}   {record['peak_mib']:7.1f} MiB", flush=True)
        if options.records is not None:
            options.records.mkdir(parents=True, exist_ok=True)
            path = options.records / f"{name}.json"
            path.write_text(json.dumps(record, indent=2) + "\n")
    if options.json:
        print(json.dumps({"rows": options.rows, "classes": options.classes, "losses": records}))


if __name__ == "__main__":
    main()
