"""What a margin ledger of ImageNet's size takes: bytes, and CPU time for the update of one batch.

    python benchmarks/ledger.py [--write docs/evidence/rows/ledger]

1.28 million samples by 1,000 classes in 16 bits, on the device (here: in memory) and in a mapped
file. Batches of 448 rows at random places; CPU milliseconds of one thread, the median over the
updates of a pass. In the first pass the system hands out each page that is touched, once for the
whole run; `update_ms` is that of later passes. Each pass is a stretch between two checkpoints and
overwrites each of its rows once, so that a mapped ledger records every one of them; `undo_ratio` is
the size of its undo file over that of the rows. With --write each storage gets a JSON file for the
evidence pages.
"""

import argparse
import json
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch

from mixcal.core.facts import DataFacts
from mixcal.methods.dynamics.ledger import MarginLedger, Precision
from mixcal.methods.dynamics.mapped_table import MappedTable
from mixcal.methods.dynamics.margins import pseudo_margins
from mixcal.methods.dynamics.tables import Kind

SAMPLES, CLASSES, BATCH = 1_281_167, 1_000, 448
PASSES = 3


def gigabytes(ledger: MarginLedger, folder: Path) -> float:
    """Of all buffers, or of all files but the undo records."""
    sizes = [buffer.nbytes for name, buffer in ledger.named_buffers() if "everybody" not in name]
    sizes += [path.stat().st_size for path in folder.rglob("*.bin")]
    return sum(sizes) / 1e9


def undo_ratio(folder: Path, rows: int, whole: float) -> float | None:
    """Bytes of the newest undo file over those of as many rows of the table."""
    files = sorted(folder.rglob("undo-*"))
    table = whole * 1e9 / SAMPLES * rows
    return round(files[-1].stat().st_size / table, 3) if files else None


def measured(store: Kind, precision: Precision, updates: int) -> dict[str, object]:
    """One ledger's record."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        facts = DataFacts(classes=CLASSES, class_counts=(0,) * CLASSES, labeled=0, scratch=folder)
        ledger = MarginLedger(
            SAMPLES, CLASSES, average="decayed", store=store, precision=precision, facts=facts
        )
        generator = torch.Generator().manual_seed(0)
        seen = torch.randperm(SAMPLES, generator=generator)[: updates * BATCH]
        spent: list[list[float]] = []
        for number in range(PASSES):
            spent.append([])
            if isinstance(ledger.table, MappedTable):
                ledger.table.mark(number)
                ledger.table.forget(number)
            for index in seen[torch.randperm(len(seen), generator=generator)].split(BATCH):
                margins = pseudo_margins(torch.randn(BATCH, CLASSES, generator=generator) * 3)
                began = time.process_time()
                ledger.update(margins, index)
                spent[-1].append(1e3 * (time.process_time() - began))
        later = [value for one in spent[1:] for value in one]
        return {
            "storage": store,
            "precision": precision,
            "samples": SAMPLES,
            "classes": CLASSES,
            "rows": BATCH,
            "gigabytes": round(gigabytes(ledger, folder), 3),
            "update_ms": round(statistics.median(later), 2),
            "update_ms_p90": round(statistics.quantiles(later, n=10)[-1], 2),
            "undo_ratio": undo_ratio(folder, len(seen), gigabytes(ledger, folder)),
            "first_visit_ms": round(statistics.median(spent[0]), 2),
            "updates": len(later),
            "torch": torch.__version__,
            "machine": platform.machine(),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for store in ("device", "mapped"):
        record = measured(store, "half", options.updates)
        print(json.dumps(record))
        if options.write is not None:
            options.write.mkdir(parents=True, exist_ok=True)
            path = options.write / f"{store}-half.json"
            path.write_text(json.dumps(record, indent=1) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
