"""What makes a linear chain better, or worse, than segments: one change at a time.

    python benchmarks/clauses.py DATA --cv 2 --l2 0.1 1

The config is trained as it is, then with single changes: the encoding, the order of
label patterns, what each role reads, how text outside spans is cut. A chain of BIO tags
reads at each token what segments read at their borders alone, see `variants`. Each
training ends when it has converged, or after --max-iter iterations (then it says so).
Without --cv it is tested on dev.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from comparison import Variant, features_of, hosemi, script
from spacy.language import Language

from spacy_hosemi.features.feature_set import FeatureSet

PAIRS = ("LOWER[-1] & LOWER", "SHORT_SHAPE[-1] & SHORT_SHAPE")  # of the preset "fields"
BAG = "LOWER{-30:30}"


def variants(args: argparse.Namespace, nlp: Language) -> list[Variant]:
    """All changes of a config with segments."""
    component, features = hosemi(nlp), features_of(nlp)
    name = component.name

    def setting(key: str, value: Any) -> str:
        return f"components.{name}.{key}={json.dumps(value)}"

    def reads(**roles: Sequence[str]) -> tuple[str, ...]:
        """Other templates in some roles; all must be listed, without presets."""
        own = {role: texts(features, role) for role in features.roles}
        given = {"preset": "none", "pieces": False, **own, **roles}
        return tuple(setting(f"model.features.{k}", v) for k, v in given.items())

    inside, within = texts(features, "inside"), texts(features, "within")
    borders = union(texts(features, "start"), texts(features, "end"))
    windows = [x for x in borders if x not in inside]
    all_ = union(borders, inside, within)
    plain = setting("encoding", "BIO"), setting("decoding", "viterbi")
    bio_1, bio_2 = ((*plain, setting("max_order", order)) for order in (1, 2))
    order_1, tokens = setting("max_order", 1), setting("outside", "token")
    windows_inside = reads(inside=[*inside, *windows])
    chain = reads(inside=[], end=[], start=all_, within=all_)
    return [
        *(
            Variant(f"order {k}", "order", (setting("max_order", k),))
            for k in (1, 2, 3)
            if k != component.cfg["max_order"]
        ),
        Variant("BIO tags, order 1", "encoding", bio_1),
        Variant("BIO tags, order 2", "encoding-2", bio_2),
        Variant("windows inside", "windows", windows_inside),
        Variant("windows inside, order 1", "windows-1", (*windows_inside, order_1)),
        Variant("windows within", "within", reads(within=union(within, windows))),
        Variant("outside token by token", "outside", (tokens,)),
        Variant("the chain as segments", "chain", (*chain, order_1, tokens)),
        Variant("nothing read at the end", "end", reads(end=[])),
        Variant("lengths up to 40", "lengths", (setting("explicit_length", 40),)),
        Variant("pairs of words within", "pairs", reads(within=union(within, PAIRS))),
        Variant("a bag of words", "bag", reads(start=[*texts(features, "start"), BAG])),
        Variant("no pieces", "pieces", (setting("model.features.pieces", False),)),
    ]


def texts(features: FeatureSet, role: str) -> list[str]:
    """The templates of a role."""
    return [str(template) for template in features.roles[role]]


def union(*lists: Sequence[str]) -> list[str]:
    """What is in any list, once."""
    return [*dict.fromkeys(x for one in lists for x in one)]


VARIANTS = {"nargs": "+", "default": [], "metavar": "KIND", "help": "see `variants`"}
DEFAULTS = {"l2": [0.1], "max_iter": 1000, "decodings": ["viterbi", "mbr"]}
main = script(__doc__, variants, options={"--variants": VARIANTS}, **DEFAULTS)

if __name__ == "__main__":
    main()
