"""Where a network runs."""

import torch

from mixcal.core.errors import BadInput


def pick_device(name: str, *, asked: str = "running.device") -> torch.device:
    """The device of this name; "auto" takes a GPU if there is one. `asked`: where it was named."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        # Numbers must come back: on "meta" there are none.
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        raise BadInput(f"{asked} is {name!r}, which is not here ({error}).") from None
    return device
