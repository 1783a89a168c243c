"""A picture sheet of mixed sets: λ̂ above, under every image what it was annotated with.

Like Figure 4 of Luo et al. (ICML 2025; arXiv:2504.13548v2).
"""

from pathlib import Path

import numpy as np
from jaxtyping import Int
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from mixcal.data.mixed_store import MixedStore

ROWS = 10
INCHES = 0.9


def save_sheet(store: MixedStore, path: Path, *, rows: int = ROWS) -> None:
    """Finished sets of as many different pairs as there is room for."""
    chosen = spread(store, rows)
    annotation = store.annotation()
    members = len(store.positions)
    figure = Figure(figsize=(INCHES * (members + 2.6), 1.25 * INCHES * len(chosen) + 0.5))
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(chosen), members, squeeze=False)
    for row, index in enumerate(chosen):
        first, second = (store.classes[k] for k in store.pairs[index])
        for member in range(members):
            axis = axes[row, member]
            image = store.images[index, member]
            axis.imshow(image.squeeze(), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
            axis.set_xticks([])
            axis.set_yticks([])
            if row == 0:
                axis.set_title(f"λ̂ {store.positions[member]:.2f}", fontsize=8)
            if annotation is not None:
                axis.set_xlabel(
                    f"λ {annotation.weights[index, member]:.2f}", fontsize=8, labelpad=2
                )
        axes[row, 0].set_ylabel(second, fontsize=8, rotation=0, ha="right", va="center")
        axes[row, -1].yaxis.set_label_position("right")
        axes[row, -1].set_ylabel(first, fontsize=8, rotation=0, ha="left", va="center")
    figure.subplots_adjust(left=0.13, right=0.87, top=0.95, bottom=0.03, wspace=0.05, hspace=0.25)
    figure.savefig(path, dpi=110)


def spread(store: MixedStore, rows: int) -> Int[np.ndarray, " r"]:
    """Finished sets, far apart in the list of pairs."""
    done = np.flatnonzero(store.done)
    _, firsts = np.unique(store.pairs[done], axis=0, return_index=True)
    found = done[firsts]
    return found[np.linspace(0, len(found) - 1, min(rows, len(found))).astype(int)]
