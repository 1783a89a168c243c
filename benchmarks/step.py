"""What one training step costs: inside and outside the network, and beside semilearn's.

    python benchmarks/step.py [--json] [--repeats 7] [--batch 16] [--ratio 7]

CPU seconds of one thread; variants and peers run in turns and ratios are medians of pairs, because
machines are noisy. With MIXCAL_PEERS naming a Python (or its environment's folder) that has
semilearn 0.3.2, its own FixMatch step joins in. The last line with --json is one JSON object:

- `step_ms`, `network_ms`, `outside_fraction`: a FixMatch step of WRN-28-2 from raw images to
  averaged weights, the part inside the network, and the share outside, by variant; the plain keys
  are those of the dearest share;
- `calibratemix_over_fixmatch`: CalibrateMix's step over our own FixMatch step, by variant;
- `official_over_calibratemix`: the preset "official" run as the published code runs it, over our
  CalibrateMix step, by variant; `peak_mebibytes`: what two such steps add to a process's peak;
- `speedup_vs_semilearn`: by variant, on the same in-memory tensors;
- `strong_views_over_pillow`: images a CPU second of our strong views over Pillow's.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import calibratemix_step
from benchmarks.machine import Variant, batch_of, in_memory_step, network_step, whole_step
from benchmarks.strong_views import strong_views_over_pillow
from benchmarks.turns import Peer, in_turns, peers_python, ratio, seconds

VARIANTS = (
    Variant("separate", "bf16"),
    Variant("separate", "float32"),
    Variant("joint", "bf16"),
    Variant("joint", "float32"),
)


def outside(options: argparse.Namespace) -> dict[str, object]:
    """Whole step against the network alone, by variant."""
    works: dict[str, Callable[[], float]] = {}
    for variant in VARIANTS:
        whole = whole_step(variant, options.batch, options.ratio)
        network = network_step(variant, options.batch, options.ratio)
        works[f"{variant} whole"] = lambda work=whole: seconds(work)
        works[f"{variant} network"] = lambda work=network: seconds(work)
    found = in_turns(works, options.repeats)
    shares, steps, networks = {}, {}, {}
    for variant in map(str, VARIANTS):
        whole, network = found[f"{variant} whole"], found[f"{variant} network"]
        shares[variant] = round(1 - ratio(network, whole), 4)
        steps[variant] = round(1e3 * statistics.median(whole), 1)
        networks[variant] = round(1e3 * statistics.median(network), 1)
    worst = max(shares, key=lambda name: shares[name])
    return {
        "variant": worst,
        "outside_fraction": shares[worst],
        "step_ms": steps[worst],
        "network_ms": networks[worst],
        "outside_fraction_by_variant": shares,
        "step_ms_by_variant": steps,
    }


def mixing(options: argparse.Namespace) -> dict[str, object]:
    """CalibrateMix over FixMatch, and the published code's way over CalibrateMix."""
    ready = calibratemix_step.steps(options.batch, options.ratio)
    works = {name: (lambda step=step: seconds(step)) for name, step in ready.items()}
    found = in_turns(works, options.repeats)
    own = {name for name in found if name.startswith("calibratemix")}
    published = found["official_as_published"]
    return {
        "calibratemix_over_fixmatch": {
            name.removeprefix("calibratemix_"): round(ratio(found[name], found[host_of(name)]), 3)
            for name in sorted(own)
        },
        "official_over_calibratemix": {
            name.removeprefix("calibratemix_"): round(ratio(published, found[name]), 2)
            for name in sorted(own)
        },
        "calibratemix_step_ms": {
            name: round(1e3 * statistics.median(spent), 1) for name, spent in found.items()
        },
        "peak_mebibytes": {
            name: calibratemix_step.peak_mebibytes(name, options.batch, options.ratio)
            for name in found
        },
    }


def host_of(name: str) -> str:
    """The FixMatch step that a CalibrateMix step comes on top of."""
    return name.replace("calibratemix", "fixmatch").removesuffix("_with_strong")


def beside_semilearn(options: argparse.Namespace, python: str) -> dict[str, float]:
    """Pairs of steps on equally many in-memory tensors, by variant."""
    peer = Peer(python, "semilearn_step.py", options.batch, options.ratio)
    batch = batch_of(options.batch, options.ratio)
    found = {}
    for variant in VARIANTS:
        ours = in_memory_step(variant, batch)
        works = {"ours": lambda work=ours: seconds(work), "peer": lambda: peer.ask("step")}
        spent = in_turns(works, options.repeats)
        found[str(variant)] = round(ratio(spent["peer"], spent["ours"]), 3)
    peer.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--ratio", type=int, default=7)
    parser.add_argument("--skip-views", action="store_true")
    parser.add_argument("--skip-outside", action="store_true")
    parser.add_argument("--skip-mixing", action="store_true")
    parser.add_argument("--only-peer", action="store_true", help="only the comparison")
    options = parser.parse_args()
    torch.set_num_threads(1)
    result: dict[str, object] = {"batch": options.batch, "ratio": options.ratio}
    result |= {"repeats": options.repeats, "torch": torch.__version__}
    if not options.only_peer:
        if not options.skip_outside:
            result |= outside(options)
        if not options.skip_mixing:
            result |= mixing(options)
        if not options.skip_views:
            result["strong_views_over_pillow"] = strong_views_over_pillow(options.repeats)
    if python := peers_python():
        result["speedup_vs_semilearn"] = beside_semilearn(options, python)
    else:
        print("MIXCAL_PEERS is not set: no comparison with semilearn", file=sys.stderr)
    if options.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:30s} {value}")


if __name__ == "__main__":
    main()
