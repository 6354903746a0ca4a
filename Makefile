# Everything runs in .venv, which is made on first use. PYTHON names the interpreter to make it with.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Add train and models to test training and torch models too (on Linux the index's build may bring gigabytes of CUDA).
EXTRAS ?= dev,evaluate,serve,pose,ray
# Measuring coverage takes about a fifth more time.
COVERAGE ?=
# LOCK=constraints.txt installs exactly the versions in that file.
LOCK ?=
READY := $(VENV)/.ready-$(EXTRAS)
# One more than there are cores: tests wait for browsers, servers and nodes.
WORKERS ?= $(shell $(PYTHON) -c "import os; print(1 + (os.cpu_count() or 1))")

.PHONY: demo test test-latest check coverage lock pin kernels wheel wheels stress bench figures docs

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(if $(LOCK),-c $(LOCK)) -e '.[$(EXTRAS)]'
	@touch $@ $(VENV)/.ready

$(VENV)/.ready: pyproject.toml  # what the demo needs, without the tools of development
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

demo: $(VENV)/.ready  ## the whole job on a sea it makes itself
	$(BIN)/seasync demo --out demo

test: $(READY) check  ## style, types, rooms, tests; COVERAGE=1 prints the share of lines they run
	@tests/install_programs.sh
	$(BIN)/python -m pytest -n $(WORKERS) -rs $(if $(COVERAGE),--cov --cov-report=term:skip-covered)

# A release of a dependency that breaks Seasync shows here first: a fresh environment each time, nothing cached in it.
# PYTHON=python3.13 make test-latest checks another interpreter.
test-latest:  ## the tests with the newest releases of all dependencies
	rm -rf .venv-latest
	$(PYTHON) -m venv .venv-latest
	.venv-latest/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager '.[$(EXTRAS)]'
	.venv-latest/bin/python -m pip list --disable-pip-version-check
	.venv-latest/bin/python -m pytest -n $(WORKERS) -rs

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

coverage:  ## the tests, with the share of lines and branches they run; subprocesses count
	$(MAKE) test COVERAGE=1

HASHED := pip compile --quiet --universal --no-annotate --no-header --generate-hashes --python-version 3.12 -c constraints.txt
BUILT_WITH := import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['build-system']['requires'], 'ziglang', sep='\n')

lock: $(READY)  ## newest versions that fit together, into constraints.txt; with hashes, those of the image
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@echo '# Written by `make lock`: versions that fit together, for every system and Python. Users are not bound by them.' > constraints.txt
	$(BIN)/uv pip compile --quiet --universal --no-annotate --no-header --python-version 3.11 \
		$(foreach extra,dev evaluate serve pose ray train models mcp,--extra $(extra)) pyproject.toml >> constraints.txt
	$(BIN)/uv $(HASHED) --extra serve --extra pose pyproject.toml > requirements/image.txt
	@$(BIN)/python -c "$(BUILT_WITH)" | $(BIN)/uv $(HASHED) - > requirements/build.txt

pin:  ## actions to commits, the base image to its digest; needs git, docker and a network
	$(PYTHON) .github/pin.py

kernels: $(READY)  ## the kernels in C, for this machine, after a change in them
	$(BIN)/python hatch_build.py

wheels: $(READY)  ## the source distribution and a wheel for each platform, into dist
	$(BIN)/python hatch_build.py wheels dist

wheel:  ## the wheel without extras, in a fresh environment: align, add, search, render, export
	$(PYTHON) tests/wheel.py

# 1,000 kills, 10,000 hostile files, a busy server, faults: hours. Stop it at any time; the next run continues.
stress: $(READY)  ## what we promise, at scale; STRESS="kills --minutes 8" does a part of it
	$(BIN)/python -m stress $(STRESS)

bench: $(READY)  ## every benchmark that needs no data of yours
	@for name in alignment extract find render search ingest scale serve; do echo "== $$name"; $(BIN)/python -m benchmarks.$$name || exit 1; done

# DATA is the folder of clips that docs/results/index.md describes.
figures: $(READY)  ## what docs/results shows, measured again: 25 minutes on two cores
	$(BIN)/python -m benchmarks.all $(DATA)

docs: $(READY)  ## the documentation site, into docs/_build/html
	$(BIN)/python docs/make_cli.py
	$(BIN)/python docs/make_json.py
	$(BIN)/python docs/make_http.py
	$(BIN)/python docs/make_graph.py
	$(BIN)/python docs/make_results.py --check
	$(BIN)/python docs/check_prose.py
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build/html
	$(BIN)/python -m tests.docs.count docs/_build/html
	@echo "docs/_build/html/index.html"
