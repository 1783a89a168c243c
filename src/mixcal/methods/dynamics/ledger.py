"""The margin ledger: what a run remembers of every sample's margins.

Area under the margin (Pleiss et al., NeurIPS 2020; arXiv:2001.10528v4) and average pseudo-margin
(Sosea & Caragea, CVPR 2023; arXiv:2308.09037v1, equation 5), as CalibrateMix uses them
(arXiv:2511.12964):

    "mean":      A ← A + (PM − A) / (t + 1)
    "decayed":   A ← A + (PM − A) · δ / (1 + t)
    "constant":  A ← A + (PM − A) · a            (the first visit sets A = PM)

t counts the visits of that sample before this one, from 0; `first_visit = 1` counts from 1, the
literal reading of equation 5, which starts at half weight and stays biased to zero for long.
"decayed" with δ = 0.997 is the mean to within 2 %: it favors no recent visits, whatever is said.

A sample that occurs more than once in a batch has one visit, with the mean of its margins.
"""

from collections.abc import Mapping
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mixcal.core.errors import BadInput
from mixcal.core.facts import DataFacts
from mixcal.methods.dynamics.mapped_table import MappedTable
from mixcal.methods.dynamics.sixteen_bits import decoded, encoded, largest_error
from mixcal.methods.dynamics.tables import DeviceTable, Field, HostTable, Kind, Table

Average = Literal["mean", "decayed", "constant"]
Precision = Literal["float32", "half"]
MOST_ERROR = 0.05
# Numbers worked on at a time on a CPU.
BLOCK = 131072


