# make run: set up, train the default recipe.  make test: everything but slow.  See CONTRIBUTING.md.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e
# Two processes of one thread each; torch's own threads would fight for the cores.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: run test unit lint types docs docs-build slow faults mutations study examples format clean

run: $(VENV)/.core
	@$(BIN)/mixcal train

test: lint types docs-build unit

unit: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not gpu"

lint: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.test
	$(BIN)/mypy

docs-build: $(VENV)/.test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir site

docs: $(VENV)/.test
	$(BIN)/mkdocs serve

slow: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal -m "slow and not gpu"

faults: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python -m pytest -m slow tests/training/test_faults.py

mutations: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python -m tests.mutations.run

study: $(VENV)/.core
	@echo "one study at a time: $(BIN)/mixcal study studies/NAME.toml --processes 2"

examples: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python -m pytest tests/docs/test_examples.py

format: $(VENV)/.test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "mixcal needs Python 3.11 or newer; name one with PYTHON=..."; exit 2; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "setting up $(VENV) (once; torch is large) ..."
	@start=$$(date +%s); $(INSTALL) "." && touch $@ && \
	  echo "set-up took $$(( $$(date +%s) - start )) s"

$(VENV)/.test: pyproject.toml constraints.txt | $(VENV)/bin/python
	@start=$$(date +%s); $(INSTALL) ".[all,test,lint,docs]" && touch $@ $(VENV)/.core && \
	  echo "set-up took $$(( $$(date +%s) - start )) s"
