# make demo: train on the built-in typists and leave runs/demo/report.html
# make test: everything that must hold, with linters and the type checker
# make test-experiments: every table and figure of the papers, scaled down to seconds
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-experiments lint clean

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Tacit needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.ready-dev: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[judges]' \
		|| echo 'KenLM and pynini could not be installed (a C++ compiler is needed): the tests against them are skipped'
	touch $@

demo: $(VENV)/.ready
	$(BIN)/tacit demo --out runs/demo

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-experiments: $(VENV)/.ready-dev
	TACIT_EXPERIMENTS=all $(BIN)/python -m pytest -n 2 --dist worksteal tests/experiments

clean:
	rm -rf $(VENV) runs build dist src/*.egg-info
