"""Averaged weights against the formula, and buffers against the live network's."""

import torch

from mixcal.training.averaging import Average
from tests.support.toy import toy_network


def test_parameters_follow_the_formula_and_buffers_are_copied() -> None:
    network = toy_network()
    average = Average(network, 0.9)
    expected = {name: p.detach().clone() for name, p in network.named_parameters()}
    for _ in range(5):
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(torch.randn_like(parameter))
        network(torch.randn(4, 1, 6, 6))
        average.update()
        for name, parameter in network.named_parameters():
            expected[name] = 0.9 * expected[name] + 0.1 * parameter.detach()
    current = average.current(network)
    for name, parameter in current.named_parameters():
        assert torch.allclose(parameter, expected[name], atol=1e-6), name
    for name, buffer in current.named_buffers():
        assert torch.equal(buffer, dict(network.named_buffers())[name]), name
