"""One reader of `fuzz_targets.py` under atheris, in a process of `fuzz.py`.

    python benchmarks/fuzz_reader.py NAME FINDS [arguments of libFuzzer]

Writes one line of JSON to FINDS for each place where an error left the reader that is
no refusal: the error, the place, the input. What takes too long, or too much memory,
ends the process, and libFuzzer says so.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import atheris

# Instructions of Python tell libFuzzer where an input went, but only of what is read
# under this: spaCy's would be counted, too.
with atheris.instrument_imports(include=["spacy_hosemi"]):
    import fuzz_targets
    from fuzz_targets import Target, is_refusal, place_of


class Watched:
    """A target that goes on after a find, and notes each place once, a line of a file
    for each."""

    def __init__(self, target: Target, finds: Path) -> None:
        self._target, self._finds = target, finds
        self._seen: set[tuple[str, ...]] = set()

    def __call__(self, data: bytes) -> None:
        try:
            self._target.run(data)
        except Exception as error:
            at = place_of(error)
            if not is_refusal(error) and at not in self._seen:
                self._seen.add(at)
                find = {"error": repr(error)[:300], "at": at, "input": data.hex()}
                with self._finds.open("a", encoding="utf8") as file:
                    file.write(json.dumps(find) + "\n")


def main() -> None:
    name, finds, *given = sys.argv[1:]
    target = fuzz_targets.targets()[name]
    atheris.Setup([sys.argv[0], *given], Watched(target, Path(finds)))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
