"""Studies: the grid by hand, resuming from rows, failures that stop nothing, tables by hand."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mixcal.core.errors import BadInput
from mixcal.study import Table, cells, read_study, run_study
from mixcal.study_pages import regenerated
from mixcal.study_table import table

STUDY = """
[study]
recipe = "digits"
rows = "rows"
seeds = [0, 1]
set = ["method.steps=2", "method.batch=4", "running.checkpoint_every=0"]
leave_out = [{ host = "supervised", smoothing = "on" }]

[study.axes.host]
supervised = ["method.algorithm=none"]
fixmatch = ["method.algorithm.name=fixmatch"]

[study.axes.smoothing]
off = []
on = ['method.calibrators=[{name = "label-smoothing"}]']

[study.table]
metrics = ["error", "nll"]
against = { host = "supervised" }
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some.toml").write_text(STUDY)
    return tmp_path / "some.toml"


def row(error: float, nll: float, method: dict | None = None, device: str = "cpu") -> str:
    record = {
        "numbers": {"test": {"averaged, last": {"error": error, "nll": nll}}},
        "last_readings": {"impurity_kept": 0.25},
        "method": method or {"steps": 2},
        "device": device,
        "commit": "abc",
        "cpu_seconds": 3.6,
    }
    return json.dumps(record)


def test_the_grid(study: Path) -> None:
    names = [cell.name for cell in cells(read_study(study))]
    assert names == [
        f"{host}-{smoothing}-s{seed}"
        for seed in (0, 1)
        for host, smoothing in (("supervised", "off"), ("fixmatch", "off"), ("fixmatch", "on"))
    ]


def test_tables_by_hand(study: Path) -> None:
    Path("rows").mkdir()
    for name, error, nll in (
        ("supervised-off-s0", 0.30, 1.0),
        ("supervised-off-s1", 0.34, 1.2),
        ("fixmatch-off-s0", 0.20, 1.1),
        ("fixmatch-off-s1", 0.22, 1.3),
    ):
        device = "some GPU" if name == "fixmatch-off-s1" else "cpu"
        (Path("rows") / f"{name}.json").write_text(row(error, nll, device=device))
    lines = table(read_study(study)).splitlines()
    assert lines[0] == "| host | smoothing | seeds | error % | NLL | Δ error % | Δ NLL |"
    assert lines[2] == "| supervised | off | 2 of 2 | 32.00 ± 2.83 | 1.100 ± 0.141 |  |  |"
    # Pairs: -10 and -12 points; their standard error is 1, and t(0.975, 1) is 12.7062.
    assert lines[3] == (
        "| fixmatch | off | 2 of 2 | 21.00 ± 1.41 | 1.200 ± 0.141 "
        "| -11.00 [-23.71, +1.71], n 2 | +0.100 [+0.100, +0.100], n 2 |"
    )
    assert lines[4] == "| fixmatch | on | 0 of 2 |  |  |  |  |"
    notes = lines[6]
    assert "minus host supervised with the same seed" in notes
    assert "Rows: 3 on cpu, 1 on some GPU." in notes
    assert "Steps a run: 2. CPU seconds a run: at most 4. Commits: abc." in notes
    assert "Blank: not run yet (4 of 6 runs done)." in notes


def test_readings_and_what_is_left_out_with_a_reason(study: Path) -> None:
    study.write_text(
        STUDY.replace(
            'smoothing = "on" }]', 'smoothing = "on", why = "no host to smooth" }]'
        ).replace('"nll"]', '"impurity_kept"]')
    )
    Path("rows").mkdir()
    for name in ("supervised-off-s0", "fixmatch-off-s0"):
        (Path("rows") / f"{name}.json").write_text(row(0.3, 1.0))
    lines = table(read_study(study), {"host": "supervised"}).splitlines()
    assert lines[0].startswith("| smoothing | seeds | error % | impurity of the kept % |")
    assert lines[2] == "| off | 1 of 2 | 30.00 | 25.00 |  |  |"
    assert lines[3] == "| on | no host to smooth |  |  |  |  |"
    assert lines[5].startswith("host: supervised. Mean ± s.d. over seeds; test split")
    assert "(1 of 2 runs done)" in lines[5]
    # What is left out is not run either.
    assert "supervised-on-s0" not in [cell.name for cell in cells(read_study(study))]