class MarginLedger(nn.Module):
    """A running average margin for every sample and column (one column, or one for each class).

    Works alone: `ledger.update(margins, index)` in any training loop, then `ledger.read(...)`.
    """

    # Buffer of a one-column ledger: all positions.
    everybody: Tensor

    def __init__(
        self,
        samples: int,
        columns: int = 1,
        *,
        average: Average = "mean",
        delta: float = 0.997,
        first_visit: Literal[0, 1] = 0,
        rate: float = 0.1,
        store: Kind = "device",
        precision: Precision = "float32",
        facts: DataFacts | None = None,
        name: str = "margins",
    ) -> None:
        super().__init__()
        for knob, value, known in (
            ("average", average, get_args(Average)),
            ("store", store, get_args(Kind)),
            ("precision", precision, get_args(Precision)),
            ("first_visit", first_visit, (0, 1)),
        ):
            if value not in known:
                raise BadInput(f"A ledger's {knob} is {value!r}; it must be one of {known}.")
        if samples < 1 or columns < 1:
            raise BadInput(f"A ledger of {samples} samples by {columns} columns holds nothing.")
        self.average = average
        self.delta = delta
        self.first_visit = first_visit
        self.rate = rate
        self.precision = precision
        self.samples = samples
        self.columns = columns
        dtype = torch.float32 if precision == "float32" else torch.int16
        fields = {"cells": Field(columns, dtype), "visits": Field(1, torch.int32)}
        if precision == "half":
            fields["bounds"] = Field(3, torch.float32)
        self.fields = tuple(fields)
        self.table: Table = _table(store, samples, fields, facts, name)
        if columns == 1:
            self.register_buffer("everybody", torch.arange(samples), persistent=False)

    @torch.no_grad()
    def update(self, margins: Float[Tensor, "n c"], index: Int[Tensor, " n"]) -> None:
        """One visit for each sample of the batch."""
        if margins.shape != (len(index), self.columns):
            raise BadInput(
                f"Margins of shape {tuple(margins.shape)} do not fit {len(index)} samples of a "
                f"ledger with {self.columns} columns."
            )
        if not len(index):
            return
        margins = margins.detach().float()
        if not self.table.on_host or _repeats(index):
            margins = mean_over_equal(margins, index)
        # Blocks: for a thousand classes fresh memory for temporaries costs more than arithmetic.
        # Equal indices in two blocks must not visit twice, so all rows are read before any is
        # written.
        size = max(1, BLOCK // margins.shape[1]) if not margins.is_cuda else len(index)
        blocks = [slice(start, start + size) for start in range(0, len(index), size)]
        changes = [self._updated(margins[block], index[block]) for block in blocks]
        for block, cells in zip(blocks, changes, strict=True):
            self.table.write(index[block], cells)

    def _updated(
        self, margins: Float[Tensor, "n c"], index: Int[Tensor, " n"]
    ) -> dict[str, Tensor]:
        """The rows of these samples after one more visit."""
        rows = self.table.read(index)
        visits = rows["visits"][:, 0]
        weight = self._weight(visits)
        # `rows` are copies of the table's, so this changes nothing behind its back.
        new = self._values(rows).lerp_(margins, weight[:, None])
        cells: dict[str, Tensor] = {"visits": rows["visits"] + 1}
        if self.precision == "half":
            codes, bounds = encoded(new, rows["bounds"], index, visits, weight)
            cells |= {"cells": codes, "bounds": bounds}
        else:
            cells["cells"] = new
        return cells

    @torch.no_grad()
    def read(
        self, index: Int[Tensor, " n"], labels: Int[Tensor, " n"] | None = None
    ) -> Float[Tensor, " n"]:
        """The average margin of each sample at its label (or in its only column)."""
        values = self._values(self.table.read(index))
        if labels is not None:
            return values.gather(1, labels[:, None])[:, 0]
        self._only_one("read without labels")
        return values[:, 0]

    @torch.no_grad()
    def median(self) -> Float[Tensor, ""]:
        """The median over all samples seen so far, of a ledger with one column."""
        self._only_one("the median")
        rows = self.table.read(self.everybody)
        seen = rows["visits"][:, 0] > 0
        return self._values(rows)[:, 0].masked_fill(~seen, float("nan")).nanmedian()

    def _only_one(self, what: str) -> None:
        if self.columns > 1:
            raise BadInput(
                f"This ledger has {self.columns} columns, and {what} is of one; say whose."
            )

    def _values(self, rows: Mapping[str, Tensor]) -> Float[Tensor, "n c"]:
        if self.precision == "half":
            return decoded(rows["cells"], rows["bounds"])
        return rows["cells"]

    def _weight(self, visits: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
        """How much the newest margin counts."""
        count = visits.float()
        if self.average == "mean":
            return 1 / (count + 1)
        if self.average == "decayed":
            return self.delta / (1 + count + self.first_visit)
        return torch.where(visits == 0, 1.0, self.rate)

    def summary(self) -> tuple[Int[Tensor, " n"], Float[Tensor, " n"], Int[Tensor, " n"]]:
        """The column of the largest average margin, that margin, and the visits, of all samples."""
        margins, labels = torch.empty(self.samples), torch.empty(self.samples, dtype=torch.int64)
        whole = {name: self.table.whole(name) for name in self.fields}
        # In blocks: the whole table in float32 may be twice what there is memory for.
        for start in range(0, self.samples, 65_536):
            some = slice(start, start + 65_536)
            rows = {name: cells[some] for name, cells in whole.items()}
            margins[some], labels[some] = self._values(rows).max(1)
        return labels, margins, whole["visits"][:, 0].long()

    def check(self) -> None:
        """Refuse 16-bit memory that may be off by more than 0.05; asks the device once."""
        if self.precision == "float32":
            return
        worst = largest_error(self.table.whole("bounds")[:, 2], self.samples * self.columns)
        # Not a number, too, is no small error.
        if not worst <= MOST_ERROR:
            raise BadInput(
                f"Margins in half precision may be off by {worst:.3f}: they spread too far for 16 "
                "bits after so many visits, and this run cannot go on with them. Begin a new run "
                'with the calibrator\'s precision = "float32".'
            )


def _table(
    store: Kind, samples: int, fields: dict[str, Field], facts: DataFacts | None, name: str
) -> Table:
    if store == "device":
        return DeviceTable(samples, fields)
    if store == "host":
        return HostTable(samples, fields)
    if facts is None or facts.scratch is None:
        raise BadInput("A mapped ledger needs a folder: facts with `scratch`, or train a recipe.")
    return MappedTable(facts.scratch / "ledgers" / name, samples, fields)


def _repeats(index: Int[Tensor, " n"]) -> bool:
    """Whether any index occurs twice; waits for the device."""
    return len(index.unique()) < len(index)


def mean_over_equal(values: Float[Tensor, "n c"], index: Int[Tensor, " n"]) -> Float[Tensor, "n c"]:
    """Each row replaced by the mean of the rows that share its index."""
    order = index.argsort(stable=True)
    ascending = index[order]
    starts = torch.ones_like(ascending)
    starts[1:] = (ascending[1:] != ascending[:-1]).long()
    group = torch.empty_like(order).scatter_(0, order, starts.cumsum(0) - 1)
    counts = torch.zeros_like(values[:, 0]).index_add_(0, group, torch.ones_like(values[:, 0]))
    share = counts[group, None]
    means = torch.empty_like(values)
    size = max(1, BLOCK // len(values)) if not values.is_cuda else values.shape[1]
    for start in range(0, values.shape[1], size):
        part = values[:, start : start + size]
        sums = torch.zeros_like(part).index_add_(0, group, part)
        means[:, start : start + size] = sums.index_select(0, group).div_(share)
    return means
