"""The index of methods, made from the catalog and from the docstrings it leads to."""

import importlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mixcal.catalog import ENTRIES, Entry, make
from mixcal.core.errors import BadInput
from mixcal.core.facts import DataFacts
from mixcal.core.protocols import Calibrator, combine
from mixcal.methods.algorithms.fixmatch import fixmatch
from mixcal.methods.objectives.semi_supervised import SemiSupervised
from mixcal.methods.objectives.supervised import Supervised

HEAD = """# Methods

Every algorithm, calibrator, backbone and data source that a recipe can name, with its formula, its
knobs at their defaults, where it comes from and what differs there. This page is made from the
catalog and the modules' docstrings; make it anew with

    mixcal methods --page docs/methods.md

z are logits, p = softmax(z), q the target distribution, K classes, N rows. "Hosts" is what the
method can run on, found by trying: supervised training; a semi-supervised algorithm whose weak rows
share the main pass (`weak_branch = "joint"`); and one whose weak rows have a pass of their own
(`"separate"`). A knob that is unset follows from the others; "none" in a recipe unsets it again.
"""
# Where a docstring says what it takes from its source and what not.
AGAINST_SOURCE = re.compile(
    r"\b[Aa]s in (the paper|two)|Differs from|published code|No code was published|\bours\b"
)
SENTENCE = re.compile(r"(?<=[.;])\s+(?=[A-ZΑ-Ωα-ω`\"])")


@dataclass(frozen=True, slots=True)
class Text:
    """A module's docstring in parts."""

    source: str
    formulas: tuple[str, ...]
    notes: tuple[str, ...]
    against_source: str


def text_of(entry: Entry) -> Text:
    """The first paragraph, the indented blocks, the rest, and what it says of its source."""
    module = importlib.import_module(entry.target.partition(":")[0])
    paragraphs = (module.__doc__ or "").strip("\n").split("\n\n")
    blocks = [part for part in paragraphs[1:] if part.startswith("    ")]
    notes, against = [], ""
    for paragraph in (part for part in paragraphs[1:] if not part.startswith("    ")):
        if re.search(r"^- ", paragraph, re.MULTILINE):
            notes.append(paragraph)
            against = against or ("as listed above" if AGAINST_SOURCE.search(paragraph) else "")
            continue
        sentences = SENTENCE.split(" ".join(paragraph.split()))
        cut = next((i for i, one in enumerate(sentences) if AGAINST_SOURCE.search(one)), None)
        kept = sentences if cut is None or against else sentences[:cut]
        if cut is not None and not against:
            against = " ".join(sentences[cut:])
        if kept:
            notes.append(" ".join(kept))
    formulas = tuple("\n".join(line[4:] for line in block.split("\n")) for block in blocks)
    return Text(entry.source(), formulas, tuple(notes), against)


def methods_page() -> str:
    """The whole page."""
    kinds = {
        "algorithm": "Semi-supervised algorithms",
        "calibrator": "Calibrators",
        "backbone": "Backbones",
        "source": "Data sources",
    }
    parts = [HEAD]
    for kind, title in kinds.items():
        entries = [entry for entry in ENTRIES if entry.kind == kind]
        parts.append(f"## {title}\n")
        if kind in ("algorithm", "calibrator"):
            parts += [_section(entry) for entry in entries]
        else:
            parts.append(_table(entries))
    return "\n".join(parts)


def _section(entry: Entry) -> str:
    text = text_of(entry)
    lines = [f"### {entry.name}", "", text.source, ""]
    for formula in text.formulas:
        lines += ["```text", formula, "```", ""]
    for note in text.notes:
        lines += [note, ""]
    lines += [f"- **Knobs**: {_knobs(entry) or 'none'}"]
    lines += [f"- **Idea**: {_idea(entry)}"]
    if text.against_source:
        lines += [f"- **Against its source**: {text.against_source}"]
    lines += [f"- **Hosts**: {hosts_of(entry)}", ""]
    return "\n".join(lines)


def _table(entries: Iterable[Entry]) -> str:
    lines = ["| name | knobs | where it comes from | idea |", "| --- | --- | --- | --- |"]
    for entry in entries:
        cells = (f"`{entry.name}`", _knobs(entry), entry.source(), _idea(entry))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])


def _idea(entry: Entry) -> str:
    return "a paper's" if entry.origin == "paper" else "ours"


def _knobs(entry: Entry) -> str:
    return ", ".join(_knob(name, value) for name, value in entry.knobs().items())


def _knob(name: str, value: Any) -> str:
    # Unset is no value: "none" is a choice of some knobs.
    return f"`{name}` unset" if value is None else f"`{name} = {_toml(value)}`"


def _toml(value: Any) -> str:
    """As a recipe writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return str(value)


def hosts_of(entry: Entry) -> str:
    """Where the entry runs as it comes, and the sentence of every host that refuses."""
    if entry.kind == "algorithm":
        return "it is one"
    hosts: dict[str, tuple[int, Callable[[Calibrator], object]]] = {
        "supervised": (0, Supervised),
        "joint": (100, _semi_supervised("joint")),
        "separate": (100, _semi_supervised("separate")),
    }
    fits: list[str] = []
    refusals: dict[str, list[str]] = {}
    for name, (unlabeled, host) in hosts.items():
        facts = _facts(unlabeled)
        try:
            host(combine([make("calibrator", entry.name, {}, facts)]))
            fits.append(name)
        except BadInput as refusal:
            refusals.setdefault(str(refusal), []).append(name)
    refused = [f"not as it comes on {', '.join(where)}: {why}" for why, where in refusals.items()]
    return "; ".join([", ".join(fits), *refused] if fits else refused)


def _semi_supervised(weak_branch: Any) -> Callable[[Calibrator], object]:
    return lambda calibrator: SemiSupervised(
        fixmatch(_facts(100)), calibrator, weak_branch=weak_branch
    )


def _facts(unlabeled: int) -> DataFacts:
    """Small data of ten classes."""
    return DataFacts(
        classes=10,
        class_counts=(4,) * 10,
        labeled=40,
        unlabeled=unlabeled,
        steps=100,
        epoch_steps=10,
        mean=(0.5, 0.5, 0.5),
        std=(0.25, 0.25, 0.25),
        class_names=tuple("abcdefghij"),
        image_shape=(32, 32, 3),
    )
