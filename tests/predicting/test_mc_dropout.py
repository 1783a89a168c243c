"""MC dropout: which layers are on, against torch's own dropout in distribution, and each sample
alone against the same sample in a batch."""

import pytest
import torch
from torch import Tensor, nn

from mixcal.backbones.wide_resnet import small
from mixcal.core.activations import Activations
from mixcal.core.errors import BadInput
from mixcal.predicting.mc_dropout import McDropout, PerSampleDropout, drawn_by_sample
from mixcal.predicting.per_sample import keys_of


class Toy(nn.Module):
    """Dropout twice through one layer, batch norm between, and one more dropout."""

    def __init__(self, p: float = 0.4) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(6)
        self.body = nn.Linear(6, 6)
        self.dropout = nn.Dropout(p)
        self.planes = nn.Dropout2d(0.3)
        self.head = nn.Linear(6, 3)

    def forward(self, inputs: Tensor) -> Activations:
        hidden = self.dropout(self.body(self.norm(self.dropout(inputs))))
        hidden = self.planes(hidden[:, :, None, None]).flatten(1)
        return Activations(self.head(hidden), hidden)


def toy(p: float = 0.4) -> Toy:
    torch.manual_seed(1)
    network = Toy(p).eval()
    network.norm.running_mean = torch.linspace(-1, 1, 6)
    return network


def raw_rows(n: int) -> Tensor:
    return torch.arange(6 * n, dtype=torch.uint8).view(n, 6)


def seen(raw: Tensor) -> Tensor:
    return raw.float() / 50


def test_mean_of_probabilities_of_the_passes() -> None:
    answer = McDropout(passes=7)(toy(), raw_rows(5), seen)
    assert answer.members is not None
    assert answer.members.shape == (7, 5, 3)
    assert torch.allclose(answer.members.sum(2), torch.ones(7, 5), atol=1e-6)
    assert torch.allclose(answer.scores, answer.members.mean(0), atol=1e-7)
    # Every pass drops something else.
    assert len({row.tobytes() for row in answer.members[:, 0].numpy()}) == 7


def test_batch_norm_and_everything_else_stay_in_evaluation() -> None:
    network = toy()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    layers = [network.dropout, network.planes]
    with drawn_by_sample(network):
        assert not network.norm.training
        assert isinstance(network.dropout, PerSampleDropout)
    McDropout(passes=3)(network, raw_rows(4), seen)
    assert [network.dropout, network.planes] == layers
    assert not any(module.training for module in network.modules())
    after = network.state_dict()
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], before[name]) for name in before)


def test_layers_come_back_after_an_error() -> None:
    network = toy()
    with pytest.raises(RuntimeError):
        McDropout(passes=2)(network, raw_rows(4), lambda raw: raw.float()[:, :2])
    assert isinstance(network.dropout, nn.Dropout)


def test_a_sample_answers_the_same_in_any_batch_and_order() -> None:
    network, raw = toy(), raw_rows(9)
    whole = McDropout(passes=5, seed=2)(network, raw, seen).scores
    order = torch.tensor([3, 0, 8, 5, 1, 7, 2, 6, 4])
    assert torch.allclose(
        McDropout(passes=5, seed=2)(network, raw[order], seen).scores, whole[order]
    )
    alone = torch.cat(
        [McDropout(passes=5, seed=2)(network, raw[i : i + 1], seen).scores for i in range(9)]
    )
    assert torch.allclose(alone, whole, atol=1e-6)
    other = McDropout(passes=5, seed=3)(network, raw, seen).scores
    assert not torch.allclose(other, whole, atol=1e-3)


def test_passes_converge_to_what_torchs_own_dropout_gives() -> None:
    network, raw = toy(), raw_rows(3)
    ours = McDropout(passes=400)(network, raw, seen).members
    assert ours is not None
    for module in (network.dropout, network.planes):
        module.train()
    with torch.no_grad():
        theirs = network(seen(raw).repeat(4000, 1)).logits.softmax(1).view(4000, 3, 3)
    spread = (ours.var(0) / 400 + theirs.var(0) / 4000).sqrt()
    assert ((ours.mean(0) - theirs.mean(0)).abs() < 5 * spread).all()
    assert torch.allclose(ours.std(0), theirs.std(0), rtol=0.25)


def test_whole_channels_go_together_and_survivors_grow() -> None:
    layer = PerSampleDropout(0.25, 0, channels=True)
    layer.begin(keys_of(raw_rows(40), 0, "x"), 0)
    dropped = layer(torch.ones(40, 30, 2, 2))
    assert dropped.unique().tolist() == pytest.approx([0.0, 4 / 3])
    assert (dropped == dropped[:, :, :1, :1]).all()
    assert (dropped == 0).float().mean().item() == pytest.approx(0.25, abs=0.06)
    # A second call within the pass drops others.
    assert not torch.equal(layer(torch.ones(40, 30, 2, 2)), dropped)


def test_rows_that_belong_to_no_sample_are_refused() -> None:
    layer = PerSampleDropout(0.5, 0, channels=False)
    layer.begin(keys_of(raw_rows(4), 0, "x"), 0)
    assert layer(torch.ones(8, 5)).shape == (8, 5)
    with pytest.raises(BadInput, match="6 rows for 4 samples"):
        layer(torch.ones(6, 5))


def test_without_dropout_there_is_nothing_to_draw() -> None:
    for network in (small(3, channels=1), toy(0.0).head):
        with pytest.raises(BadInput, match=r"--set method.backbone.dropout=0.3"):
            McDropout()(network.eval(), raw_rows(2), seen)
    with pytest.raises(BadInput, match="at least 1"):
        McDropout(passes=0)


def test_a_backbone_of_ours() -> None:
    network = small(4, channels=1, dropout=0.3).eval()
    raw = torch.randint(0, 256, (6, 1, 8, 8), dtype=torch.uint8)
    answer = McDropout()(network, raw, seen)
    assert answer.members is not None
    assert answer.members.shape == (10, 6, 4)
    assert answer.members.std(0).max() > 1e-3
