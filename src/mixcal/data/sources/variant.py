"""The words of `method.data.variant`, and the channel statistics that can be chosen with them.

Words are joined by "+", as in "extra+svhn-benchmark-statistics". Statistics are per channel, of
raw / 255: mean, then standard deviation.
"""

import difflib
from collections.abc import Collection

from mixcal.core.errors import BadInput
from mixcal.data.options import DataOptions

Values = tuple[float, ...]

STATISTICS: dict[str, tuple[Values, Values]] = {
    # Computed from the 60,000 training pictures by the usual PyTorch examples.
    "mnist": ((0.1307,), (0.3081,)),
    # Of the 60,000 training pictures.
    "fashion-mnist": ((0.2860,), (0.3530,)),
    # Of the 50,000 training pictures.
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    # 129.3, 124.1, 112.4 and 68.2, 65.4, 70.4 over 255, as semi-supervised codes have them.
    "cifar100": ((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761)),
    # Of the 73,257 training pictures.
    "svhn": ((0.4377, 0.4438, 0.4728), (0.1980, 0.2010, 0.1970)),
    # What the semi-supervised benchmark normalizes SVHN with.
    "svhn-benchmark": ((0.4380, 0.4440, 0.4730), (0.1751, 0.1771, 0.1744)),
    # 112.4, 109.1, 98.6 and 68.4, 66.6, 68.5 over 255, as semi-supervised codes have them.
    "stl10": ((0.4408, 0.4278, 0.3867), (0.2682, 0.2612, 0.2686)),
    # Of the 100,000 training pictures.
    "tiny-imagenet": ((0.4802, 0.4481, 0.3975), (0.2770, 0.2691, 0.2821)),
    # None: what some train SVHN on.
    "raw": ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
}
SUFFIX = "-statistics"


def words(options: DataOptions, known: Collection[str] = ()) -> frozenset[str]:
    """The words of the variant, each one known: those of the source, and any statistics."""
    allowed = [*known, *(name + SUFFIX for name in STATISTICS)]
    chosen = [word for word in options.variant.replace("+", " ").split() if word]
    for word in chosen:
        if word not in allowed:
            near = difflib.get_close_matches(word, allowed, n=1, cutoff=0.4)
            remedy = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(allowed)}."
            raise BadInput(
                f"method.data.variant: {options.source} has no variant {word!r}; {remedy}"
            )
    return frozenset(chosen)


def statistics(
    chosen: Collection[str], usual: str | None, *, channels: int
) -> tuple[Values | None, Values | None]:
    """Mean and standard deviation: the ones chosen, or the usual ones; None: to be computed."""
    named = [word.removesuffix(SUFFIX) for word in sorted(chosen) if word.endswith(SUFFIX)]
    if len(named) > 1:
        raise BadInput(f"method.data.variant names statistics of {' and '.join(named)}; name one.")
    if not named and usual is None:
        return None, None
    name = named[0] if named else usual
    assert name is not None, "one of the two"
    mean, std = STATISTICS[name]
    if len(mean) != channels:
        raise BadInput(
            f"method.data.variant: statistics of {name} have {len(mean)} channels, the pictures "
            f"{channels}; leave them out."
        )
    return mean, std
