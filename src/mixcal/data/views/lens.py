"""Pictures as another camera would have taken them: turned, nearer, askew, lighter or darker.

What test-time augmentation looks through: mirrored half of the time, turned by up to 10°, magnified
by up to 1.1, each edge's length changed by up to a fifth (a symmetric warp, the perspective of
another standpoint), brightness changed by up to a tenth. All maps of an image are one projective
map, so pixels are blended once; beyond the border the picture is mirrored.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, UInt8
from torch import Tensor

from mixcal.data.views.affine import rotation
from mixcal.data.views.resize import mirror

WARP_COLUMNS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Lens:
    """The largest changes; `flip`: whether a mirrored picture shows the same thing."""

    flip: bool
    degrees: float = 10.0
    zoom: float = 1.1
    brightness: float = 0.1
    warp: float = 0.2

    @property
    def columns(self) -> int:
        """How many uniform numbers one image needs."""
        return 4 + WARP_COLUMNS

    def __call__(
        self, images: UInt8[Tensor, "n c h w"], draws: Float[Tensor, "n 8"]
    ) -> UInt8[Tensor, "n c h w"]:
        """The columns decide mirroring, angle, zoom, brightness and the four edges."""
        height, width = int(images.shape[2]), int(images.shape[3])
        draws = draws.cpu()
        signed = 2 * draws.double() - 1
        turned = _square(rotation(self.degrees * signed[:, 1].float(), height, width))
        zoomed = magnified(1 + (self.zoom - 1) * draws[:, 2].double(), height, width)
        warped = perspective(self.warp * signed[:, 4:], height, width)
        light = (1 + self.brightness * signed[:, 3]).float().to(images.device)
        pixels = blended(images, warped @ zoomed @ turned) * light.view(-1, 1, 1, 1)
        result = pixels.round_().clamp_(0, 255).to(torch.uint8)
        return mirror(result, draws[:, 0]) if self.flip else result


def blended(
    images: UInt8[Tensor, "n c h w"], maps: Float[Tensor, "n 3 3"]
) -> Float[Tensor, "n c h w"]:
    """Each image under its projective map from output to input pixel positions."""
    height, width = images.shape[2:]
    row, column = torch.meshgrid(
        torch.arange(height, dtype=torch.float64) + 0.5,
        torch.arange(width, dtype=torch.float64) + 0.5,
        indexing="ij",
    )
    places = torch.stack([column, row, torch.ones_like(row)], dim=-1)
    mapped = torch.einsum("hwj,nij->nhwi", places, maps)
    found = mapped[..., :2] / mapped[..., 2:]
    grid = (2 * found / torch.tensor([width, height], dtype=torch.float64) - 1).float()
    return F.grid_sample(
        images.float(),
        grid.to(images.device),
        mode="bilinear",
        padding_mode="reflection",
        align_corners=False,
    )


def magnified(factor: Float[Tensor, " n"], height: int, width: int) -> Float[Tensor, "n 3 3"]:
    """Maps that show the middle, `factor` times larger."""
    maps = torch.eye(3, dtype=torch.float64).repeat(len(factor), 1, 1)
    for axis, size in ((0, width), (1, height)):
        maps[:, axis, axis] = 1 / factor
        maps[:, axis, 2] = (1 - 1 / factor) * size / 2
    return maps


def perspective(edges: Float[Tensor, "n 4"], height: int, width: int) -> Float[Tensor, "n 3 3"]:
    """Maps under which the left, right, top and bottom edge show 1 + `edges` of their length."""
    corners = torch.tensor([[-1, -1], [1, -1], [-1, 1], [1, 1]], dtype=torch.float64)
    left, right, top, bottom = (1 + edges.double()).unbind(1)
    along = torch.stack([top, top, bottom, bottom], dim=1) * corners[:, 0]
    down = torch.stack([left, right, left, right], dim=1) * corners[:, 1]
    # Four corners give eight equations for a projective map whose last number is 1.
    one, none = torch.ones_like(along), torch.zeros_like(along)
    x, y = (corners[:, axis].expand_as(along) for axis in (0, 1))
    for_x = torch.stack([x, y, one, none, none, none, -along * x, -along * y], dim=2)
    for_y = torch.stack([none, none, none, x, y, one, -down * x, -down * y], dim=2)
    found = torch.linalg.solve(torch.cat([for_x, for_y], dim=1), torch.cat([along, down], dim=1))
    centred = torch.cat([found, torch.ones_like(found[:, :1])], dim=1).view(-1, 3, 3)
    to_pixels = torch.tensor(
        [[width / 2, 0, width / 2], [0, height / 2, height / 2], [0, 0, 1]], dtype=torch.float64
    )
    return to_pixels @ centred @ torch.linalg.inv(to_pixels)


def _square(affine: Float[Tensor, "n 6"]) -> Float[Tensor, "n 3 3"]:
    last = affine.new_tensor([0, 0, 1]).expand(len(affine), 3)
    return torch.cat([affine, last], dim=1).view(-1, 3, 3)
