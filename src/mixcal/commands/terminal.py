"""What a person sees in the terminal while training and at its end."""

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from mixcal.recipe import Recipe

if TYPE_CHECKING:
    from torch import nn

    from mixcal.build import Prepared

FROM = {
    "labels": "of the user's labels",
    "pool": "extra labels from the pool",
    "source": "the data set's own split",
    "none": "no validation",
}


class Bar:
    """A progress bar with loss, error and samples a second; plain lines where nobody watches."""

    def __init__(self, steps: int) -> None:
        self._console = Console(stderr=True)
        self._steps = steps
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[shown]}"),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=steps, shown="")
        self._lines = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def show(self, step: int, means: dict[str, float | None], images_per_second: float) -> None:
        """One more look."""
        loss = sum(v for k, v in means.items() if k.startswith("loss_") and v is not None)
        error = means.get("labeled_error")
        shown = f"loss {loss:.3f}"
        if error is not None:
            shown += f"  error {100 * error:.1f} %"
        shown += f"  {images_per_second:,.0f} samples/s"
        self._bar.update(self._task, completed=step, shown=shown)
        # About twenty lines in a log file, however long the run.
        if not self._console.is_terminal and step * 20 // self._steps > self._lines:
            self._lines = step * 20 // self._steps
            self._console.print(f"step {step} of {self._steps}  {shown}", highlight=False)


def print_table(judgement: dict[str, Any], folder: Path, seconds: float) -> None:
    """The numbers of a finished run and where it lies."""
    console = Console()
    for split in ("test", "validation"):
        judged = judgement["judged"].get(split)
        if judged and (split == "test" or "test" not in judgement["judged"]):
            console.print(numbers_table(split, judged))
    if not judgement["judged"]:
        console.print("Nothing was judged: there are neither test nor validation data.")
    for remark in [text for text in judgement["rescaling"].values() if text][:1]:
        console.print(remark, highlight=False)
    budget = judgement["label_budget"]
    console.print(
        f"label budget: {budget['total']} ({budget['labeled']} labeled + {budget['validation']} "
        f"validation, {FROM[budget['validation_from']]})",
        highlight=False,
    )
    if judgement["watched_test"]:
        console.print("The test data were watched during training.")
    console.print(f"training took {seconds:.1f} s", highlight=False)
    console.print(f"run folder: {folder}", highlight=False, soft_wrap=True)


def numbers_table(split: str, judged: dict[str, Any], what: str = "weights") -> Table:
    """One row for each of `what`: error, ECE with its interval, NLL, Brier."""
    first = next(iter(judged.values()))
    percent = round(100 * first["level"])
    table = Table(title=f"{split}, n = {first['n']:,}")
    table.add_column(what)
    for column in ("error %", f"ECE % ({percent} % interval)", "NLL", "Brier"):
        table.add_column(column, justify="right")
    for weights, summary in judged.items():
        numbers = summary["metrics"]
        ece = numbers["ece"]
        table.add_row(
            weights,
            f"{100 * numbers['error']['value']:.2f}",
            f"{100 * ece['value']:.2f} ({100 * ece['low']:.2f} – {100 * ece['high']:.2f})",
            f"{numbers['nll']['value']:.4f}",
            f"{numbers['brier']['value']:.4f}",
        )
    return table


def print_plan(recipe: Recipe, prepared: "Prepared", network: "nn.Module") -> None:
    """What a dry run shows: the resolved recipe, the splits, the network's size."""
    console = Console()
    console.print(recipe.to_toml(), markup=False, highlight=False, soft_wrap=True)
    splits = prepared.splits
    table = Table(title=f"{prepared.source.name}: {prepared.facts.classes} classes")
    for column in ("labeled", "unlabeled", "validation", "test", "label budget", "hash"):
        table.add_column(column, justify="right")
    table.add_row(
        *(f"{len(part):,}" for part in (splits.labeled, splits.unlabeled, splits.validation)),
        f"{len(splits.test):,}",
        f"{splits.label_budget:,}",
        splits.fingerprint,
    )
    console.print(table)
    count = sum(parameter.numel() for parameter in network.parameters())
    console.print(
        f"{count:,} parameters; {prepared.steps:,} steps, {prepared.epoch_steps:,} an epoch; "
        f"recipe {recipe.fingerprint}, seed {recipe.method.seed}",
        highlight=False,
    )
