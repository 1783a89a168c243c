"""Encoders against the same steps by other hands: PIL's resizing, transformers' own model."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from mixcal.backbones.wide_resnet import small
from mixcal.core.errors import BadInput
from mixcal.data.preprocessing import Preprocessing
from mixcal.synthesis.encoders import (
    CLIP,
    IMAGENET,
    clip_encoder,
    imagenet_encoder,
    own_encoder,
    resized,
    standardized,
)

CPU = torch.device("cpu")


def pictures(n: int = 3, channels: int = 1, size: tuple[int, int] = (20, 28)) -> torch.Tensor:
    """Smooth pictures: of noise, PIL and torch round differently more often."""
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(n, channels, 4, 4, generator=generator) * 255
    return torch.nn.functional.interpolate(coarse, size, mode="bicubic").clamp(0, 255).byte()


@pytest.mark.parametrize(
    ("mode", "filter"),
    [("bicubic", Image.Resampling.BICUBIC), ("bilinear", Image.Resampling.BILINEAR)],
)
@pytest.mark.parametrize("size", [(50, 70), (9, 13)])
def test_resizing_as_in_pil(mode: str, filter: Image.Resampling, size: tuple[int, int]) -> None:
    raw = pictures()
    found = resized(raw, size, mode)
    for ours, picture in zip(found, raw, strict=True):
        theirs = Image.fromarray(picture[0].numpy()).resize(size[::-1], filter)
        assert np.abs(ours[0].numpy().astype(int) - np.asarray(theirs).astype(int)).max() <= 1


def test_an_encoder_that_answers_no_numbers_is_refused() -> None:
    network = small(3, channels=1)
    torch.nn.init.constant_(next(network.parameters()), float("nan"))
    inputs = Preprocessing(size=(8, 8), stored=(8, 8), mean=(0.5,), std=(0.5,))
    broken = own_encoder(network, inputs, name="run mine", device=CPU)
    with pytest.raises(BadInput, match="run mine answers with numbers that are not finite"):
        broken(pictures(size=(8, 8)))


def test_gray_pictures_become_three_channels() -> None:
    raw = pictures()
    found = standardized(raw, *IMAGENET)
    for channel, (mean, std) in enumerate(zip(*IMAGENET, strict=True)):
        assert torch.allclose(found[:, channel], (raw[:, 0] / 255 - mean) / std, atol=1e-5)


def saved_clip(folder: Path, *, whole: bool = False) -> torch.nn.Module:
    """A tiny CLIP as transformers saves it; with its text encoder if `whole`."""
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
    vision = transformers.CLIPVisionConfig(
        **sizes, num_attention_heads=2, image_size=32, patch_size=8, projection_dim=12
    )
    torch.manual_seed(1)
    if not whole:
        model = transformers.CLIPVisionModelWithProjection(vision)
        model.save_pretrained(folder)
        return model.eval()
    text = transformers.CLIPTextConfig(**sizes, num_attention_heads=2, vocab_size=99)
    config = transformers.CLIPConfig(
        text_config=text.to_dict(), vision_config=vision.to_dict(), projection_dim=12
    )
    model = transformers.CLIPModel(config)
    model.save_pretrained(folder)
    return model.eval()


def by_pil(picture: torch.Tensor) -> torch.Tensor:
    """CLIP's published preprocessing of a gray picture of 20 × 28, for 32 × 32."""
    image = Image.fromarray(picture[0].numpy()).convert("RGB")
    image = image.resize((44, 32), Image.Resampling.BICUBIC).crop((6, 0, 38, 32))
    mean, std = (np.array(side) for side in CLIP)
    planes = ((np.asarray(image) / 255 - mean) / std).transpose(2, 0, 1)
    return torch.from_numpy(planes).float()


@pytest.mark.parametrize("whole", [False, True], ids=["vision", "whole"])
def test_clip_from_a_folder(tmp_path: Path, whole: bool) -> None:
    model = saved_clip(tmp_path / "clip", whole=whole)
    encoder = clip_encoder(tmp_path / "clip", device=CPU)
    raw = pictures()
    found = encoder(raw)
    assert found.dtype == np.float32
    inputs = torch.stack([by_pil(picture) for picture in raw])
    assert torch.allclose(encoder.prepare(raw), inputs, atol=0.02)
    with torch.no_grad():
        pooled = model.vision_model(pixel_values=encoder.prepare(raw)).pooler_output
        expected = model.visual_projection(pooled)
    assert found == pytest.approx(expected.numpy(), abs=1e-5)
    # As long as they come.
    assert np.linalg.norm(found, axis=1) != pytest.approx(np.ones(3), abs=1e-3)
    assert encoder.fingerprint == clip_encoder(tmp_path / "clip", device=CPU).fingerprint


def test_the_folder_may_say_how_its_inputs_are_prepared(tmp_path: Path) -> None:
    saved_clip(tmp_path / "clip")
    plain = clip_encoder(tmp_path / "clip", device=CPU)
    said = {
        "size": {"shortest_edge": 40},
        "crop_size": {"height": 32, "width": 32},
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.25, 0.25, 0.25],
    }
    (tmp_path / "clip" / "preprocessor_config.json").write_text(json.dumps(said))
    told = clip_encoder(tmp_path / "clip", device=CPU)
    assert told.prepare(pictures()).shape == (3, 3, 32, 32)
    assert told.prepare(pictures()).amax() <= 2
    assert told.fingerprint != plain.fingerprint


def test_a_folder_without_clip_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"holds no CLIP model .*config\.json"):
        clip_encoder(tmp_path, device=CPU)
    saved_clip(tmp_path / "clip")
    weights = tmp_path / "clip" / "model.safetensors"
    tensors = load_file(weights)
    tensors.pop("visual_projection.weight")
    save_file(tensors, weights, metadata={"format": "pt"})
    with pytest.raises(BadInput, match=r"lacks visual_projection\.weight"):
        clip_encoder(tmp_path / "clip", device=CPU)
    weights.write_bytes(b"no")
    with pytest.raises(BadInput, match="cannot be loaded as CLIP"):
        clip_encoder(tmp_path / "clip", device=CPU)


def test_an_imagenet_network() -> None:
    network = small(7, channels=3, stride=2)
    encoder = imagenet_encoder(network, name="small", size=40, device=CPU)
    raw = pictures()
    inputs = standardized(resized(raw, (40, 40), "bilinear"), *IMAGENET)
    with torch.no_grad():
        expected = network.eval()(inputs).features
    assert encoder(raw) == pytest.approx(expected.numpy(), abs=1e-5)
    assert encoder.name == "small at 40"
    other = imagenet_encoder(network, name="small", size=32, device=CPU)
    assert encoder.fingerprint != other.fingerprint


def test_a_network_of_ones_own() -> None:
    network = small(4, channels=1, stride=2).train()
    preprocessing = Preprocessing(size=(16, 16), stored=(20, 20), mean=(0.3,), std=(0.2,))
    encoder = own_encoder(network, preprocessing, name="mine", device=CPU)
    raw = pictures(size=(20, 20))
    inputs = (raw[:, :, 2:18, 2:18] / 255 - 0.3) / 0.2
    with torch.no_grad():
        expected = network(inputs).features
    assert not network.training
    assert encoder(raw) == pytest.approx(expected.numpy(), abs=1e-4)
