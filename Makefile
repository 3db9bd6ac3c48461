# Every target sets up what it needs in .venv, and only what changed since; a C compiler
# and Python >= 3.10 are all that must be there. Choose one: make test PYTHON=python3.12
IS_NEW := import sys; sys.exit(sys.version_info < (3, 10))
PYTHON ?= $(shell for minor in "" .13 .12 .11 .10; do python=python3$$minor; \
	$$python -c '$(IS_NEW)' 2>/dev/null && echo $$python && break; done)
VENV := .venv
PY := $(VENV)/bin/python
PIP_INSTALL := $(PY) -m pip --disable-pip-version-check -qq install
SETUP := $(PY) setup.py -q

METADATA := setup.py setup.cfg pyproject.toml spacy_hosemi/__init__.py
CYTHON := $(shell find spacy_hosemi -name "*.pyx" -o -name "*.pxd" -o -name "*.h")
READY := $(VENV)/.built $(VENV)/.dev

PIPELINES := references ingredients affiliations

.PHONY: help demo test coverage install lint format docs test-checked test-sanitized \
	wheels pipelines $(PIPELINES) bench papers clean
.DELETE_ON_ERROR:

help:
	@echo "make demo            train on the small corpus and show what comes out"
	@echo "make test            run the tests; ARGS=... goes to pytest"
	@echo "                     HOSEMI_THOROUGH=1: with many more random cases"
	@echo "make coverage        run the tests and show which lines of Python they miss"
	@echo "make docs            make a site of README and docs/ in build/docs"
	@echo "make install         install the package in $(VENV), for development"
	@echo "make lint            check style and types"
	@echo "make format          format the Python files"
	@echo "make test-checked    run the tests with all checks compiled in (slow)"
	@echo "make test-sanitized  run tests/core with GCC's sanitizers (slow)"
	@echo "make wheels          Linux wheels in dist/, each tested in an empty environment"
	@echo "make references      train the pipeline for references, install it in $(VENV)"
	@echo "make pipelines       wheels of all pipelines: make pipelines DATA=path/to/all"
	@echo "make bench           measure accuracy: make bench DATA=path/to/data"
	@echo "make papers          measure the tables of the papers: make papers DATA=path/to/all"
	@echo "make clean           remove $(VENV) and everything built"

demo: $(VENV)/.built
	@$(PY) corpus/demo.py --output demo

test: $(READY)
	@$(PY) -m pytest -q $(ARGS)

coverage: $(READY)
	@$(PY) -m pytest -q --cov=spacy_hosemi --cov-branch --cov-report=term-missing $(ARGS)

# The pages of the reference must be as the program says, links must lead somewhere.
docs: $(VENV)/.built $(VENV)/.docs
	@$(PY) docs/make_reference.py --check
	@$(PY) docs/draw.py --check
	@$(PY) -m sphinx -q -W -n --keep-going -c docs . build/docs
	@echo "The site begins with build/docs/index.html"

install: $(READY)
	@echo "Installed in $(VENV); activate it with: . $(VENV)/bin/activate"

lint: $(READY)
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@PATH="$(abspath $(VENV))/bin:$$PATH" cython-lint spacy_hosemi
	@$(PY) -m mypy

format: $(READY)
	@$(PY) -m ruff format .
	@$(PY) -m ruff check --fix .

# These builds have trees of their own: their libraries lie nowhere else, and the tests
# run inside, so that no build can be taken for another. Only the libraries stay from the
# last time, since a file that is no more must not be tested.
BESIDE := $(wildcard .ci .github CHANGELOG.md CITATION.cff CONTRIBUTING.md LICENSE \
	MANIFEST.in Makefile README.md SECURITY.md pyproject.toml setup.cfg setup.py \
	benchmarks configs corpus docs examples pipelines tests)

# The folders with kernels, and those of what calls these: all that others reach, they
# reach by the component.
test-checked: FLAVOUR := HOSEMI_DEBUG=1
test-checked: TESTS := -o testpaths="$(addprefix tests/,core text features labels model \
	training hierarchy component hostile test_extract.py test_saved_models.py \
	test_workers.py test_out_of_memory.py test_smoke.py)"

# The sanitizers must be there before the interpreter, which is not compiled with them.
# No leaks: the interpreter does not free everything at its end. Its allocator would put
# objects into large blocks, within which nothing is found. pytest must leave file
# descriptor 2 alone: the report of what ends the process is written there.
test-sanitized: FLAVOUR := HOSEMI_SANITIZE=1 CC=gcc
test-sanitized: WITH = $(FLAVOUR) PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 \
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 LD_PRELOAD="$(foreach \
	library,asan ubsan,$(shell gcc -print-file-name=lib$(library).so))"
