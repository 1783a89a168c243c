"""Readings of a network along walks away from the data; what a probe writes and a picture draws."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from jaxtyping import Float

from mixcal.core.errors import BadInput

READINGS = {"accuracy": "accuracy", "confidence": "mean winning score", "entropy": "mean entropy"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HullWalk:
    """Readings along X + μ d: by reading, one row a direction and one column a distance μ.

    `readings` is by name of what predicted: the network, or the network and a rescaler.
    """

    direction: str
    distances: Float[np.ndarray, " m"]
    n: int
    classes: int
    readings: Mapping[str, Mapping[str, Float[np.ndarray, "d m"]]]

    @classmethod
    def of(cls, record: Mapping[str, Any], *, where: str) -> Self:
        """From the JSON object `mixcal probe --hull` writes."""
        try:
            distances = np.array(record["distances"], dtype=np.float64)
            readings = {
                name: {key: np.array(found[key], dtype=np.float64) for key in READINGS}
                for name, found in record["readings"].items()
            }
            shapes = {array.shape[1:] for found in readings.values() for array in found.values()}
            if shapes != {distances.shape}:
                raise ValueError(f"readings of shape {shapes} at {distances.shape} distances")
            return cls(
                direction=str(record["direction"]),
                distances=distances,
                n=int(record["n"]),
                classes=int(record["classes"]),
                readings=readings,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(
                f"{where} is no walk away from the data ({type(error).__name__}: {error}); make it "
                "with `mixcal probe RUN --hull`."
            ) from None

    def record(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return {
            "direction": self.direction,
            "distances": self.distances.tolist(),
            "n": self.n,
            "classes": self.classes,
            "readings": {
                name: {key: array.tolist() for key, array in found.items()}
                for name, found in self.readings.items()
            },
        }
