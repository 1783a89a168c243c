"""Where published sets can be had, under which terms, and by which hashes they are known.

SHA-256 and sizes are those recorded in tensorflow/datasets on GitHub
(tensorflow_datasets/url_checksums/NAME.txt); the MD5 of Tiny-ImageNet's zip is the one in
ContinualAI/avalanche (avalanche/benchmarks/datasets/tiny_imagenet/tiny_imagenet.py). Where only an
MD5 can be cited, the SHA-256 is written down at the first fetch.
"""

from dataclasses import dataclass

TFDS = "tensorflow/datasets, url_checksums/{}.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """One file: where it lies (the first address that answers is taken) and how it is known."""

    file: str
    addresses: tuple[str, ...]
    size: int | None = None
    sha256: str = ""
    md5: str = ""
    # Who published the hash.
    cited: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSet:
    """A data set: what it is, its terms, and its files; no files: `how` it is got by hand."""

    name: str
    what: str
    terms: str
    layout: str
    downloads: tuple[Download, ...] = ()
    # Files that only a variant of the set needs, by its name.
    extra: tuple[tuple[str, Download], ...] = ()
    how: str = ""
    # Archives that are read from their unpacked files.
    unpacked: tuple[str, ...] = ()
    # Files below the data folder, any of which says that the set is here, if not NAME itself.
    marks: tuple[str, ...] = ()


def _idx(
    name: str, addresses: tuple[str, ...], files: dict[str, tuple[int, str]]
) -> tuple[Download, ...]:
    return tuple(
        Download(
            file=f"{stem}-ubyte.gz",
            addresses=tuple(f"{address}{stem}-ubyte.gz" for address in addresses),
            size=size,
            sha256=sha256,
            cited=TFDS.format(name),
        )
        for stem, (size, sha256) in files.items()
    )


def _cifar(file: str, name: str, size: int, sha256: str) -> Download:
    # The authors' page has moved from the second address to the first.
    places = ("https://cave.cs.toronto.edu/kriz/", "https://www.cs.toronto.edu/~kriz/")
    return Download(
        file=file,
        addresses=tuple(place + file for place in places),
        size=size,
        sha256=sha256,
        cited=TFDS.format(name),
    )


def _svhn(part: str, size: int, sha256: str) -> Download:
    return Download(
        file=f"{part}_32x32.mat",
        addresses=(f"http://ufldl.stanford.edu/housenumbers/{part}_32x32.mat",),
        size=size,
        sha256=sha256,
        cited=TFDS.format("svhn_cropped"),
    )


SETS: tuple[PublishedSet, ...] = (
    PublishedSet(
        name="digits",
        what="1,797 gray digits, 8 x 8, 10 classes",
        terms="CC BY 4.0 (UCI); comes with scikit-learn",
        layout="nothing to put anywhere",
        how="It comes with scikit-learn; there is nothing to fetch.",
    ),
    PublishedSet(
        name="mnist",
        what="70,000 gray digits, 28 x 28, 10 classes",
        terms="CC BY-SA 3.0",
        layout="train-images-idx3-ubyte and three more (.gz, .xz or raw)",
        downloads=_idx(
            "mnist",
            (
                "https://storage.googleapis.com/cvdf-datasets/mnist/",
                "https://ossci-datasets.s3.amazonaws.com/mnist/",
            ),
            {
                "train-images-idx3": (
                    9912422,
                    "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                ),
                "train-labels-idx1": (
                    28881,
                    "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                ),
                "t10k-images-idx3": (
                    1648877,
                    "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                ),
                "t10k-labels-idx1": (
                    4542,
                    "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
                ),
            },
        ),
    ),
    PublishedSet(
        name="fashion-mnist",
        what="70,000 gray pictures of clothes, 28 x 28, 10 classes",
        terms="MIT",
        layout="train-images-idx3-ubyte and three more (.gz, .xz or raw)",
        downloads=_idx(
            "fashion_mnist",
            ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
            {
                "train-images-idx3": (
                    26421880,
                    "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
                ),
                "train-labels-idx1": (
                    29515,
                    "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
                ),
                "t10k-images-idx3": (
                    4422102,
                    "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
                ),
                "t10k-labels-idx1": (
                    5148,
                    "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
                ),
            },
        ),
    ),
    PublishedSet(
        name="cifar10",
        what="60,000 colour images, 32 x 32, 10 classes",
        terms="none stated; for research, cite the report",
        layout="cifar-10-binary.tar.gz or cifar-10-python.tar.gz, or unpacked",
        downloads=(
            _cifar(
                "cifar-10-binary.tar.gz",
                "cifar10",
                170052171,
                "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            ),
        ),
    ),
    PublishedSet(
        name="cifar100",
        what="60,000 colour images, 32 x 32, 100 classes",
        terms="none stated; for research, cite the report",
        layout="cifar-100-binary.tar.gz or cifar-100-python.tar.gz, or unpacked",
        downloads=(
            _cifar(
                "cifar-100-binary.tar.gz",
                "cifar100",
                168513733,
                "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
            ),
        ),
    ),
    PublishedSet(
        name="svhn",
        what="99,289 colour house numbers (+ 531,131 extra), 32 x 32, 10 classes",
        terms="non-commercial use only",
        layout="train_32x32.mat, test_32x32.mat, extra_32x32.mat",
        downloads=(
            _svhn(
                "train",
                182040794,
                "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
            ),
            _svhn(
                "test",
                64275384,
                "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b",
            ),
        ),
        extra=(
            (
                "extra",
                _svhn(
                    "extra",
                    1329278602,
                    "a133a4beb38a00fcdda90c9489e0c04f900b660ce8a316a5e854838379a71eb3",
                ),
            ),
        ),
    ),
    PublishedSet(
        name="stl10",
        what="13,000 labeled and 100,000 unlabeled colour images, 96 x 96, 10 classes",
        terms="images from ImageNet: non-commercial research",
        layout="train_X.bin and four more, or stl10_binary.tar.gz",
        downloads=(
            Download(
                file="stl10_binary.tar.gz",
                addresses=("http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",),
                size=2640397119,
                sha256="f31fd99273a1acb8609c8db427cebb1de3f71de77758cdc0e22956e1289b9866",
                cited=TFDS.format("stl10"),
            ),
        ),
        unpacked=("stl10_binary.tar.gz",),
    ),
    PublishedSet(
        name="tiny-imagenet",
        what="110,000 labeled colour images, 64 x 64, 200 classes",
        terms="ImageNet's terms: non-commercial research and education",
        layout="tiny-imagenet-200.zip, or unpacked",
        downloads=(
            Download(
                file="tiny-imagenet-200.zip",
                addresses=("http://cs231n.stanford.edu/tiny-imagenet-200.zip",),
                md5="90528d7ca1a48142e341f4ef8d21d0de",
                cited="ContinualAI/avalanche, datasets/tiny_imagenet/tiny_imagenet.py",
            ),
        ),
    ),
    PublishedSet(
        name="imagenet",
        what="1.28 million + 50,000 colour pictures, 1,000 classes (ILSVRC 2012)",
        terms="ImageNet's terms: non-commercial research and education",
        layout="train/WNID/*.JPEG; val/WNID/*.JPEG, or val/*.JPEG and the development kit",
        how="Ask for access at https://image-net.org, then unpack ILSVRC2012_img_train.tar (one "
        "folder a class) into train, ILSVRC2012_img_val.tar into val, and "
        "ILSVRC2012_devkit_t12.tar.gz beside them.",
    ),
    PublishedSet(
        name="webvision",
        what="2.4 million web pictures + 50,000, 1,000 classes (WebVision 1.0)",
        terms="non-commercial research",
        layout="info, google, flickr, val_images_256",
        how="Follow https://data.vision.ee.ethz.ch/cvl/webvision/dataset2017.html: unpack info, "
        "the resized google and flickr pictures, and val_images_256.",
    ),
    PublishedSet(
        name="cub-200-2011",
        what="11,788 colour pictures of 200 kinds of birds",
        terms="non-commercial research and education",
        layout="CUB_200_2011/images.txt and the rest of CUB_200_2011.tgz, unpacked",
        how="Unpack CUB_200_2011.tgz of https://data.caltech.edu/records/65de6-vp158 there.",
        marks=("CUB_200_2011/images.txt",),
    ),
    PublishedSet(
        name="stanford-cars",
        what="16,185 colour pictures of 196 makes and models of cars",
        terms="non-commercial research",
        layout="cars_train, cars_test, devkit; or car_ims, cars_annos.mat",
        how="The authors' page (https://ai.stanford.edu/~jkrause/cars/car_dataset.html) no longer "
        "serves its files; unpack cars_train.tgz, cars_test.tgz and car_devkit.tgz from whoever "
        "has them into stanford-cars, and put cars_test_annos_withlabels.mat into devkit.",
        marks=("stanford_cars/devkit/cars_meta.mat", "stanford_cars/cars_annos.mat"),
    ),
    PublishedSet(
        name="mr",
        what="10,662 sentences of film reviews, 2 classes, 10 folds",
        terms="research",
        layout="rt-polarity.neg, rt-polarity.pos",
        how="Unpack rt-polaritydata.tar.gz of https://www.cs.cornell.edu/people/pabo/"
        "movie-review-data/ into mr or text.",
        marks=("text/rt-polarity.pos",),
    ),
    PublishedSet(
        name="trec",
        what="5,452 + 500 questions, 6 classes, or about 50 fine ones",
        terms="research",
        layout="TREC.train, TREC.test, or train_5500.label, TREC_10.label",
        how="Put both files of https://cogcomp.seas.upenn.edu/Data/QA/QC/ into trec or text.",
        marks=("text/TREC.train", "text/train_5500.label"),
    ),
    PublishedSet(
        name="imdb",
        what="25,000 + 25,000 film reviews, 2 classes, and 50,000 unlabeled ones",
        terms="research",
        layout="aclImdb/{train,test}/{neg,pos}/*.txt",
        how="Unpack aclImdb_v1.tar.gz of https://ai.stanford.edu/~amaas/data/sentiment/ into imdb.",
        marks=("text/aclImdb",),
    ),
)


def published(name: str) -> PublishedSet | None:
    """The set of this name, if there is one."""
    return next((entry for entry in SETS if entry.name == name), None)
