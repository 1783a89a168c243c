"""What each loss costs, forward and backward, beside torch's cross-entropy.

    python benchmarks/losses.py [--json] [--rows 1024] [--classes 1000] [--repeats 15] [--only NAME]

CPU seconds of one thread; each loss and F.cross_entropy run in turns on the same logits, and ratios
are medians of pairs, because machines are noisy. Targets are integer labels, and with `soft` in the
name distributions over all classes, measured against F.cross_entropy on the same distributions.
Losses that read further logits (mixed or augmented rows) are measured against F.cross_entropy on as
many rows as they read.
`peak_mb` is what a loss holds at its worst beyond its logits' own size, forward and backward, by
the allocations torch's profiler saw. The last line with --json is one JSON object with `rows`,
`classes`, `ratio` and `peak_mb`, both by name.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from mixcal import losses

# How many sets of logits a loss reads; elsewhere one.
SETS = {"regmixup": 2, "rankmixup": 4, "jensen_shannon": 3}
# All pairs of classes, or of samples: fewer repeats, or nobody would wait.
QUADRATIC = ("pairwise_constraints",)

Loss = Callable[[Tensor], Tensor]


def every_loss(rows: int, classes: int, *, soft: bool) -> dict[str, Loss]:
    """Each public loss with its defaults as a function of logits, its mean over the samples."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(classes, (rows,), generator=generator)
    targets: Tensor = torch.randn(rows, classes, generator=generator).softmax(1) if soft else labels
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


def main() -> None:
    """Measure, print a table, and the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--only", nargs="*", default=())
    options = parser.parse_args()
    torch.set_num_threads(1)
    logits = torch.randn(options.rows, options.classes, requires_grad=True)
    ratios, peaks = {}, {}
    for soft in (False, True):
        known = every_loss(options.rows, options.classes, soft=soft)
        for name, loss in known.items():
            if name == "torch" or (options.only and name not in options.only):
                continue
            label = f"{name} soft" if soft else name
            repeats = max(3, options.repeats // 5) if name in QUADRATIC else options.repeats
            ratios[label] = round(
                ratio(loss, known["torch"], logits, repeats, SETS.get(name, 1)), 2
            )
            peaks[label] = round(peak_megabytes(loss, logits), 1)
            print(f"{label:32s} {ratios[label]:7.2f} x   {peaks[label]:8.1f} MB", flush=True)
    if options.json:
        record = {"rows": options.rows, "classes": options.classes}
        print(json.dumps({**record, "ratio": ratios, "peak_mb": peaks}))


if __name__ == "__main__":
    main()
