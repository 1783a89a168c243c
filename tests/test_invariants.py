"""Which test holds which invariant of the methods, as a list that cannot rot; and those that no
file about one method holds, as properties of random inputs."""

import ast
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from mixcal import losses
from mixcal.core.rows import Batch
from mixcal.core.step import Passes, StepOutput
from mixcal.data.mixed_images import two_hot
from mixcal.judging.metrics.out_of_distribution import Detection
from mixcal.judging.metrics.reliability import Reliability
from mixcal.methods.calibrators.mixup import mixup
from mixcal.methods.calibrators.remix import remix
from mixcal.methods.calibrators.unimix import unimix
from tests.support.toy import toy_batch, toy_clock, toy_facts, toy_network

TESTS = Path(__file__).parent
CONTRACT = "contracts/test_calibrators.py::test_zero_strength_equals_the_baseline"
LOSSES, CALIBRATORS, MIXING = "methods/losses", "methods/calibrators", "methods/mixing"
LEDGER, SYNTHESIS = "methods/dynamics/test_ledger.py", "synthesis"
HELD: dict[str, tuple[str, ...]] = {
    "mixup with λ = 1 is cross-entropy": (CONTRACT,),
    "mixup of equal labels is cross-entropy for any λ": (
        f"{CALIBRATORS}/test_mixup.py::test_equal_labels_make_it_cross_entropy_for_any_coefficient",
    ),
    "the two forms of mixup's loss agree": (
        f"{CALIBRATORS}/test_mixup.py::test_the_two_term_form_is_the_same_loss",
    ),
    "RegMixup with λ = 1 is (1 + η) cross-entropy": (
        f"{CALIBRATORS}/test_regmixup.py"
        "::test_without_mixing_it_is_one_and_eta_times_cross_entropy",
    ),
    "RankMixup: confidences equal to label maxima cost nothing": (
        f"{LOSSES}/test_rankmixup.py::test_confidences_equal_to_their_targets_cost_nothing",
    ),
    "RankMixup: the order of the mixes is irrelevant": (
        f"{LOSSES}/test_rankmixup.py::test_the_order_of_the_mixes_is_irrelevant",
    ),
    "CutMix: the share of untouched pixels is λ′": (
        f"{CALIBRATORS}/test_cutmix.py::test_the_share_of_untouched_pixels_is_the_target_weight",
    ),
    "AugMix: equal predictions have no divergence": (
        f"{CALIBRATORS}/test_augmix.py::test_equal_predictions_cost_nothing",
        f"{LOSSES}/test_jensen_shannon.py::test_equal_predictions_agree",
    ),
    "Remix with equal counts is mixup": (
        f"{CALIBRATORS}/test_remix.py::test_equal_counts_make_it_mixup",
        "test_invariants.py::test_remix_with_equal_counts_makes_the_rows_of_mixup",
    ),
    "UniMix: partners with τ = 0 are uniform": (
        f"{CALIBRATORS}/test_unimix.py::test_worked_chances",
        "test_invariants.py::test_unimix_with_equal_counts_or_no_tau_has_uniform_partners",
    ),
    "focal, dual focal and inverse focal loss with γ = 0 are cross-entropy": tuple(
        f"{LOSSES}/test_{name}.py::test_no_focus_is_cross_entropy"
        for name in ("focal", "dual_focal", "inverse_focal")
    ),
    "MbLS with a margin beyond every gap is cross-entropy": (
        f"{LOSSES}/test_margin_label_smoothing.py::test_a_margin_beyond_every_gap_is_cross_entropy",
    ),
    "label smoothing: the modes agree after rescaling": (
        f"{LOSSES}/test_label_smoothing.py::test_modes_agree_after_rescaling",
    ),
    "MMCE of a one-sided batch is 0 with a finite gradient": (
        f"{LOSSES}/test_mmce.py::test_a_one_sided_batch_is_nothing_with_a_finite_gradient",
    ),
    "CRL is 0 when all counts are equal": (
        f"{LOSSES}/test_correctness_ranking.py"
        "::test_equal_counts_rank_nothing_and_divide_by_nothing",
        f"{CALIBRATORS}/test_crl.py::test_equal_histories_rank_nothing",
    ),
    "ARC: no gradient into the accuracy": (
        f"{LOSSES}/test_arc.py::test_which_samples_are_right_is_a_constant",
        "test_invariants.py::test_no_gradient_reaches_arcs_targets",
    ),
    "ARC: V1 never exceeds V2, in each bin": (
        f"{LOSSES}/test_arc.py::test_matching_means_never_costs_more_than_matching_each",
        "test_invariants.py::test_v1_never_exceeds_v2_and_one_bin_has_one_weight",
    ),
    "ARC: with one bin both weights of bins agree": (
        f"{LOSSES}/test_arc.py::test_by_hand",
        "test_invariants.py::test_v1_never_exceeds_v2_and_one_bin_has_one_weight",
    ),
    "ECE = OE + UE, in any order of the samples": (
        "test_invariants.py::test_ece_is_over_and_underconfidence_in_any_order",
    ),
    "temperature leaves the accuracy alone": (
        "judging/rescaling/test_temperature.py::test_never_negative_and_labels_are_kept",
    ),
    "AUROC of a set against itself is ½": (
        "test_invariants.py::test_a_set_cannot_be_told_from_itself",
    ),
    "CSM: λ(i, j) = 1 − λ(j, i); 1 and 0 at the prototypes; nothing across the line": (
        f"{SYNTHESIS}/test_annotation.py::test_the_other_way_round_is_the_rest",
        f"{SYNTHESIS}/test_annotation.py::test_end_points",
    ),
    "CSM: labels sum to 1 with at most two classes": (
        "test_invariants.py::test_labels_of_mixed_images_have_at_most_two_classes",
    ),
    "CSM: a set shares its noise, and made alone has the same bytes": (
        f"{SYNTHESIS}/test_generation.py::test_a_set_by_the_book",
        f"{SYNTHESIS}/test_generation.py::test_a_set_made_alone_has_the_same_bytes",
    ),
    "EDM: without noise the image comes back": (
        f"{SYNTHESIS}/test_denoiser.py::test_without_noise_the_image_itself_comes_back",
    ),
    "EDM: the Gaussian case, and Heun's order": (
        f"{SYNTHESIS}/test_sampler.py::test_the_analytic_case",
        f"{SYNTHESIS}/test_sampler.py::test_errors_fall_with_the_order_of_the_method",
    ),
    "EDM: a mixed label is the mixture of embeddings; all dropped is none": (
        f"{SYNTHESIS}/test_unet.py::test_a_mixed_label_is_the_mixture_of_embeddings",
        f"{SYNTHESIS}/test_training.py::test_all_labels_dropped_is_no_label_at_all",
    ),
    "APM with δ = 1 is the mean; AUM of constant logits is the margin": (
        f"{LEDGER}::test_delta_one_is_the_arithmetic_mean",
        f"{LEDGER}::test_constant_margins_stay_what_they_are",
    ),
    "CalibrateMix: a labeled member in every pair; halves part the batch; k beyond the pool": (
        f"{MIXING}/test_guided.py::test_every_pair_is_an_easy_and_a_hard_row_one_of_them_labeled",
        f"{MIXING}/test_difficulty.py::test_halves_partition_the_batch_whatever_the_margins",
        f"{MIXING}/test_partners.py::test_a_pool_smaller_than_k_is_used_whole",
    ),
    "long-tailed counts are the table's": (
        "data/test_longtail.py::test_cifar_10",
        "data/test_longtail.py::test_cifar_100",
    ),
}


