# make demo: train on the built-in typists and leave runs/demo/report.html
# make test: everything that must hold, with linters and the type checker
# make test-experiments: every table and figure of the papers, scaled down to seconds
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-experiments lint browser clean

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

# Chromium and node, for the tests of the page: with apt-get where this user may; where not, those tests are skipped
APT := $(shell [ "$$(id -u)" = 0 ] && echo apt-get || echo sudo -n apt-get)
browser:
	@have() { for name in "$$@"; do command -v $$name >/dev/null 2>&1 && return; done; return 1; }; \
	{ have chromium chromium-browser google-chrome && have node; } \
		|| { $(APT) update && $(APT) install -y chromium nodejs; } >/dev/null 2>&1 \
		|| echo 'Chromium or node could not be installed (apt-get, as root or by sudo): tests of the page are skipped'

test: lint browser
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-experiments: $(VENV)/.ready-dev
	TACIT_EXPERIMENTS=all $(BIN)/python -m pytest -n 2 --dist worksteal tests/experiments

clean:
	rm -rf $(VENV) runs build dist src/*.egg-info
