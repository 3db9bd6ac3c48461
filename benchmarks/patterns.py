"""Which label patterns are worth their cost: none, all, the most frequent.

    python benchmarks/patterns.py ../data/cora --cv 3

One config is trained again and again, with other label patterns:

- "none": label pairs only (max_order = 1), which all others have too;
- "all to 2", "all to 3", ..: all sequences of labels in training up to that order;
- "count K": the K most frequent of those up to --order;
- "l1 X": all of them, with l1 = X in the fit, for features and patterns alike.

Without --cv it is tested on dev.jsonl. Differences under .3 are noise.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from arguments import number
from comparison import Variant, hosemi, script
from spacy.language import Language


def variants(args: argparse.Namespace, nlp: Language) -> Iterator[Variant]:
    """The config with other patterns."""
    name = hosemi(nlp).name
    order, block = f"components.{name}.max_order", f"initialize.components.{name}"
    longest = f"{order}={args.order}"
    yield Variant("none", "none", [f"{order}=1"])
    for k in range(2, args.order + 1):
        yield Variant(f"all to {k}", "all", [f"{order}={k}"])
    for size in args.sizes:
        maximum = f"components.{name}.pattern_max={size}"
        yield Variant(f"count {size}", "count", [longest, maximum])
    for l1 in args.l1:
        yield Variant(f"l1 {l1:g}", "l1", [longest, f"{block}.fit.l1={l1}"])


SIZES = number([20, 50, 100, 200], "patterns of three or more labels", 0, nargs="*")
OPTIONS = {
    "--order": number(4, "longest patterns"),
    "--sizes": SIZES,
    "--l1": number([0.1, 0.3], "weights of the sum of absolute values", 0.0, nargs="*"),
}
main = script(__doc__, variants, options=OPTIONS)

if __name__ == "__main__":
    main()
