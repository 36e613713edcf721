# Every target sets up .venv by itself. PYTHON chooses the interpreter it is made from.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.ready-docs

.PHONY: demo serve-demo test test-documents test-corpora test-slow test-systems test-breakages test-fuzz test-sanitised check format docs clean

demo: $(READY)  ## train three systems on a toy language, translate, draw a tree, compare
	$(BIN)/python examples/demo.py

DEMO_RUNS := demo/experiment/runs
serve-demo: $(READY)  ## serve the demo's models, with a page to look at its trees
	test -f demo/experiment/report.json || $(BIN)/python examples/demo.py
	$(BIN)/trdec serve trdec-con=$(DEMO_RUNS)/trdec-con-1/model trdec-binary=$(DEMO_RUNS)/trdec-binary-1/model \
		--languages trdec-con=vel-en --languages trdec-binary=vel-en --language-name vel=Velu

test: $(READY) check  ## all tests that take a few minutes together
	$(BIN)/python -m pytest -m "not slow and not corpus and not documents" -n 2

test-documents: $(READY)  ## every command and example of the documentation
	$(BIN)/python -m pytest -m "documents and not slow" -n 2

test-corpora: $(READY)  ## laws and known figures on real corpora, in the folder that TRDEC_DATA names
	$(BIN)/python -m pytest -m "corpus and not slow" -n 2

test-breakages: $(READY)  ## break the code on purpose and see the tests fail
	$(BIN)/python tests/breakages.py

test-sanitised: $(READY)  ## the kernels in C, built to notice every read and write beyond their arrays
	rm -rf build/sanitised
	mkdir -p build/sanitised
	cp -r src setup.py pyproject.toml README.md LICENSE build/sanitised
	cd build/sanitised && CFLAGS="-g -fsanitize=address,undefined" LDFLAGS="-fsanitize=address,undefined" $(CURDIR)/$(BIN)/python setup.py --quiet build_ext --inplace --force
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1 \
		PYTHONPATH=build/sanitised/src $(BIN)/python -m pytest --capture=no tests/unit/model/fast/test_compiled.py

test-systems: $(READY)  ## train all eight systems and Transformers on the toy language: twenty minutes on two cores
	$(BIN)/python tests/systems.py

test-slow: $(READY)  ## the tests that take longer
	$(BIN)/python -m pytest -m slow

FUZZ_SECONDS ?= 150
test-fuzz: $(READY)  ## generated input for everything that reads: FUZZ_SECONDS=... for longer, FUZZ=--help for options
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(FUZZ_SECONDS) $(FUZZ)

check: $(READY)  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(DOCS_READY)  ## make a site of docs/ in build/docs, and check its links
	$(BIN)/python -m sphinx --builder html --quiet --fresh-env --fail-on-warning --doctree-dir build/doctrees docs build/docs
	$(BIN)/python tests/docs/site_links.py build/docs
	@echo "The site is build/docs/index.html"

format: $(READY)  ## rewrite the code in the one style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(READY): pyproject.toml setup.py constraints.txt $(wildcard src/trdec/model/fast/*.[ch])
	@command -v $(PYTHON) >/dev/null || { echo "trdec needs Python 3.11 or later: install it, or name one with PYTHON=..." >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade -c constraints.txt setuptools
	$(BIN)/python -m pip install --quiet --no-build-isolation -c constraints.txt -e '.[development]'
	touch $(READY)

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --no-build-isolation -c constraints.txt -e '.[docs]'
	touch $(DOCS_READY)

clean:  ## remove what was installed and made here
	rm -rf $(VENV) build dist demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
