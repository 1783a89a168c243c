"""What several tests of the commands start from."""

from pathlib import Path

import pytest

from tests.support.synthesized import synthesized


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures, a generator, a store of 46 sets, a run to annotate it by, and the annotation."""
    root = tmp_path_factory.mktemp("made")
    synthesized(root)
    return root