test-sanitized: TESTS := -o testpaths=tests/core --capture=sys

test-checked test-sanitized: test-%: $(READY)
	@echo "building in build/$*"
	@mkdir -p build/$*
	@find build/$* -type f ! -name '*.so' -delete
	@$(FLAVOUR) $(SETUP) build --build-lib build/$*
	@cp -R $(BESIDE) build/$*
	@cd build/$* && PYTHONPATH="$$PWD" $(WITH) $(abspath $(PY)) -m pytest -q \
		$(TESTS) $(ARGS)

wheels:
	@.ci/wheels $(ARGS)

# Projects of spaCy: each makes a model, its card and its wheel in a folder of its own.
pipelines: $(if $(DATA),$(PIPELINES))
	@test -n "$(DATA)" || { echo "make pipelines needs DATA: the folder with all data" \
		"sets. Example: make pipelines DATA=../data"; exit 2; }

references: STEPS = $(if $(DATA),measured,all)
$(PIPELINES): STEPS ?= all
$(PIPELINES): $(VENV)/.pipelines $(VENV)/.built
	@$(PY) -m spacy project run $(STEPS) pipelines/$@ \
		$(if $(DATA),--vars.data "$(abspath $(DATA))")
	@mkdir -p dist
	@cp pipelines/$@/build/*/dist/*.whl dist
	@cp pipelines/$@/build/model/README.md dist/$@.md
	@$(PIP_INSTALL) --force-reinstall --no-deps dist/*_hosemi_$@-*.whl
	@$(PIP_INSTALL) dist/*_hosemi_$@-*.whl
	@echo "The wheel is in dist, beside its card, $@.md; it is installed in $(VENV)"

bench: $(if $(DATA),$(VENV)/.bench $(VENV)/.built)
	@test -n "$(DATA)" || { echo "make bench needs DATA: a folder with" \
		"train.jsonl and test.jsonl, each line an object with tokens and" \
		"spans ([start, end, label]). Example: make bench DATA=../data/cora"; exit 2; }
	@$(PY) benchmarks/accuracy.py "$(DATA)" $(ARGS)

papers: $(if $(DATA),$(VENV)/.bench $(VENV)/.built)
	@test -n "$(DATA)" || { echo "make papers needs DATA: the folder with all data" \
		"sets. QUICK=1 only shows that it runs. Example: make papers DATA=../data"; exit 2; }
	@$(PY) benchmarks/papers/run.py --data "$(DATA)" $(if $(QUICK),--quick)

clean:
	rm -rf $(VENV) .coverage build dist *.egg-info pipelines/*/build pipelines/*/corpus
	find spacy_hosemi -name '*.so' -delete

# Stamps: each is as old as the begin of its work, so that what is edited meanwhile is
# newer. The build tools are those of pyproject.toml; to have them in $(VENV) saves pip
# from fetching them anew for each build.
BEGIN = touch $@.begin
END = mv $@.begin $@

$(VENV)/.python:
	@$(or $(PYTHON),false) -c '$(IS_NEW)' || { echo "Python >= 3.10 is needed; name" \
		"one that is: make PYTHON=python3.12 ..."; exit 2; }
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP_INSTALL) --upgrade pip "setuptools>=68" "Cython>=3.1"
	@touch $@

$(VENV)/.installed: $(VENV)/.python $(METADATA)
	@echo "installing and compiling (on two slow cores 9 minutes)"
	@$(BEGIN)
	@$(PIP_INSTALL) --no-build-isolation -e .
	@$(END)

# An install has compiled everything already; otherwise compile what changed, in place.
$(VENV)/.built: $(VENV)/.installed $(CYTHON)
	@$(BEGIN)
	@$(if $(filter $<,$?),touch -r $< $@.begin,echo "compiling" && \
		$(SETUP) build_ext --inplace)
	@$(END)

# The package is installed already, so that pip only adds what the extra names.
$(VENV)/.dev $(VENV)/.bench $(VENV)/.docs $(VENV)/.pipelines: $(VENV)/.installed
	@echo "installing what $(subst .,,$(@F)) needs"
	@$(PIP_INSTALL) "spacy_hosemi[$(subst .,,$(@F))]"
	@touch $@
