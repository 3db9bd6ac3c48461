"""spaCy's own tests of `ner`, with hosemi in its place.

    python benchmarks/spacy_tests.py

The tests come with spaCy, in `spacy.tests`. Wherever one of them makes a component by
the factory "ner", it gets hosemi, without the settings that only `ner` has; a test
counts if it made one. What does not pass is listed with the reason why it cannot. Exit
status 1 says that a test fails which is not in that list, or that one of the list
passes. Needs pytest, and what spaCy's tests import: hypothesis, mock.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from arguments import flag, script
from spacy.language import Language

MODULES = (
    "parser.test_add_label",
    "parser.test_ner",
    "pipeline.test_entity_linker",
    "pipeline.test_pipe_factories",
    "pipeline.test_pipe_methods",
    "pipeline.test_tok2vec",
    "serialize.test_serialize_config",
    "serialize.test_serialize_language",
    "serialize.test_serialize_pipeline",
    "test_cli",
    "training.test_logger",
    "training.test_rehearse",
    "training.test_training",
    "vocab_vectors.test_vectors",
)

# Settings of `ner` that hosemi does not have.
OF_NER = ("moves", "update_with_oracle_cut_size")

MOVES = "looks at the actions of the transition system (moves); a CRF has none"
LOSS = "wants a loss near 0; ours is in nats, and l2 keeps it above"
REASONS = {
    "test_accept_blocked_token": MOVES,
    "test_issue1967": MOVES,
    "test_issue2179": "resizes the output of the transition model",
    "test_issue3209": MOVES,
    "test_labels_from_BILUO": MOVES,
    "test_overwrite_token": MOVES,
    "test_overfitting_IO": LOSS,
    "test_overfitting_IO_with_ner": LOSS,
    "test_ner_warns_no_lookups": "our features do not read NORM unless told to",
    "test_issue4725_1": "reads update_with_oracle_cut_size",
    "test_config_nlp_roundtrip": "compares names of factories: one is ours",
}


def without_ner_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a component, of its model only the tok2vec."""
    config = {key: value for key, value in config.items() if key not in OF_NER}
    tok2vec = config.pop("model", {}).get("tok2vec")
    return {**config, "model": {"tok2vec": tok2vec}} if tok2vec else config


class HosemiForNer:
    """A pytest plugin: the other factory; names of passed tests that made it, and of
    failed ones, with the last line of what is said."""

    def __init__(self) -> None:
        self.passed: list[str] = []
        self.failed: dict[str, str] = {}
        self._made_one = False
        self._create = Language.create_pipe

    def pytest_sessionstart(self) -> None:
        create = self._create

        def create_pipe(
            nlp: Language, factory_name: str, name: str | None = None, **given: Any
        ) -> Any:
            if factory_name == "ner":
                self._made_one = True
                factory_name, name = "hosemi", name or "ner"
                given["config"] = without_ner_settings(given.get("config", {}))
            return create(nlp, factory_name, name, **given)

        Language.create_pipe = create_pipe  # type: ignore[method-assign]

    def pytest_sessionfinish(self) -> None:
        Language.create_pipe = self._create  # type: ignore[method-assign]

    def pytest_runtest_logstart(self) -> None:
        self._made_one = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.rpartition("::")[2]
        if report.failed and self._made_one:
            self.failed[name] = str(report.longrepr).splitlines()[-1]
        elif report.passed and report.when == "call" and self._made_one:
            self.passed.append(name)


def run(modules: list[str], verbose: bool) -> HosemiForNer:
    """Run these modules of `spacy.tests`."""
    plugin = HosemiForNer()
    # Not under the settings of this repository's own tests.
    options = ["-c", os.devnull, "-p", "no:cacheprovider", "-W", "ignore"]
    options += ["-k", "not compatib"]  # of versions: these ask the network
    options += ["-v", "--tb=short"] if verbose else ["-q", "--tb=no", "--no-summary"]
    names = [f"spacy.tests.{module}" for module in modules]
    status = pytest.main([*options, "--pyargs", *names], plugins=[plugin])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        sys.exit(f"the tests did not run: {status!r}")
    return plugin


def explain(plugin: HosemiForNer) -> bool:
    """Print the result. RETURNS (bool): Whether it is as foreseen."""
    print(f"\n{len(plugin.passed)} passed, {len(plugin.failed)} failed")
    is_foreseen = True
    for name, message in sorted(plugin.failed.items()):
        reason = REASONS.get(name.partition("[")[0])
        is_foreseen &= reason is not None
        print(f"{name}: {reason or 'NOT FORESEEN: ' + message}")
    for name in sorted(plugin.passed):
        if name.partition("[")[0] in REASONS:
            is_foreseen = False
            print(f"{name}: PASSES, though REASONS says that it cannot")
    return is_foreseen


OPTIONS = {
    "--modules": dict(nargs="+", default=list(MODULES), help="of spacy.tests"),
    "--verbose": flag("name each test, show what fails where"),
}
main = script(
    __doc__,
    lambda args, folder: not explain(run(args.modules, args.verbose)),
    options=OPTIONS,
)

if __name__ == "__main__":
    main()
