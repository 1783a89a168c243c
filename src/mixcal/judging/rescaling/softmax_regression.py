"""Linear maps before the softmax, by penalized log loss: vector, matrix and Dirichlet scaling.

    θ = argmin  mean −ln softmax(s)_y + Σ r (θ − c)²,      s = (x / scale) θ_slope + θ_intercept

The last row of θ is the intercept. Convex, and with r > 0 everywhere there is exactly one optimum.
Newton's method, with directions by conjugate gradients and steps that must pay: no Hessian is held,
and the samples are read in blocks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from mixcal.judging.rescaling.fitting_data import blocks

Theta = Float[np.ndarray, "rows k"]
Rows = Float[np.ndarray, "r k"]
Kept = list[np.ndarray] | None

MOST_STEPS = 100
MOST_DIRECTIONS = 500
# Probabilities kept between the passes of one step; more are computed anew.
KEPT = 1 << 22
# How far above the optimum the loss may stay: the squared Newton step in the Hessian's norm.
FAR, NEAR = 1e-8, 1e-20


@dataclass(frozen=True, slots=True)
class LinearMap:
    """A map of scores that is linear in θ, and what carries gradients of its results back to θ."""

    apply: Callable[[Theta, Rows], Rows]
    back: Callable[[Rows, Rows], Theta]


def _back_each(gradient: Rows, x: Rows) -> Theta:
    return np.stack([np.einsum("ij,ij->j", gradient, x), gradient.sum(0)])


def _back_all(gradient: Rows, x: Rows) -> Theta:
    return np.concatenate([x.T @ gradient, gradient.sum(0, keepdims=True)])


# Every class by itself (θ is 2 × k), and every class from all (θ is (k + 1) × k).
EACH = LinearMap(lambda theta, x: x * theta[0] + theta[1], _back_each)
ALL = LinearMap(lambda theta, x: x @ theta[:-1] + theta[-1], _back_all)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is minimized. `penalties` (r) and `center` (c) have the shape of θ."""

    map: LinearMap
    inputs: Float[np.ndarray, "n k"]
    scale: float
    labels: Int[np.ndarray, " n"]
    penalties: Theta
    center: Theta

    def loss(self, theta: Theta) -> float:
        """The mean log loss alone."""
        total = 0.0
        for part, x in self._parts():
            s = self.map.apply(theta, x)
            s -= s.max(1, keepdims=True)
            own = s[np.arange(len(s)), self.labels[part]]
            total += float((np.log(np.exp(s).sum(1)) - own).sum())
        return total / len(self.labels)

    def value(self, theta: Theta) -> float:
        """What is minimized."""
        return self.loss(theta) + float((self.penalties * (theta - self.center) ** 2).sum())

    def probs(self, theta: Theta) -> Kept:
        """The probabilities of all blocks, unless they are too many to keep."""
        if self.inputs.size > KEPT:
            return None
        return [_softmax(self.map.apply(theta, x)) for _, x in self._parts()]

    def gradient(self, theta: Theta, kept: Kept) -> tuple[Theta, Theta]:
        """The gradient, and the diagonal of the Hessian."""
        first = 2 * self.penalties * (theta - self.center)
        second = 2 * self.penalties
        for p, x, part in self._with_probs(theta, kept):
            second = second + self.map.back(p * (1 - p), x * x) / len(self.labels)
            p = p.copy()
            p[np.arange(len(p)), self.labels[part]] -= 1
            first = first + self.map.back(p, x) / len(self.labels)
        return first, second

    def curvature(self, theta: Theta, kept: Kept, along: Theta) -> Theta:
        """The Hessian times a direction."""
        result = 2 * self.penalties * along
        for p, x, _ in self._with_probs(theta, kept):
            moved = self.map.apply(along, x)
            moved -= np.vecdot(p, moved)[:, None]
            moved *= p
            result = result + self.map.back(moved, x) / len(self.labels)
        return result

    def _parts(self) -> Iterator[tuple[slice, Rows]]:
        for part in blocks(*self.inputs.shape):
            yield part, self.inputs[part].astype(np.float64) / self.scale

    def _with_probs(self, theta: Theta, kept: Kept) -> Iterator[tuple[Rows, Rows, slice]]:
        for number, (part, x) in enumerate(self._parts()):
            p = kept[number] if kept is not None else _softmax(self.map.apply(theta, x))
            yield p, x, part


def minimized(problem: Problem, start: Theta) -> Theta:
    """The optimum, to rounding."""
    theta, value = start, problem.value(start)
    for _ in range(MOST_STEPS):
        kept = problem.probs(theta)
        gradient, diagonal = problem.gradient(theta, kept)
        step = _direction(problem, theta, kept, gradient, diagonal)
        expected = -float((gradient * step).sum())
        if expected <= NEAR:
            break
        if expected < FAR:
            # So close the loss is quadratic, and its differences drown in rounding.
            theta = theta + step
            continue
        size, after = 1.0, problem.value(theta + step)
        while after > value - 1e-4 * size * expected and size > 1e-10:
            size /= 2
            after = problem.value(theta + size * step)
        if after >= value:
            break
        theta, value = theta + size * step, after
    return theta


def _direction(
    problem: Problem,
    theta: Theta,
    kept: Kept,
    gradient: Theta,
    diagonal: Theta,
) -> Theta:
    """Newton's direction by preconditioned conjugate gradients, more exactly the nearer it is."""
    scale = 1 / np.maximum(diagonal, 1e-12 * max(float(diagonal.max()), 1e-300))
    step = np.zeros_like(theta)
    residual = -gradient
    along = scale * residual
    square = float((residual * along).sum())
    enough = square * min(0.01, square)
    for _ in range(MOST_DIRECTIONS):
        if square <= max(enough, NEAR * 1e-4):
            break
        bent = problem.curvature(theta, kept, along)
        bend = float((along * bent).sum())
        if bend <= 0:
            break
        step = step + square / bend * along
        residual = residual - square / bend * bent
        scaled = scale * residual
        before, square = square, float((residual * scaled).sum())
        along = scaled + square / before * along
    return step


def _softmax(s: Rows) -> Rows:
    s -= s.max(1, keepdims=True)
    np.exp(s, out=s)
    s /= s.sum(1, keepdims=True)
    return s
