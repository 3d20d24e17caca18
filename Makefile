# Everything sets itself up: `make demo` and `make test` need only Python >= 3.11 on the PATH.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CORPUS ?= ../shared/corpus
FUZZ_SECONDS ?= 360
# Other programs for each commit, and the same ones whenever it is tested.
FUZZ_SEED ?= $(shell commit=$$(git rev-parse --short=7 HEAD 2>/dev/null) && printf '%d' "0x$$commit" || echo random)
HOSTILE ?= 2000
HOSTILE_SEED ?= random
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
USABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))

.PHONY: help demo test test-slow quick fuzz hostile check format golden wheel site site-links bench bench-peers bench-ops bench-compile bench-fusion bench-parse seeds clean

help:
	@echo "make demo    an encoder, 50 shapes, one compilation, checked against XLA"
	@echo "make test    every check, and the tests of a quarter of an hour"
	@echo "make test-slow  the other tests: grids of forms and variants, random and hostile programs (.ci/run: both)"
	@echo "make quick   a minute of tests, some of every package: what to run between edits"
	@echo "make fuzz    random programs in all ways against each other, for FUZZ_SECONDS=$(FUZZ_SECONDS), from FUZZ_SEED=$(FUZZ_SEED) on"
	@echo "make hostile  compile and call HOSTILE=$(HOSTILE) programs that were changed at random"
	@echo "make check   formatting, lint, types, layers, sizes, golden files"
	@echo "make format  rewrite the sources as 'make check' wants them"
	@echo "make golden  rewrite tests/golden from what is generated now"
	@echo "make wheel   dist/*.whl for Linux on x86-64 and on ARM, with compiled code for eight kinds of CPUs (about 5 minutes of CPU)"
	@echo "make site    the documentation as a site, build/site/index.html (warnings are errors)"
	@echo "make site-links  check the links of the documentation to the web (needs a network; not in CI)"
	@echo "make bench   workloads W1-W5, side by side with XLA"
	@echo "make bench-peers  workloads W0-W7 beside JAX, ONNX Runtime, OpenVINO and PyTorch (environments: benchmarks/peers.py)"
	@echo "make bench-compile  where compilation spends its time, from 1 to 48 layers"
	@echo "make bench-fusion  kernels and bytes of the corpus' models, beside other rules and XLA's"
	@echo "make seeds   what the systems that this one follows report, measured here (DISC, Nimble, DietCode, ...)"
	@echo "make bench-parse  the parser, side by side with xDSL's and jaxlib's"

$(INSTALLED): pyproject.toml
	@for python in python3.12 python3.11 python3; do \
	  if $$python -c '$(USABLE)' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$${found:-}" ]; then \
	  echo "no Python >= 3.11 with venv and ensurepip on the PATH (Debian: apt install python3-venv)" >&2; \
	  exit 1; \
	fi; \
	echo "setting up $(VENV) with $$($$found -V) (once, about a minute)"; \
	$$found -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(INSTALLED)
	$(BIN)/python examples/quickstart.py

test: check
	$(BIN)/python -m pytest -n 2 --dist worksteal --durations=40 --corpus=$(CORPUS) -m "not slow"

test-slow: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 --dist worksteal --durations=40 --corpus=$(CORPUS) -m slow
	-$(MAKE) hostile HOSTILE_SEED=$(FUZZ_SEED)  # what this and the next one find is printed; it does not fail the tests yet
	-$(MAKE) fuzz

quick: $(INSTALLED)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m quick $$(grep -rl --include='test_*.py' 'pytest\.mark\.quick' tests)

fuzz: $(INSTALLED)
	$(BIN)/python -m shlo_disc fuzz --seconds $(FUZZ_SECONDS) --patience 240 --seed $(FUZZ_SEED) --jobs 2 --keep-going --out build/fuzz

hostile: $(INSTALLED)
	$(BIN)/python -m tests.hostile.run --count $(HOSTILE) --seed $(HOSTILE_SEED) --jobs 2 --corpus $(CORPUS) --out build/hostile

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python tools/size.py
	git diff --exit-code -- tests/golden

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

golden: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 --update-golden

wheel: $(INSTALLED)
	$(BIN)/python -m tools.build_wheel --out dist

site: $(INSTALLED)
	rm -rf build/site
	$(BIN)/python -m sphinx --quiet --fail-on-warning --builder html --conf-dir tools/documentation --doctree-dir build/site-pages . build/site
	@echo "build/site/index.html"

site-links: $(INSTALLED)
	$(BIN)/python -m sphinx --quiet --builder linkcheck --conf-dir tools/documentation --doctree-dir build/site-pages . build/site-links

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks.run

bench-peers: $(INSTALLED)
	$(BIN)/python -m benchmarks.peers

bench-ops: $(INSTALLED)
	$(BIN)/python -m benchmarks.ops --threads 1,2

bench-compile: $(INSTALLED)
	$(BIN)/python -m benchmarks.compile_time

bench-fusion: $(INSTALLED)
	$(BIN)/python -m benchmarks.fusion --corpus $(CORPUS)

seeds: $(INSTALLED)
	$(BIN)/python -m benchmarks.seeds

bench-parse: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --target build/xdsl xdsl==0.74.0
	$(BIN)/python -m benchmarks.parse --corpus $(CORPUS) --xdsl build/xdsl

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache build *.egg-info
