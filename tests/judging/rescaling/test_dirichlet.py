"""Dirichlet calibration against matrix scaling of log-probabilities and densities known exactly."""

import numpy as np

from mixcal.judging.rescaling.dirichlet import Dirichlet, log_probs
from mixcal.judging.rescaling.matrix import MatrixScaling


def test_it_is_matrix_scaling_of_log_probabilities() -> None:
    generator = np.random.default_rng(0)
    z = generator.standard_normal((300, 4)) * 3
    labels = (z / 2 + generator.gumbel(size=z.shape)).argmax(1)
    log_q = z - np.log(np.exp(z).sum(1, keepdims=True))
    assert np.allclose(log_probs(z), log_q, atol=1e-12)
    ours = Dirichlet.fit(z, labels, penalty=0.01).transform(z)
    theirs = MatrixScaling.fit(log_q, labels, penalty=0.01).transform(log_q)
    assert np.allclose(ours, theirs, atol=1e-7)


def test_probabilities_drawn_from_dirichlet_distributions() -> None:
    """If q given class j is Dirichlet(α_j), p_j ∝ π_j q^(α_j − 1) / B(α_j): linear in ln q."""
    from scipy.stats import dirichlet

    generator = np.random.default_rng(1)
    alphas = np.array([[5.0, 2, 1], [1, 4, 2], [2, 1, 3]])
    labels = generator.integers(0, 3, 6000)
    q = np.array([generator.dirichlet(alphas[y]) for y in labels])
    truth = np.stack([dirichlet.pdf(q.T, a) for a in alphas], axis=1)
    truth /= truth.sum(1, keepdims=True)
    fitted = Dirichlet.fit(np.log(q), labels, penalty=0)
    assert np.abs(fitted.transform(np.log(q)) - truth).mean() < 0.01
    differences = fitted.weights - fitted.weights[0]
    assert np.allclose(differences, alphas - alphas[0], atol=0.35)
