"""Only the memory of CalibrateMix: margins of every sample, without any mixing (area under the
margin, Pleiss et al., NeurIPS 2020; arXiv:2001.10528v4).

Changes nothing in training; at the end the run has a margins file, from which `mixcal judge` lists
the hardest and the likely mislabeled samples.
"""

from torch import nn

from mixcal.core.clock import Clock
from mixcal.core.facts import DataFacts
from mixcal.core.outcome import Outcome
from mixcal.core.protocols import Calibrator, Ledger
from mixcal.core.step import StepOutput
from mixcal.methods.dynamics.ledger import MarginLedger, Precision
from mixcal.methods.dynamics.margins import label_margins, pseudo_margins
from mixcal.methods.dynamics.tables import Kind


class MarginMemory(nn.Module):
    """Takes in the margins of each step, after its passes."""

    def __init__(self, labeled: MarginLedger, unlabeled: MarginLedger | None) -> None:
        super().__init__()
        self.labeled = labeled
        self.unlabeled = unlabeled

    def forward(self, step: StepOutput, clock: Clock) -> Outcome:
        """No loss."""
        rows = step.batch.labeled
        if (found := step.activations.get("labeled")) is not None:
            margins = label_margins(found.logits.detach(), rows.targets.argmax(1))
            self.labeled.update(margins[:, None], rows.index)
        weak = step.activations.get("weak")
        if weak is not None and self.unlabeled is not None and step.batch.unlabeled is not None:
            margins = pseudo_margins(weak.logits.detach())
            self.unlabeled.update(margins, step.batch.unlabeled.weak.index)
        return Outcome()


def margin_memory(
    facts: DataFacts, *, store: Kind = "device", precision: Precision = "float32"
) -> Calibrator:
    """Remember the margins of labeled and unlabeled samples."""
    labeled, unlabeled = MarginLedger(facts.labeled), None
    if facts.unlabeled:
        unlabeled = MarginLedger(
            facts.unlabeled,
            facts.classes,
            average="decayed",
            store=store,
            precision=precision,
            facts=facts,
            name="unlabeled",
        )
    ledgers: dict[str, Ledger] = {"labeled": labeled}
    if unlabeled is not None:
        ledgers["unlabeled"] = unlabeled
    return Calibrator(terms={"margins": MarginMemory(labeled, unlabeled)}, ledgers=ledgers)
