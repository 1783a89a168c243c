"""Views as values: what one kind of rows goes through between the pool and the network."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Shaped, UInt8
from torch import Tensor

from mixcal.data.options import ViewOptions
from mixcal.data.preprocessing import Preprocessing
from mixcal.data.views.cutout import CUTOUT_COLUMNS, Center, cutout
from mixcal.data.views.randaugment import PRESETS, RandAugment
from mixcal.data.views.resize import RESIZED_COLUMNS, mirror, random_boxes, resize
from mixcal.data.views.shift import SHIFT_COLUMNS, Border, flip_and_shift


@dataclass(frozen=True, slots=True, kw_only=True)
class Crop:
    """Where in the image a view looks; always uses the same number of columns."""

    kind: str
    size: tuple[int, int]
    padding: int
    border: Border
    flip: bool
    area: tuple[float, float]
    aspect: tuple[float, float]

    @property
    def columns(self) -> int:
        """How many uniform numbers one image needs."""
        return RESIZED_COLUMNS + 1 if self.kind == "resized" else SHIFT_COLUMNS

    def __call__(
        self, images: UInt8[Tensor, "n c h w"], draws: Float[Tensor, "n d"]
    ) -> UInt8[Tensor, "n c a b"]:
        if self.kind == "resized":
            height, width = images.shape[2:]
            boxes = random_boxes(draws[:, 1:], height, width, area=self.area, aspect=self.aspect)
            images = resize(images, boxes, self.size)
            return mirror(images, draws[:, 0]) if self.flip else images
        if images.shape[2:] != self.size:
            images = _window(images, draws, self.size)
            return mirror(images, draws[:, 0]) if self.flip else images
        return flip_and_shift(
            images, draws, padding=self.padding, border=self.border, flip=self.flip
        )


def _window(
    images: UInt8[Tensor, "n c h w"], draws: Float[Tensor, "n d"], size: tuple[int, int]
) -> UInt8[Tensor, "n c a b"]:
    """A window of `size` anywhere in a larger image, as weak views of large pictures are."""
    room = torch.tensor([images.shape[2] - size[0], images.shape[3] - size[1]])
    top, left = (draws[:, 1:3] * (room + 1)).floor().minimum(room).T
    boxes = torch.stack([left, top, left + size[1], top + size[0]], dim=1)
    return resize(images, boxes, size)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageView:
    """Crop, then perhaps RandAugment and cutout, then normalization."""

    preprocessing: Preprocessing
    crop: Crop | None = None
    operations: RandAugment | None = None
    operations_first: bool = False
    cutout: float = 0.0
    cutout_fixed: bool = False
    cutout_center: Center = "anywhere"

    @property
    def columns(self) -> int:
        """How many uniform numbers one image needs."""
        crop = self.crop.columns if self.crop else 0
        return crop + (self.operations.columns + CUTOUT_COLUMNS if self.operations else 0)

    def __call__(
        self, raw: UInt8[Tensor, "n c h w"], draws: Float[Tensor, "n d"]
    ) -> Float[Tensor, "n c a b"]:
        used = self.crop.columns if self.crop else 0
        crop, rest = draws[:, :used], draws[:, used:]
        if self.operations is not None and self.operations_first:
            raw = self.operations(raw, rest[:, : self.operations.columns])
        raw = self.crop(raw, crop) if self.crop else self.preprocessing.centered(raw)
        if self.operations is not None:
            if not self.operations_first:
                raw = self.operations(raw, rest[:, : self.operations.columns])
            fate = rest[:, self.operations.columns :]
            raw = cutout(
                raw, fate, largest=self.cutout, fixed=self.cutout_fixed, center=self.cutout_center
            )
        return self.preprocessing.normalized(raw)


@dataclass(frozen=True, slots=True)
class TokenView:
    """Text is seen as it is."""

    columns: int = 0

    def __call__(
        self, raw: Shaped[Tensor, "n t"], draws: Float[Tensor, "n 0"]
    ) -> Shaped[Tensor, "n t"]:
        return raw


View = ImageView | TokenView


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewSet:
    """The views of one run: of labeled rows, of unlabeled rows twice, and for evaluation."""

    labeled: View
    weak: View
    strong: View
    plain: View


def image_views(options: ViewOptions, preprocessing: Preprocessing, *, flips: bool) -> ViewSet:
    """The views a recipe asks for; `flips` is what the source says about mirroring."""
    size = preprocessing.size
    crop = Crop(
        kind=options.crop,
        size=size,
        padding=int(size[0] * options.padding_fraction),
        border=options.border,
        flip=flips if options.flip is None else options.flip,
        area=options.area,
        aspect=options.aspect,
    )
    kind = "resized" if options.strong_crop == "resized" else options.crop
    weak = ImageView(preprocessing=preprocessing, crop=None if options.crop == "none" else crop)
    strong = ImageView(
        preprocessing=preprocessing,
        crop=None if kind == "none" else replace(crop, kind=kind),
        operations=PRESETS[options.strong],
        operations_first=options.operations == "before",
        cutout=0.5 if options.cutout is None else options.cutout,
        cutout_fixed=options.strong == "fixmatch",
        cutout_center=options.cutout_center,
    )
    plain = ImageView(preprocessing=preprocessing)
    return ViewSet(labeled=weak, weak=weak, strong=strong, plain=plain)


def text_views() -> ViewSet:
    """The views of a text run: the tokens."""
    view = TokenView()
    return ViewSet(labeled=view, weak=view, strong=view, plain=view)
