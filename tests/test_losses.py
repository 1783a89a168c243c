"""Every public loss under one contract: labels equal distributions, nothing overflows, half
precision loses little, order does not matter, and wrong targets get a sentence."""

import inspect

import pytest
import torch

from mixcal import losses
from mixcal.core.errors import BadInput
from mixcal.methods.losses.truth import in_full, one_for_each, stacked
from tests.support.fixtures import one_hot

NAMES = [
    "cross_entropy",
    "label_smoothing",
    "entropy_penalty",
    "margin_label_smoothing",
    "class_adaptive_margin",
    "focal",
    "focal_sample_dependent",
    "dual_focal",
    "inverse_focal",
    "focal_calibration",
    "brier",
    "mmce",
    "correctness_ranking",
    "pairwise_constraints",
    "arc",
    "regmixup",
    "rankmixup",
    "jensen_shannon",
]
PENALTIES = ("arc", "mmce")
N, K = 12, 5


def extras(name: str, logits: torch.Tensor, seed: int = 1) -> dict:
    """What a loss needs beside logits and targets."""
    generator = torch.Generator().manual_seed(seed)
    n, k = logits.shape
    mixed = torch.randn(3, n, k, generator=generator).to(logits.dtype)
    targets = torch.randn(3, n, k, generator=generator).softmax(2).to(logits.dtype)
    return {
        "correctness_ranking": {"counts": torch.arange(n) % 4, "most": 3},
        "regmixup": {"mixed_logits": mixed[0], "mixed_targets": targets[0]},
        "rankmixup": {"mixed_logits": mixed, "mixed_targets": targets},
        "jensen_shannon": {"augmented_logits": mixed[:2]},
    }.get(name, {})


def some(dtype: torch.dtype = torch.float32, *, scale: float = 2.0) -> tuple:
    generator = torch.Generator().manual_seed(7)
    logits = scale * torch.randn(N, K, generator=generator, dtype=torch.float64)
    return logits.to(dtype), torch.randint(K, (N,), generator=generator)


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def call(name: str, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return getattr(losses, name)(logits, targets, **extras(name, logits))


def test_the_names_are_those_promised() -> None:
    assert set(losses.__all__) == set(NAMES)


def test_signature_and_docstring(name: str) -> None:
    function = getattr(losses, name)
    parameters = list(inspect.signature(function).parameters.values())
    assert [p.name for p in parameters[:2]] == ["logits", "targets"]
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters[2:])
    assert function.__doc__
    assert inspect.getmodule(function).__doc__.strip()


def test_one_value_a_sample_or_one_in_all(name: str) -> None:
    shape = call(name, *some()).shape
    assert shape == (() if name in PENALTIES else (N,))


def test_labels_equal_distributions(name: str) -> None:
    logits, labels = some(torch.float64)
    ours = logits.clone().requires_grad_()
    theirs = logits.clone().requires_grad_()
    first = call(name, ours, labels)
    second = call(name, theirs, one_hot(labels, K).double())
    assert torch.allclose(first, second, atol=1e-9)
    first.sum().backward()
    second.sum().backward()
    assert torch.allclose(ours.grad, theirs.grad, atol=1e-9)


@pytest.mark.parametrize("kind", [torch.int32, torch.int64, torch.int16])
def test_labels_of_any_integer_type(name: str, kind: torch.dtype) -> None:
    logits, labels = some()
    assert torch.equal(call(name, logits, labels.to(kind)), call(name, logits, labels))


@pytest.mark.parametrize("soft", [False, True])
def test_gradients_agree_with_finite_differences(name: str, soft: bool) -> None:
    logits, labels = some(torch.float64, scale=1.0)
    targets = torch.randn(N, K, dtype=torch.float64).softmax(1) if soft else labels
    fixed = extras(name, logits)

    def loss(z: torch.Tensor) -> torch.Tensor:
        return getattr(losses, name)(z, targets, **fixed)

    assert torch.autograd.gradcheck(loss, (logits.requires_grad_(),), eps=1e-7, atol=1e-5)


@pytest.mark.parametrize("scale", [0.0, 1e2, 1e4])
@pytest.mark.parametrize("soft", [False, True])
def test_extreme_logits_stay_finite(name: str, scale: float, soft: bool) -> None:
    logits, labels = some(scale=scale)
    logits[0, labels[0]] = 10 * scale
    targets = torch.randn(N, K).softmax(1) if soft else labels
    logits.requires_grad_()
    loss = call(name, logits, targets)
    loss.sum().backward()
    assert torch.isfinite(loss).all()
    assert torch.isfinite(logits.grad).all()


@pytest.mark.parametrize("soft", [False, True])
def test_half_precision_is_computed_in_full(name: str, soft: bool) -> None:
    logits, labels = some(torch.bfloat16)
    targets = one_hot(labels, K).bfloat16() if soft else labels
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = call(name, logits, targets)
    full = call(name, logits.float(), targets.float() if soft else targets)
    assert half.dtype == torch.float32
    # Extra inputs are rounded to half before, which costs up to three digits.
    assert torch.allclose(half, full, rtol=2e-2, atol=2e-2)
    if not extras(name, logits) or name == "correctness_ranking":
        assert torch.allclose(half, full, rtol=1e-5, atol=1e-6)


