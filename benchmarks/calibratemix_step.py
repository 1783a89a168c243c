"""What CalibrateMix adds to a FixMatch step, and what its published code's way costs beside ours.

Joined by `benchmarks/step.py`. The published way is the preset "official" in float32, contiguous
memory, one pass after the other over everything, with partners found anchor by anchor in a Python
loop that asks for every value.
"""

import random
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch.nn.functional import cosine_similarity

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.machine import Variant, batch_of, facts, in_memory_step
from mixcal.core.protocols import Calibrator
from mixcal.methods.calibrators.calibratemix import GuidedMixer, calibratemix
from mixcal.methods.mixing.coefficients import beta_draws
from mixcal.methods.mixing.difficulty import is_easy
from mixcal.methods.mixing.guided import Guide, Pairing, Side

OFFICIAL = Variant("joint", "float32", channels_last=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopingGuide:
    """The same pairs as `Guide` draws from, one anchor at a time."""

    k: int = 15
    alpha: float = 0.4

    def pair(self, labeled: Side, unlabeled: Side, generator: torch.Generator) -> Pairing:
        """Every labeled row with one of its k most dissimilar partners of the other difficulty."""
        here = len(labeled.margins)
        sides = (labeled, unlabeled)
        easy = torch.cat([is_easy(side.margins) for side in sides])
        hard = [j for j in range(len(unlabeled.margins)) if not easy[here + j]]
        soft = [j for j in range(len(unlabeled.margins)) if easy[here + j]]
        second = []
        for anchor in range(here):
            candidates = hard if bool(easy[anchor]) else soft
            rows = unlabeled.compared[candidates]
            near = cosine_similarity(labeled.compared[anchor : anchor + 1], rows)
            dissimilar = near.topk(min(self.k, len(candidates)), largest=False).indices.tolist()
            second.append(here + candidates[random.choice(dissimilar)])
        group = (~easy[:here]).long()
        return Pairing(
            first=torch.arange(here),
            second=torch.tensor(second),
            gamma=beta_draws(self.alpha, 2, generator)[group],
            weight=torch.ones(here),
            group=group,
            found=torch.ones(here, dtype=torch.bool),
            easy=easy,
        )


def mixing(**knobs: object) -> Calibrator:
    """CalibrateMix whose warm-up is over."""
    return calibratemix(facts(), warmup_steps=0, **knobs)  # type: ignore[arg-type]


def as_published() -> Calibrator:
    """The preset "official" with its loop."""
    calibrator = mixing(preset="official")
    assert isinstance(calibrator.mixer, GuidedMixer)
    assert isinstance(calibrator.mixer.mix.guide, Guide)
    calibrator.mixer.mix.guide = LoopingGuide()  # type: ignore[assignment]
    return calibrator


def variants() -> dict[str, tuple[Variant, Callable[[], Calibrator]]]:
    """Every step that is timed, by name."""
    found: dict[str, tuple[Variant, Callable[[], Calibrator]]] = {}
    for weak_branch in ("separate", "joint"):
        for precision in ("bf16", "float32"):
            variant = Variant(weak_branch, precision)
            found[f"fixmatch_{variant}"] = (variant, Calibrator)
            found[f"calibratemix_{variant}"] = (variant, mixing)
            if weak_branch == "separate":
                found[f"calibratemix_{variant}_with_strong"] = (
                    variant,
                    lambda: mixing(mixed_branch="with_strong"),
                )
    found["official_as_published"] = (OFFICIAL, as_published)
    found["official_joint_bf16"] = (Variant("joint", "bf16"), lambda: mixing(preset="official"))
    return found


def steps(batch: int, ratio: int) -> dict[str, Callable[[], None]]:
    """Steps on rows that lie ready in memory."""
    ready = {
        last: batch_of(batch, ratio, replace(OFFICIAL, channels_last=last).memory_format)
        for last in (True, False)
    }
    return {
        name: in_memory_step(variant, ready[variant.channels_last], make())
        for name, (variant, make) in variants().items()
    }


def peak_mebibytes(name: str, batch: int, ratio: int) -> float:
    """How far two steps raise the peak of a fresh process's memory."""
    words = [sys.executable, __file__, name, str(batch), str(ratio)]
    return round(float(subprocess.run(words, capture_output=True, check=True, text=True).stdout))


def kibibytes(key: str) -> int:
    """What Linux says of this process's memory: VmRSS, now; VmHWM, the most it ever was.

    getrusage would also count what the process was before it became this program.
    """
    found = re.search(rf"^{key}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def main() -> None:
    name, batch, ratio = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(1)
    variant, make = variants()[name]
    rows = batch_of(batch, ratio, variant.memory_format)
    step = in_memory_step(variant, rows, make())
    before = kibibytes("VmRSS")
    step()
    step()
    print((kibibytes("VmHWM") - before) / 1024)


if __name__ == "__main__":
    main()
