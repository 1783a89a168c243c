"""`mixcal synthesize convert`: a published pickle, read as data, into a generator folder."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mixcal.core.errors import BadInput

if TYPE_CHECKING:
    from mixcal.commands.training_images import TrainingImages
    from mixcal.data.options import DataOptions
    from mixcal.synthesis.published_generator import Published

LICENSE = "CC BY-NC-SA 4.0"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The file, the data it was trained on, where to."""
    parser.add_argument("pickle", type=Path, metavar="PICKLE", help="an edm-….pkl file")
    parser.add_argument("--into", type=Path, required=True, metavar="FOLDER", help="to be made")
    parser.add_argument(
        "--source",
        default="",
        metavar="NAME",
        help="the data it was trained on (`mixcal data list`); `annotate` needs to know",
    )
    parser.add_argument("--data-folder", default="", help="where those data lie")
    parser.add_argument(
        "--license",
        default=LICENSE,
        help=f"of the weights, written into every store they make (default: {LICENSE})",
    )


def run(options: argparse.Namespace) -> int:
    """Read, check, write; say what it is."""
    from dataclasses import asdict

    from mixcal.data.options import DataOptions
    from mixcal.synthesis.model import Description, GeneratorFolder, save_weights
    from mixcal.synthesis.options import GeneratorMethod, GeneratorRecipe
    from mixcal.synthesis.published_generator import read_published
    from mixcal.training.disk import write_json

    published = read_published(options.pickle)
    data = DataOptions(source=options.source) if options.source else DataOptions()
    images = _images(options, data, published) if options.source else None
    numbered = tuple(str(number) for number in range(published.classes))
    method = GeneratorMethod(
        precision="float32", label_dropout=0.0, data=data, network=published.network
    )
    description = Description(
        classes=images.source.classes if images else numbered,
        shape=published.shape,
        network=published.network,
        precision=method.precision,
        guidable=published.guidable,
        splits=images.splits.fingerprint if images else "",
        data=asdict(data) if images else {},
        seed=method.seed,
        license=options.license,
        converted_from=options.pickle.name,
    )
    recipe = GeneratorRecipe(method=method).to_toml()
    folder = GeneratorFolder.create(options.into, description, recipe=recipe)
    if images:
        write_json(folder.splits, images.splits.record())
    save_weights(folder.weights, dict(published.tensors), images_seen=0)
    count = sum(tensor.numel() for tensor in published.tensors.values())
    print(f"{published.network.name}, {count:,} numbers, {published.classes} classes")
    print(f"license of the weights: {options.license}")
    print(f"generator: {folder.path}")
    return 0


def _images(
    options: argparse.Namespace, data: "DataOptions", published: "Published"
) -> "TrainingImages":
    """What it was trained on, which must look like what it draws."""
    from mixcal.commands.training_images import training_images
    from mixcal.synthesis.options import GeneratorRunning

    images = training_images(data, 0, GeneratorRunning(data_folder=options.data_folder))
    theirs = (len(images.source.classes), *images.shape)
    if theirs != (published.classes, *published.shape):
        raise BadInput(
            f"{options.pickle} draws {published.classes} classes of images of "
            f"{' × '.join(map(str, published.shape))}, and {images.source.name} has {theirs[0]} "
            f"of {' × '.join(map(str, images.shape))}; name other data with --source."
        )
    return images