def test_the_order_of_the_samples_is_irrelevant(name: str) -> None:
    if name in ("correctness_ranking", "regmixup", "rankmixup", "jensen_shannon"):
        pytest.skip("its further inputs go with the samples")
    logits, labels = some(torch.float64)
    order = torch.randperm(N)
    shuffled = call(name, logits[order], labels[order])
    plain = call(name, logits, labels)
    assert torch.allclose(shuffled, plain if name in PENALTIES else plain[order])


def test_a_constant_added_to_all_logits_changes_nothing(name: str) -> None:
    logits, labels = some(torch.float64)
    fixed = extras(name, logits)
    function = getattr(losses, name)
    assert torch.allclose(function(logits, labels, **fixed), function(logits + 9, labels, **fixed))


@pytest.mark.parametrize(
    ("logits", "targets"),
    [
        (torch.zeros(3), torch.zeros(3, dtype=torch.long)),
        (torch.zeros(3, 4), torch.zeros(3)),
        (torch.zeros(3, 4), torch.zeros(2, dtype=torch.long)),
        (torch.zeros(3, 4), torch.zeros(3, 5)),
        (torch.zeros(3, 4), torch.zeros(3, 4, dtype=torch.long)),
    ],
)
def test_targets_that_do_not_fit_get_a_sentence(logits, targets) -> None:
    with pytest.raises(BadInput, match=r"give .*\.$"):
        in_full(logits, targets)


@pytest.mark.parametrize("wrong", [K, -100])
def test_a_label_that_is_no_class_gets_a_sentence(name: str, wrong: int) -> None:
    logits, labels = some()
    labels[3] = wrong
    with pytest.raises(BadInput, match=rf"^Label {wrong} is none of the {K} classes"):
        call(name, logits, labels)


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("arc", "variant"),
        ("arc", "bin_weight"),
        ("mmce", "variant"),
        ("brier", "reduction"),
        ("entropy_penalty", "entropy_reduction"),
        ("label_smoothing", "mode"),
        ("rankmixup", "variant"),
        ("rankmixup", "space"),
    ],
)
def test_a_misspelt_option_is_no_other_formula(name: str, option: str) -> None:
    logits, labels = some()
    # As outside of the tests, where nothing else looks at the types.
    function = inspect.unwrap(getattr(losses, name))
    with pytest.raises(BadInput, match=rf"^{option} is 'v1'; it must be one of \""):
        function(logits, labels, **extras(name, logits), **{option: "v1"})


@pytest.mark.parametrize("bins", [0, (), (5, 0)])
def test_bins_that_are_none_get_a_sentence(bins) -> None:
    with pytest.raises(BadInput, match="give a number of bins"):
        losses.arc(*some(), bins=bins)


def test_a_margin_of_nothing_gets_a_sentence() -> None:
    with pytest.raises(BadInput, match="margin is 0; it must be above 0"):
        losses.class_adaptive_margin(*some(), margin=0)


OPTIONS = [
    ("arc", {"variant": "V2", "bins": (5, 15)}),
    ("arc", {"bin_weight": "count"}),
    ("mmce", {"variant": "plain"}),
    ("mmce", {"variant": "port"}),
    ("label_smoothing", {"mode": "others"}),
    ("rankmixup", {"variant": "mrl"}),
    *((name, {}) for name in NAMES),
]


@pytest.mark.parametrize(("name", "options"), OPTIONS)
@pytest.mark.parametrize("shape", [(0, K), (4, 1), (0, 1)])
@pytest.mark.parametrize("soft", [False, True])
def test_no_rows_cost_nothing_and_one_class_is_finite(name, options, shape, soft) -> None:
    logits = torch.randn(shape, requires_grad=True)
    targets = torch.full(shape, 1 / shape[1]) if soft else torch.zeros(shape[0], dtype=torch.long)
    more = extras(name, logits.detach()) | options
    loss = getattr(losses, name)(logits, targets, **more)
    loss.sum().backward()
    assert loss.shape == (() if name in PENALTIES else shape[:1])
    assert torch.isfinite(loss).all()
    assert torch.isfinite(logits.grad).all()
    if not shape[0]:
        assert loss.sum().item() == 0


@pytest.mark.parametrize("shape", [(3, 4), (0, 3, 4), (2, 2, 4), (2, 3, 5)])
def test_further_rows_need_a_set_each(shape) -> None:
    with pytest.raises(BadInput, match=r"^mixed_logits .* give sets x samples x classes"):
        stacked(torch.zeros(shape), torch.zeros(3, 4), name="mixed_logits")


def test_one_further_row_does_not_stand_in_for_all() -> None:
    one_for_each(torch.zeros(3, 4), torch.zeros(3, 4), name="mixed_logits")
    with pytest.raises(BadInput, match=r"^mixed_logits .* give one further row for each"):
        one_for_each(torch.zeros(1, 4), torch.zeros(3, 4), name="mixed_logits")