def test_runs_finish_fail_and_resume(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from mixcal.commands.places import recipe_folder

    study.write_text(
        STUDY.replace("seeds = [0, 1]", "seeds = [0]").replace(
            "[study.table]", 'broken = ["method.batch=0"]\n[study.table]'
        )
    )
    text = study.read_text()
    with pytest.raises(BadInput, match="at least 1"):
        run_study(study, processes=1, into=Path("runs"), search=[recipe_folder()])
    # A choice that only training can refuse: the other runs go on.
    study.write_text(text.replace("method.batch=0", "method.data.labels_per_class=1000"))
    failed = run_study(study, processes=1, into=Path("runs"), search=[recipe_folder()])
    assert failed == ["supervised-broken-s0", "fixmatch-broken-s0"]
    assert "1000 were asked for" in (Path("runs") / "fixmatch-broken-s0.txt").read_text()
    made = sorted(path.name for path in Path("rows").iterdir())
    assert made == ["fixmatch-off-s0.json", "fixmatch-on-s0.json", "supervised-off-s0.json"]
    record = json.loads((Path("rows") / "fixmatch-on-s0.json").read_text())
    assert record["choices"] == {"host": "fixmatch", "smoothing": "on"}
    assert 0 <= record["numbers"]["test"]["averaged, last"]["error"] <= 1
    assert record["cpu_seconds"] > 0
    # Now everything but the broken ones is known; a changed recipe is run anew.
    capsys.readouterr()
    run_study(study, processes=1, into=Path("runs"), search=[recipe_folder()], only="-on-")
    assert "0 runs to go" in capsys.readouterr().err


def test_a_key_that_did_not_exist_counts_as_unchanged(study: Path) -> None:
    from mixcal.commands.places import recipe_folder
    from mixcal.recipe import read_recipe
    from mixcal.study import is_done

    found = read_study(study)
    cell = next(iter(cells(found)))
    recipe = read_recipe(Path("digits"), cell.settings, search=[recipe_folder()])
    Path("rows").mkdir()
    path = Path("rows") / f"{cell.name}.json"
    path.write_text(row(0.1, 1.0, {"steps": 2, "batch": 4}))
    assert is_done(found, cell, recipe)
    path.write_text(row(0.1, 1.0, {"steps": 2, "batch": 5}))
    assert not is_done(found, cell, recipe)


def test_tables_go_between_their_markers(study: Path) -> None:
    rows = study.parent / "docs" / "rows"
    (rows / "rows").mkdir(parents=True)
    (rows / "rows" / "fixmatch-off-s0.json").write_text(row(0.2, 1.0))
    (rows / "sizes").mkdir()
    (rows / "sizes" / "a.json").write_text('{"name": "a", "cost": {"ms": 1.23456}}')
    page = rows.parent / "page.md"

    def made(text: str) -> str:
        page.write_text(text)
        return regenerated(page, studies=study.parent, rows=rows)

    assert made("no table\n") == "no table\n"
    text = made(
        "before\n<!-- table: some host=fixmatch metrics=error against=: -->\nold\n<!-- end -->\n"
        "<!-- records: sizes columns=name,cost.ms,else -->\n<!-- end -->\nafter\n"
    )
    lines = text.splitlines()
    assert lines[:6] == [
        "before",
        "<!-- table: some host=fixmatch metrics=error against=: -->",
        "",
        "| smoothing | seeds | error % |",
        "| --- | --- | --- |",
        "| off | 1 of 2 | 20.00 |",
    ]
    assert "old" not in lines
    some = made('<!-- table: some host="fixmatch|supervised" smoothing=off -->\n<!-- end -->\n')
    assert some.splitlines()[4].startswith("| fixmatch | 1 of 2 | 20.00 |")
    assert some.splitlines()[5].startswith("| supervised | 0 of 2 |")
    made("before\n" + text.partition("before\n")[2])
    assert "| a | 1.235 |  |" in lines
    assert lines[-2:] == ["<!-- end -->", "after"]
    # Made again it stays as it is.
    assert made(text) == text
    with pytest.raises(BadInput, match="there is no host=nobody; known: supervised, fixmatch"):
        made("<!-- table: some host=nobody -->\n<!-- end -->\n")
    with pytest.raises(BadInput, match="not followed by"):
        made("<!-- table: some -->\n<!-- records: sizes columns=name -->\n<!-- end -->\n")


def test_several_ways_of_predicting_are_a_line_each(study: Path) -> None:
    record = json.loads(row(0.2, 1.0))
    numbers = record["numbers"]["test"]
    (known,) = numbers.values()
    numbers["raw, last"] = known
    numbers["raw, last, test-time-4"] = known | {"error": 0.125, "piece": 0.25}
    record |= {"cpu_seconds": 30.0, "method": {"epochs": 4}}
    Path("rows").mkdir()
    for seed, written in ((0, record), (1, json.loads(row(0.4, 1.0)))):
        (Path("rows") / f"fixmatch-off-s{seed}.json").write_text(json.dumps(written))
    found = read_study(study)
    shown = Table(
        metrics=("error", "piece", "cpu_seconds_per_epoch"),
        weights="raw, last|raw, last, test-time-4|raw, last, nothing",
    )
    found = replace(found, table=shown)
    lines = table(found, {"host": "fixmatch", "smoothing": "off"}).splitlines()
    assert lines[0] == "| prediction | seeds | error % | PIECE % | CPU seconds an epoch |"
    assert lines[2] == "| raw, last | 1 of 2 | 20.00 |  | 7.5 |"
    assert lines[3] == "| raw, last, test-time-4 | 1 of 2 | 12.50 | 25.00 | 7.5 |"
    assert lines[4] == "| raw, last, nothing | 0 of 2 |  |  |  |"


def test_mistakes_are_named(tmp_path: Path) -> None:
    path = tmp_path / "some.toml"
    path.write_text("[study]\nrecipe = 'digits'\nrows = 'rows'\nseed = [0]\n")
    with pytest.raises(BadInput, match="did you mean 'seeds'"):
        read_study(path)
    path.write_text("[other]\n")
    with pytest.raises(BadInput, match="one table"):
        read_study(path)
