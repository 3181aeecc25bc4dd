# make install: .venv with every extra that a user may need
# make demo: trains on the built-in typists and writes runs/demo/report.html
# make check: linters, type checker and the fast tests, in about two minutes
# make test: linters, type checker and all tests
# make test-experiments: every table and figure of the papers, scaled down to seconds each
# make docs: builds the documentation in site/; a dead link is an error
# make wheel: builds the package in dist/
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

# Installs Chromium and node with apt-get for the tests of the page; if it cannot, those tests are skipped
APT := $(shell [ "$$(id -u)" = 0 ] && echo apt-get || echo sudo -n apt-get)
browser:
	@have() { for name in "$$@"; do command -v $$name >/dev/null 2>&1 && return; done; return 1; }; \
	{ have chromium chromium-browser google-chrome && have node; } \
		|| { $(APT) update && $(APT) install -y chromium nodejs; } >/dev/null 2>&1 \
		|| echo 'Chromium or node could not be installed (apt-get, as root or by sudo): tests of the page are skipped'

# Leaves out tests marked slow; --durations shows tests that should be marked
check: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow' --durations 5 --durations-min 2

test: lint browser
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-experiments: $(VENV)/.ready-dev
	TACIT_EXPERIMENTS=all $(BIN)/python -m pytest -n 2 --dist worksteal tests/experiments

docs: $(VENV)/.ready-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo 'the documentation is in site/index.html'

# build/ is removed first: setuptools would pack files of an earlier build
wheel: install
	rm -rf build dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls dist/*.whl

clean:
	rm -rf $(VENV) runs build dist site src/*.egg-info