@cache
def functions_of(file: str) -> frozenset[str]:
    tree = ast.parse((TESTS / file).read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("invariant", HELD)
def test_every_invariant_has_the_tests_it_names(invariant: str) -> None:
    for where in HELD[invariant]:
        file, _, name = where.partition("::")
        assert name in functions_of(file), where


def some(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(200, 5, generator=generator, dtype=torch.float64)
    return logits, torch.randint(5, (200,), generator=generator)


@pytest.mark.parametrize("seed", range(5))
def test_v1_never_exceeds_v2_and_one_bin_has_one_weight(seed: int) -> None:
    logits, labels = some(seed)
    for bins in (1, 5, 15):
        # A share of the samples at a time, so that most bins stand alone.
        for some_rows in (slice(0, 1), slice(0, 7), slice(None)):
            pair = [
                losses.arc(logits[some_rows], labels[some_rows], variant=v, bins=bins)
                for v in ("V1", "V2")
            ]
            assert pair[0] <= pair[1] + 1e-12
    for variant in ("V1", "V2"):
        both = [
            losses.arc(logits, labels, variant=variant, bin_weight=w).item()
            for w in ("uniform", "count")
        ]
        assert both[0] == pytest.approx(both[1], abs=1e-15)


def test_no_gradient_reaches_arcs_targets() -> None:
    logits, _ = some(0)
    targets = some(1)[0].softmax(1).requires_grad_()
    losses.arc(logits.requires_grad_(), targets, bins=15).backward()
    assert targets.grad is None
    assert logits.grad.abs().sum() > 0


def mixed_by(calibrator) -> torch.Tensor:
    step = StepOutput(batch=Batch(labeled=toy_batch(8).labeled), forward=Passes(toy_network()))
    return calibrator.mixer(step, toy_clock()).rows


def test_remix_with_equal_counts_makes_the_rows_of_mixup() -> None:
    ours, theirs = mixed_by(remix(toy_facts())), mixed_by(mixup(toy_facts()))
    assert torch.equal(ours.inputs, theirs.inputs)
    assert torch.equal(ours.targets, theirs.targets)


def test_unimix_with_equal_counts_or_no_tau_has_uniform_partners() -> None:
    uneven = toy_facts(class_counts=(1000, 100, 10, 1))
    pairs = [
        (unimix(toy_facts(), tau=-0.5), unimix(toy_facts(), tau=0.0)),
        (unimix(uneven, tau=0.0), unimix(toy_facts(), tau=-0.5)),
    ]
    for ours, theirs in pairs:
        step = StepOutput(batch=Batch(labeled=toy_batch(8).labeled), forward=Passes(toy_network()))
        orders = [c.mixer(step, toy_clock()).second.index for c in (ours, theirs)]
        assert torch.equal(*orders)


@pytest.mark.parametrize("bins", [1, 10, 15])
def test_ece_is_over_and_underconfidence_in_any_order(bins: int) -> None:
    logits, labels = some(3)
    probs, labels = logits.softmax(1).numpy(), labels.numpy()
    found = Reliability.of(probs, labels, bins=bins)
    parts = found.overconfidence() + found.underconfidence()
    assert found.expected_error() == pytest.approx(parts, abs=1e-12)
    order = np.random.default_rng(0).permutation(len(labels))
    shuffled = Reliability.of(probs[order], labels[order], bins=bins)
    assert shuffled.expected_error() == pytest.approx(found.expected_error(), abs=1e-12)


def test_labels_of_mixed_images_have_at_most_two_classes() -> None:
    pairs = np.array([[0, 3], [1, 2], [2, 4]])
    shares = np.random.default_rng(0).uniform(size=(3, 8)).astype(np.float32)
    shares[0, :2] = 0, 1
    labels = two_hot(pairs, shares, 5)
    assert labels.sum(-1) == pytest.approx(1, abs=1e-6)
    assert ((labels > 0).sum(-1) <= 2).all()


def test_a_set_cannot_be_told_from_itself() -> None:
    confidence = some(5)[0].softmax(1).amax(1).numpy()
    assert Detection.of(-confidence, -confidence).auroc.value == 0.5
