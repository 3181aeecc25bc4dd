# make install: .venv with everything that a user may want
# make demo: train on the built-in typists and leave runs/demo/report.html
# make check: linters, type checker and the fast tests, in about a minute
# make test: everything that must hold, with linters and the type checker
# make test-experiments: every table and figure of the papers, scaled down to seconds
# make docs: the documentation as a site, in site/; a dead link is an error
# make wheel: the package as one file, in dist/
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: install demo check test test-experiments lint browser docs wheel clean

install: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Tacit needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[all]'
	touch $@

$(VENV)/.ready-dev: $(VENV)/.ready
	$(PIP) -e '.[dev]'
	$(PIP) -e '.[judges]' \
		|| echo 'KenLM and pynini could not be installed (a C++ compiler is needed): the tests against them are skipped'
	touch $@

$(VENV)/.ready-docs: $(VENV)/.ready
	$(PIP) -e '.[docs]'
	touch $@

demo: install
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

# the tests without those that are marked slow; --durations shows which of them should be
check: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow' --durations 5 --durations-min 2

test: lint browser
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-experiments: $(VENV)/.ready-dev
	TACIT_EXPERIMENTS=all $(BIN)/python -m pytest -n 2 --dist worksteal tests/experiments

docs: $(VENV)/.ready-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo 'the documentation is in site/index.html'

# setuptools would pack what an earlier build left in build/
wheel: install
	rm -rf build dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls dist/*.whl

clean:
	rm -rf $(VENV) runs build dist site src/*.egg-info
