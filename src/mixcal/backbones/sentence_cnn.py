"""The sentence network (Kim, EMNLP 2014; arXiv:1408.5882v2).

    words → vectors → convolutions over 3, 4 and 5 words, 100 maps each → ReLU → largest value of
    each map → dropout → linear

Sentences get four empty words at either end. Vectors begin uniform in ± 0.25, or as a file of word
vectors in GloVe's text format has them, and are trained. The vector of word 0 stays zero: what
fills a sentence up adds nothing to a mix. The paper's limit on the norm of the output weights is
`optimizer.head_max_norm`. As in the paper.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mixcal.backbones.between import answered, entered, reached
from mixcal.backbones.word_vectors import read_vectors
from mixcal.core.activations import Activations, Between
from mixcal.core.errors import BadInput
from mixcal.core.quantities import Count, ShareBelowOne

REACH = 0.25


class SentenceCNN(nn.Module):
    """Lookup, three kinds of convolutions beside each other, largest values, linear."""

    stages = ("embedding", "sentence")

    def __init__(
        self,
        classes: int,
        *,
        words: int,
        width: int,
        maps: int,
        windows: Sequence[int],
        dropout: float,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width, padding_idx=0)
        # A window may begin before the sentence and end behind it.
        self.convolutions = nn.ModuleList(
            nn.Conv1d(width, maps, window, padding=max(windows) - 1) for window in windows
        )
        self.dropout = nn.Dropout(dropout)
        self.feature_width = maps * len(windows)
        self.head = nn.Linear(self.feature_width, classes)

    def forward(self, inputs: Tensor, between: Between | None = None) -> Activations:
        words = self.embedding(entered(between, self.stages, inputs))
        words = reached(between, "embedding", words).transpose(1, 2)
        strongest = [F.relu(layer(words)).amax(2) for layer in self.convolutions]
        sentence = reached(between, "sentence", torch.cat(strongest, dim=1))
        return answered(self.head, self.dropout(sentence))


def sentence_cnn(
    classes: int,
    *,
    words: Sequence[str],
    width: Count = 300,
    maps: Count = 100,
    windows: Sequence[Count] = (3, 4, 5),
    dropout: ShareBelowOne = 0.5,
    vectors: str = "",
) -> SentenceCNN:
    """The network for a vocabulary; `vectors` names a file of word vectors of this width."""
    if len(words) < 2:
        raise BadInput("The sentence network reads words, and this data set has none; take a text.")
    network = SentenceCNN(
        classes, words=len(words), width=width, maps=maps, windows=windows, dropout=dropout
    )
    with torch.no_grad():
        network.embedding.weight.uniform_(-REACH, REACH)
        network.embedding.weight[0] = 0
        if vectors:
            found = read_vectors(Path(vectors).expanduser(), words, width)
            for place, word in enumerate(words):
                if word in found:
                    network.embedding.weight[place] = torch.from_numpy(found[word])
    return network
