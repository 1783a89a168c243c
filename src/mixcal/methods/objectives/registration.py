"""What an objective has to remember: one module list, so that one state_dict saves everything."""

from torch import nn

from mixcal.core.protocols import Calibrator


def modules_of(calibrator: Calibrator) -> nn.ModuleDict:
    """The mixer and the terms that are modules, under their names."""
    memory = nn.ModuleDict()
    if isinstance(calibrator.mixer, nn.Module):
        memory["mixer"] = calibrator.mixer
    for name, term in calibrator.terms.items():
        if isinstance(term, nn.Module):
            memory[f"term_{name}"] = term
    return memory
