"""Sets by the book: pairs in order, one noise a set, and the same bytes however a set is made."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import Tensor

from mixcal.core.errors import BadInput
from mixcal.core.seeds import derive
from mixcal.synthesis.generation import Plan, SetMaker, Timed, as_bytes, conditions, pair_of
from mixcal.synthesis.noise import noise_levels
from mixcal.synthesis.sampler import Churn, sample
from tests.support.mixed import tiny_generator

CPU = torch.device("cpu")


def maker(plan: Plan, **more) -> SetMaker:
    return SetMaker(tiny_generator(**more), plan, CPU)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_pairs_go_round_in_lexicographic_order(classes: int) -> None:
    expected = list(itertools.combinations(range(classes), 2))
    found = [pair_of(index, classes) for index in range(2 * len(expected))]
    assert found == 2 * expected


def test_conditions_by_hand() -> None:
    found = conditions([(0, 2), (1, 2)], classes=3)
    assert found.shape == (2, 8, 3)
    assert found[0, 0].tolist() == [0, 0, 1]
    assert found[0, 7].tolist() == [1, 0, 0]
    assert found[1, 2].tolist() == pytest.approx([0, 2 / 7, 5 / 7])


def test_bytes_by_hand() -> None:
    values = torch.tensor([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0]).view(1, 1, 2, 3)
    assert as_bytes(values).flatten().tolist() == [0, 0, 128, 191, 255, 255]


def test_a_set_by_the_book() -> None:
    """One noise from the seed alone, eight conditions, Heun."""
    plan = Plan(sets=5, seed=3, steps=6, sets_per_pass=2)
    generator = tiny_generator()
    for index in range(5):
        seed = derive(3, "set", index)
        noise = torch.randn(1, 1, 6, 6, generator=torch.Generator().manual_seed(seed))
        targets = conditions([pair_of(index, 4)], classes=4)[0]
        made = sample(generator.denoiser, noise.expand(8, -1, -1, -1), targets, noise_levels(6))
        found = maker(plan).images([index])[0]
        # Rounding may depend on the shape of the batch.
        assert np.abs(found.astype(int) - as_bytes(made).astype(int)).max() <= 1


@pytest.mark.parametrize("churn", [Churn(), Churn(amount=4.0)], ids=["still", "churned"])
@pytest.mark.parametrize("guidance", [0.0, 0.5])
def test_a_set_made_alone_has_the_same_bytes(churn: Churn, guidance: float) -> None:
    plan = Plan(sets=7, steps=5, sets_per_pass=3, churn=churn, guidance=guidance)
    whole = maker(plan, guidable=True)({"block": np.arange(3)})
    assert whole["set"].tolist() == list(range(7))
    assert len({images.tobytes() for images in whole["images"]}) == 7
    for index in (0, 2, 4, 6):
        alone = maker(plan, guidable=True).images([index])
        assert alone.tobytes() == whole["images"][index : index + 1].tobytes()


def test_a_longer_store_begins_with_the_shorter_one() -> None:
    short = maker(Plan(sets=4, steps=4, sets_per_pass=3))({"block": [0, 1]})
    long = maker(Plan(sets=6, steps=4, sets_per_pass=3))({"block": [0, 1]})
    assert short["images"].tobytes() == long["images"][:4].tobytes()


def test_other_seeds_are_other_sets() -> None:
    found = [maker(Plan(sets=2, steps=4, seed=seed)).images([0, 1]) for seed in (0, 1)]
    assert not np.array_equal(*found)


def test_churn_is_shared_by_a_set_but_not_by_two() -> None:
    """Members of equal conditions would come out equal: all their noise is the set's."""
    plan = Plan(sets=2, steps=6, churn=Churn(amount=6.0))
    made = maker(plan)
    made.denoise = lambda images, levels, targets: 0.5 * images
    images = made.images([0, 1])
    assert all(np.array_equal(images[0, 0], member) for member in images[0])
    assert not np.array_equal(images[0, 0], images[1, 0])
    still = maker(Plan(sets=2, steps=6))
    still.denoise = made.denoise
    assert not np.array_equal(still.images([0, 1])[0, 0], images[0, 0])


def test_every_pass_has_the_same_shape() -> None:
    shapes = set()
    made = maker(Plan(sets=7, steps=4, sets_per_pass=3))
    inner = made.denoise

    def watched(images: Tensor, levels: Tensor, targets: Tensor) -> Tensor:
        shapes.add(tuple(images.shape))
        return inner(images, levels, targets)

    made.denoise = watched
    made({"block": [0, 1, 2]})
    made.images([4])
    assert shapes == {(24, 1, 6, 6)}


def test_guidance_needs_a_generator_that_saw_images_without_labels() -> None:
    with pytest.raises(BadInput, match=r"Guidance is 1\.0, but the generator never saw"):
        maker(Plan(sets=1, guidance=1.0))
    strong = maker(Plan(sets=1, steps=4, guidance=3.0), guidable=True).images([0])
    assert not np.array_equal(strong, maker(Plan(sets=1, steps=4)).images([0]))


def test_time_in_the_network_is_counted() -> None:
    made = maker(Plan(sets=1, steps=4))
    made.images([0])
    assert 0 < made.network.seconds < made.seconds


class Mark:
    """A stand-in for a GPU's event: the work before it ends three seconds after it was asked."""

    asked = 0.0
    waited = False

    def __init__(self, *, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None:
        self.ended = Mark.asked
        Mark.asked += 3.0

    def synchronize(self) -> None:
        Mark.waited = True

    def elapsed_time(self, other: "Mark") -> float:
        assert Mark.waited, "an event is only known once it has happened"
        return 1000 * (other.ended - self.ended)


def test_time_on_a_gpu_is_that_of_the_work_and_not_of_asking_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "Event", Mark)
    timed = Timed(torch.nn.Identity(), torch.device("cuda"))
    for _ in range(2):
        timed(torch.zeros(1))
    timed.settle()
    assert timed.seconds == 6.0
    timed.settle()
    assert timed.seconds == 6.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"sets": 0},
        {"sets": 1, "sets_per_pass": 0},
        *({"sets": 1, "guidance": value} for value in (-1.0, math.nan, math.inf)),
        {"sets": 1, "steps": 1},
    ],
)
def test_mistakes_are_one_sentence(wrong: dict) -> None:
    with pytest.raises(BadInput):
        Plan(**wrong)
    with pytest.raises(BadInput, match="one class"):
        SetMaker(tiny_generator(classes=1), Plan(sets=1), CPU)


def test_images_that_are_no_numbers_are_refused() -> None:
    """Not one set of them comes out; bytes would make them black."""
    made = maker(Plan(sets=4, steps=4, sets_per_pass=2))
    inner = made.denoise

    def broken(images: Tensor, levels: Tensor, targets: Tensor) -> Tensor:
        clean = inner(images, levels, targets)
        clean[9, 0, 0, 0] = math.nan
        return clean

    made.denoise = broken
    with pytest.raises(BadInput, match=r"sets 2 to 3 .* not finite"):
        made({"block": [1]})
