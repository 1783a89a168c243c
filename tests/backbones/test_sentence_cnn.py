"""The sentence network against a loop over windows, and what its padding and limits promise."""

from pathlib import Path

import pytest
import torch

from mixcal.backbones.sentence_cnn import SentenceCNN, sentence_cnn
from mixcal.core.activations import Activations, Backbone, Between
from mixcal.core.errors import BadInput
from mixcal.training.optimizers import cap_norms

WORDS = ("", *(f"word{k}" for k in range(9)))
TEXTS = torch.tensor(
    [[1, 2, 3, 4, 0, 0], [5, 6, 7, 8, 9, 1], [2, 0, 0, 0, 0, 0]], dtype=torch.int32
)


def small(**knobs) -> SentenceCNN:
    torch.manual_seed(0)
    return sentence_cnn(3, words=WORDS, **({"width": 5, "maps": 4} | knobs))


def test_against_a_loop_over_windows() -> None:
    network = small().eval()
    found = network(TEXTS)
    assert isinstance(network, Backbone)
    assert isinstance(found, Activations)
    vectors = network.embedding.weight[TEXTS.long()]
    padded = torch.cat([torch.zeros(3, 4, 5), vectors, torch.zeros(3, 4, 5)], dim=1)
    features = []
    for layer, window in zip(network.convolutions, (3, 4, 5), strict=True):
        answers = [
            torch.einsum("mdw,nwd->nm", layer.weight, padded[:, start : start + window])
            for start in range(14 - window + 1)
        ]
        features.append((torch.stack(answers).amax(0) + layer.bias).clamp(min=0))
    torch.testing.assert_close(found.features, torch.cat(features, dim=1))
    torch.testing.assert_close(found.logits, network.head(found.features))


def test_empty_words_stay_zero_and_change_nothing() -> None:
    network = small()
    longer = torch.cat([TEXTS, torch.zeros(3, 4, dtype=torch.int32)], dim=1)
    network.eval()
    torch.testing.assert_close(network(longer).logits, network(TEXTS).logits)
    network.train()
    optimizer = torch.optim.Adadelta(network.parameters(), lr=1.0, weight_decay=0.1)
    for _ in range(3):
        network(TEXTS).logits.square().sum().backward()
        optimizer.step()
    assert not network.embedding.weight[0].any()
    assert network.embedding.weight[1:].abs().min() > 0


def test_words_are_mixed_after_the_lookup() -> None:
    network, kept = small().eval(), []
    order = torch.tensor([1, 2, 0])

    def blend(hidden):
        kept.append(hidden)
        return 0.25 * hidden + 0.75 * hidden[order]

    network(TEXTS, between=Between("embedding", blend))
    torch.testing.assert_close(kept[0], network.embedding(TEXTS))
    sentence = network(TEXTS, between=Between("sentence", blend))
    torch.testing.assert_close(kept[1], network(TEXTS).features)
    torch.testing.assert_close(sentence.features, 0.25 * kept[1] + 0.75 * kept[1][order])


@pytest.mark.parametrize("stage", ["embedding", "sentence"])
def test_a_blend_reaches_the_vectors_of_both_members(stage: str) -> None:
    network = small().eval()
    order = torch.tensor([2, 1, 0])
    between = Between(stage, lambda hidden: 0.7 * hidden + 0.3 * hidden[order])
    network(TEXTS, between=between).logits[0].square().sum().backward()
    reached = network.embedding.weight.grad.abs().sum(1) > 0
    # Row 0 has words 1 to 4 and row 2 word 2; row 1 has no part in it.
    assert not reached[5:].any()
    assert reached[2]


def test_ids_are_no_place_to_blend() -> None:
    with pytest.raises(BadInput, match="embedding"):
        small()(TEXTS, between=Between("input", lambda hidden: hidden))


def test_dropout_is_active_in_training_only() -> None:
    network = small(dropout=0.5)
    assert not torch.equal(network(TEXTS).logits, network(TEXTS).logits)
    network.eval()
    assert torch.equal(network(TEXTS).logits, network(TEXTS).logits)


def test_vectors_begin_within_a_quarter_or_as_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("word0 1 2 3 4 5\nother 9 9 9 9 9\n")
    network = small(vectors=str(path))
    assert network.embedding.weight[1].tolist() == [1, 2, 3, 4, 5]
    assert network.embedding.weight[2:].abs().max() <= 0.25
    plain = small()
    assert torch.equal(plain.embedding.weight[2:], network.embedding.weight[2:])


def test_the_limit_on_the_output_weights() -> None:
    weight = torch.nn.Parameter(torch.tensor([[3.0, 4.0], [0.3, 0.4]]))
    cap_norms([weight], 3.0)
    torch.testing.assert_close(weight.data, torch.tensor([[1.8, 2.4], [0.3, 0.4]]))


def test_images_are_refused() -> None:
    with pytest.raises(BadInput, match="words"):
        sentence_cnn(3, words=())
