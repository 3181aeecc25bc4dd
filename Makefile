# make install: .venv with every extra that a user may need
# make demo: trains on the built-in typists and writes runs/demo/report.html
# make check: linters, type checker and the fast tests
# make test: linters, type checker and all tests
# make test-experiments: every table and figure of the papers, scaled down to seconds each
# make test-federation: a federation of real processes and its faults, in about half an hour
# make fuzz: hostile trials, in at most 20 minutes; MINUTES=3 makes fewer
# make docs: builds the documentation in site/; a dead link is an error
# make wheel: builds the packages tacit and tacit-keyboard in dist/
# make native-fuzz: fuzzes the C reader under sanitizers for ten minutes; MINUTES=1 for one
# make native-bench MODEL=model.tacit: measures the C reader
# make sbom: writes the software bill of materials dist/tacit.cdx.json, in CycloneDX's format
# make lock: writes requirements/*.txt anew after a change of pyproject.toml; with UPGRADE=1, takes newer versions
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Every file that pip installs is named in requirements/ by its hash, libraries of libraries too, so that pip has nothing
# to look up: --no-deps, because pip takes `sqlalchemy[asyncio]` of a library for another name than the pinned
# `sqlalchemy` and refuses its newest version. Tacit itself comes last, built by the setuptools of requirements/build.txt.
INSTALL := install --quiet --disable-pip-version-check
LOCKED := $(INSTALL) --require-hashes --no-deps --only-binary :all:

.PHONY: install demo check test test-experiments test-federation fuzz lint browser docs wheel sbom lock clean
.PHONY: native-fuzz native-bench

install: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml requirements/build.txt requirements/run.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Tacit needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip $(LOCKED) -r requirements/build.txt -r requirements/run.txt
	$(BIN)/python -m pip $(INSTALL) --no-deps --no-build-isolation -e .
	touch $@

# KenLM is built from source: PATH is for its cmake
$(VENV)/.ready-dev: $(VENV)/.ready requirements/dev.txt requirements/judges.txt
	$(BIN)/python -m pip $(LOCKED) -r requirements/dev.txt
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip $(LOCKED) --no-binary kenlm --no-build-isolation \
		-r requirements/judges.txt \
		|| echo 'KenLM (which needs a C++ compiler) and pynini could not be installed: the tests against them are skipped'
	touch $@

$(VENV)/.ready-docs: $(VENV)/.ready requirements/docs.txt
	$(BIN)/python -m pip $(LOCKED) -r requirements/docs.txt
	touch $@

# In an environment of its own: what these need has nothing to do with Tacit
TOOLS := $(VENV)/tools
$(TOOLS)/.ready: requirements/tools.txt
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip $(LOCKED) -r requirements/tools.txt
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

# A whole run that passes fills the section "Federation" of docs/reliability.md. With faketime installed, as on Debian by
# `apt-get install faketime`, clients with a wrong clock are tried, too
test-federation: $(VENV)/.ready-dev
	TACIT_FEDERATION=all $(BIN)/python -m pytest tests/network/federation --durations 0

# A whole run fills the table of docs/reliability.md
MINUTES ?= 20
fuzz: $(VENV)/.ready-dev browser
	$(BIN)/python -m fuzz --minutes $(MINUTES) --page

docs: $(VENV)/.ready-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo 'the documentation is in site/index.html'

# build/ is removed first: setuptools would pack files of an earlier build
wheel: install
	rm -rf build packaging/keyboard/build dist/*.whl
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	cd packaging/keyboard && $(CURDIR)/$(BIN)/python -m pip wheel --quiet --disable-pip-version-check \
		--no-deps --no-build-isolation --wheel-dir $(CURDIR)/dist .
	rm -rf packaging/keyboard/build packaging/keyboard/*.egg-info
	@ls dist/*.whl

# The C reader. Seeds are models of both kinds and of every network; CC may be any compiler with the sanitizers
NATIVE := native/tacit.c native/unicode.c native/correct.c native/dictionary.c
SANITIZE := -std=c99 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
native-fuzz: install
	mkdir -p build/native
	PYTHONPATH=tests $(BIN)/python tools/native_seeds.py build/native/seeds
	$(CC) $(SANITIZE) -Inative native/fuzz.c $(NATIVE) -lm -o build/native/fuzz
	build/native/fuzz $$(( 60 * $(if $(filter file,$(origin MINUTES)),10,$(MINUTES)) )) 1 build/native/seeds/*

native-bench: install
	mkdir -p build/native
	$(BIN)/python tools/native_contexts.py build/native/contexts.txt
	$(CC) -std=c99 -O2 -Inative native/bench.c $(NATIVE) -lm -o build/native/bench
	build/native/bench $(MODEL) build/native/contexts.txt

# Read from an environment that has what `make install` pins and nothing else; checked against CycloneDX's schema
sbom: $(TOOLS)/.ready
	rm -rf build/sbom
	$(PYTHON) -m venv --without-pip build/sbom
	$(TOOLS)/bin/python -m pip --python build/sbom $(LOCKED) -r requirements/run.txt
	mkdir -p dist
	$(TOOLS)/bin/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible \
		--validate --output-file dist/tacit.cdx.json build/sbom
	rm -rf build/sbom
	@echo 'the bill of materials is dist/tacit.cdx.json'

# One version of each library for every Python and platform. Only wheels, so that no install runs code of a library;
# KenLM has none. The others follow dev.txt, so that all can be installed together.
COMPILE := $(TOOLS)/bin/uv pip compile --no-config --quiet --universal --fork-strategy fewest --python-version 3.11 \
	--generate-hashes --only-binary :all: --no-annotate --custom-compile-command 'make lock' \
	$(if $(UPGRADE),--upgrade)
lock: $(TOOLS)/.ready
	$(COMPILE) pyproject.toml --extra dev --group build --group build-judges -o requirements/dev.txt
	$(COMPILE) pyproject.toml --extra all -c requirements/dev.txt -o requirements/run.txt
	$(COMPILE) pyproject.toml --extra docs -c requirements/dev.txt -o requirements/docs.txt
	$(COMPILE) pyproject.toml --extra judges --no-binary kenlm -c requirements/dev.txt -o requirements/judges.txt
	$(COMPILE) --group build -c requirements/dev.txt -o requirements/build.txt
	$(COMPILE) --group tools -o requirements/tools.txt

clean:
	rm -rf $(VENV) .fuzz runs build dist site src/*.egg-info
