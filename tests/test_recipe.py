"""Recipes: defaults, files, overrides, hashes, and an error that helps for every mistake."""

from pathlib import Path

import pytest

from mixcal.core.errors import BadInput
from mixcal.recipe import Recipe, parsed_setting, read_recipe


def recipe(tmp_path: Path, text: str, *settings: str) -> Recipe:
    path = tmp_path / "some.toml"
    path.write_text(text)
    return read_recipe(path, settings)


BASE = "[method]\nsteps = 10\n"


def test_defaults_file_and_settings_in_that_order(tmp_path: Path) -> None:
    found = recipe(tmp_path, BASE + "batch = 32\n", "method.steps=20")
    assert (found.method.seed, found.method.batch, found.method.steps) == (0, 32, 20)


def test_recipes_extend_from_left_to_right(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[method]\nsteps = 1\nbatch = 8\nseed = 1\n")
    (tmp_path / "b.toml").write_text("[method]\nbatch = 16\n")
    found = recipe(tmp_path, 'extends = ["a.toml", "b.toml"]\n[method]\nseed = 3\n')
    assert (found.method.steps, found.method.batch, found.method.seed) == (1, 16, 3)


def test_another_name_drops_the_old_knobs(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(BASE + 'algorithm = { name = "fixmatch", threshold = 0.9 }\n')
    same = recipe(
        tmp_path, 'extends = ["a.toml"]\n[method]\nalgorithm = { name = "fixmatch", x = 1 }\n'
    )
    assert dict(same.method.algorithm.knobs) == {"threshold": 0.9, "x": 1}
    other = recipe(tmp_path, 'extends = ["a.toml"]\n[method]\nalgorithm = { name = "softmatch" }\n')
    assert dict(other.method.algorithm.knobs) == {}


def test_a_written_recipe_reads_back_as_itself(tmp_path: Path) -> None:
    text = BASE + (
        'algorithm = { name = "fixmatch", threshold = 0.9 }\n'
        'calibrators = [{ name = "label-smoothing", parts = ["labeled"] }]\n'
        'data = { source = "digits", labels_per_class = 4, path = "a \\"b\\" ü" }\n'
    )
    found = recipe(tmp_path, text)
    (tmp_path / "again.toml").write_text(found.to_toml())
    assert read_recipe(tmp_path / "again.toml") == found


def test_only_the_method_is_hashed(tmp_path: Path) -> None:
    plain = recipe(tmp_path, BASE)
    assert recipe(tmp_path, BASE, "running.threads=2").fingerprint == plain.fingerprint
    assert recipe(tmp_path, BASE, "method.batch=65").fingerprint != plain.fingerprint
    seeded = recipe(tmp_path, BASE, "method.seed=5")
    assert seeded.fingerprint != plain.fingerprint
    assert seeded.family == plain.family


def test_settings_are_toml_or_text() -> None:
    assert parsed_setting("a.b=1") == {"a": {"b": 1}}
    assert parsed_setting("a=[1, 2]") == {"a": [1, 2]}
    assert parsed_setting("a=adam") == {"a": "adam"}
    assert parsed_setting("a=x=y") == {"a": "x=y"}


def test_none_can_be_said(tmp_path: Path) -> None:
    text = BASE + 'algorithm = { name = "fixmatch" }\n'
    assert recipe(tmp_path, text, "method.algorithm=none").method.algorithm is None


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("[method]\nstepz = 3\n", (), "unknown key 'method.stepz'; did you mean 'steps'"),
        ("[metod]\n", (), "did you mean 'method'"),
        (BASE + 'optimizer = { name = "sdg" }\n', (), "method.optimizer.name is 'sdg'"),
        (BASE + "optimizer = 3\n", (), "must be a table"),
        (BASE + "batch = 1.5\n", (), "method.batch is 1.5; it must be a whole number"),
        (BASE + "batch = true\n", (), "must be a whole number"),
        (BASE + 'batch = "8"\n', (), "must be a whole number"),
        (BASE + "batch = 0\n", (), "at least 1"),
        (BASE + "views = { area = [0.1] }\n", (), "a list of two"),
        (BASE + "algorithm = { threshold = 1 }\n", (), "must be a table with a name"),
        (BASE, ("method.optimizer.learning_rate=-1",), "learning_rate is -1.0; .* at least 0"),
        (BASE, ("method.optimizer.betas=[0.9, 1]",), r"betas\[1\] is 1.0; .* below 1"),
        (BASE, ("method.data.labels_per_class=0",), "labels_per_class is 0; .* at least 1"),
        (BASE, ("running.threads=-2",), "running.threads is -2; .* at least 0"),
        ("[method]\n", (), "method.steps or method.epochs"),
        (BASE + "epochs = 3\n", (), "method.steps or method.epochs"),
        (BASE, ("method.seed",), "write it as key=value"),
        ("[method\n", (), "not valid TOML"),
        (BASE + "steps = 0\n", (), "not valid TOML"),
        ('extends = ["none.toml"]\n' + BASE, (), "There is no recipe"),
        ('extends = ["some.toml"]\n' + BASE, (), "extends itself"),
        ('extends = "some.toml"\n' + BASE, (), "extends is 'some.toml'; give a list"),
        ("extends = [1]\n" + BASE, (), r"extends is \[1\]; give a list"),
    ],
)
def test_mistakes_are_named(
    tmp_path: Path, text: str, settings: tuple[str, ...], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        recipe(tmp_path, text, *settings)


def test_only_a_bare_name_is_looked_for_in_all_folders(tmp_path: Path) -> None:
    for name in ("text/mr", "arc/svhn"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / f"{name}.toml").write_text(BASE)
    for name in ("mr", "text/mr", "text/mr.toml"):
        assert read_recipe(Path(name), search=[tmp_path]).method.steps == 10
    for name in ("nonsense/mr", "arc/mr"):
        with pytest.raises(BadInput, match="There is no recipe"):
            read_recipe(Path(name), search=[tmp_path])
