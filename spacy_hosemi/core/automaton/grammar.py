"""Rules on the sequence of segment labels, compiled to one small automaton.

    author or editor at most twice       at most, at least, exactly; once, twice, 3
    volume never before journal          no volume has a journal anywhere behind it
    volume never after journal           no volume has a journal anywhere before it
    volume only before journal           each volume has a journal somewhere behind it
    volume only after journal            each volume has a journal somewhere before it
    volume never directly before pages   the same four, but for the neighbour

A rule speaks about each segment that has one of the labels on its left. What is before
or behind it are other segments: "author never before author" says at most one.
Neighbours are found with the segments of the outside label (index 0) left out, unless
the rule names that label. The borders of a document are no segments: nothing is before
the first one, so "only after" and "only directly after" do not permit it and "never"
does; likewise nothing is behind the last one.

Labels may have several words, as "book title"; a rule that can be read in two ways is
refused. Rules know the order of segments, not their lengths, tokens or scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import Errors
from ..arguments import check_list, is_whole, shown
from .rules import COUNTED, NO, ORDERED, Rule, read_rule, splits

BEGIN, END = "^", "$"

# States of a product before it is made minimal: up to here it takes less than a second.
MAX_STATES = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class LabelGrammar:
    """Which sequences of segment labels satisfy all rules; from `compile_grammar`.

    labels (Tuple[str]): L names; index 0 is outside.
    rules (Tuple[str]): As given.
    transitions (int32 [S, L]): The next state, -1: not permitted. State 0 is the start.
    accepting (bool [S]): Whether a document may end here.

    Every state can be reached and can reach an accepting one, no two of them permit the
    same, and they are numbered breadth-first by label index: rules that permit the same
    sequences have equal arrays. The arrays are read-only.
    """

    labels: tuple[str, ...]
    rules: tuple[str, ...]
    transitions: NDArray[np.int32]
    accepting: NDArray[np.bool_]

    @property
    def n_states(self) -> int:
        """S."""
        return len(self.accepting)

    def permits(self, label_indices: Iterable[int]) -> bool:
        """Whether the segments of a document satisfy all rules.

        label_indices (Iterable[int]): Label indices of the segments of a document.
        RETURNS (bool): True if they do.
        RAISES (ValueError): HS021 label.
        """
        state, last = 0, len(self.labels) - 1
        for y in check_list("label_indices", label_indices, "a list of label indices"):
            if not (is_whole(y) and 0 <= y <= last):
                raise ValueError(Errors.HS021.format(found=shown(y), last=last))
            if state != NO:
                state = self.transitions[state, y]
        return state != NO and bool(self.accepting[state])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelGrammar):
            return NotImplemented
        return (self.labels, self.rules) == (other.labels, other.rules)

    def __hash__(self) -> int:
        return hash((self.labels, self.rules))

    def __reduce__(self):
        return compile_grammar, (self.labels, self.rules)

    def __repr__(self) -> str:
        return f"LabelGrammar({len(self.rules)} rules, {self.n_states} states)"


def compile_grammar(labels: Iterable[str], rules: Iterable[str]) -> LabelGrammar:
    """The automaton of all sequences of segment labels that satisfy all rules.

    labels (Iterable[str]): L names; index 0 is outside.
    rules (Iterable[str]): Sentences as in the head of this module, in any order.
    RETURNS (LabelGrammar): With one accepting state if there are no rules.
    RAISES (ValueError): HS001 labels; HS070 to HS072 a rule that cannot be read; HS073
        contradicting rules; HS074 too many states.
    """
    labels = check_labels(labels)
    if isinstance(rules, str):
        found = {"name": "rules", "found": shown(rules)}
        raise ValueError(Errors.HS070.format(**found, expected="a list of rules"))
    rules = tuple(check_list("rules", rules, "a list of rules"))
    tables = [
        _rule_table(read_rule(f"rules[{i}]", rule, labels), rule, len(labels))
        for i, rule in enumerate(rules)
    ]
    # Small tables first: they forbid much, and then less of the large ones is reached.
    order = sorted(range(len(rules)), key=lambda i: len(tables[i].accepting))
    table = _Table(np.zeros((1, len(labels)), np.int32), np.ones(1, np.bool_))
    for n, i in enumerate(order, start=1):
        combined = [rules[k] for k in order[:n]]
        table = _minimal(_product(table, tables[i], combined))
        if not len(table.accepting):
            raise ValueError(Errors.HS073.format(found=combined))
    for array in table:
        array.setflags(write=False)
    return LabelGrammar(labels, rules, *table)


def check_forms(name: str, rules: Iterable[str]) -> None:
    """Raises HS070 if a rule cannot be read, whatever the labels are."""
    for i, rule in enumerate(rules):
        if not any(splits(rule.split())):
            args = {"name": f"{name}[{i}]", "found": shown(rule), "expected": "a rule"}
            raise ValueError(Errors.HS070.format(**args))


def check_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """RAISES (ValueError): HS001. (TypeError): HS019."""
    labels = tuple(
        labels if isinstance(labels, str) else check_list("labels", labels, "names")
    )
    are_names = all(isinstance(label, str) for label in labels)
    if not labels or not are_names or len({BEGIN, END, *labels}) < 2 + len(labels):
        raise ValueError(Errors.HS001.format(found=shown(labels)))
    return labels


def check_tables(grammar: LabelGrammar) -> None:
    """RAISES (TypeError): HS019 a grammar that `compile_grammar` has not made."""
    transitions, accepting = grammar.transitions, grammar.accepting
    try:
        n_states, n_labels = transitions.shape
        is_sound = (
            (transitions.dtype, accepting.dtype) == (np.int32, np.bool_)
            and (n_labels, accepting.shape) == (len(grammar.labels), (n_states,))
            and bool(-1 <= transitions.min() <= transitions.max() < n_states)
        )
    except (AttributeError, ValueError, TypeError):
        is_sound = False
    if not is_sound:
        expected = "one that compile_grammar has made"
        raise TypeError(
            Errors.HS019.format(name="grammar", found=shown(grammar), expected=expected)
        )


# --- tables -------------------------------------------------------------------------


class _Table(NamedTuple):
    """Transitions and accepting states, as in LabelGrammar."""

    transitions: NDArray[np.int32]
    accepting: NDArray[np.bool_]


def _rule_table(rule: Rule, text: str, n_labels: int) -> _Table:
    if rule.form in COUNTED:
        rows, accepting = _count_rows(rule.form, rule.number, text)
    else:
        rows, accepting = ORDERED[rule.form]
    left, right = (np.isin(range(n_labels), side) for side in (rule.left, rule.right))
    transitions = np.array(rows, np.int32)[:, left + 2 * right]
    if "directly" in rule.form and not (left | right)[0]:
        transitions[:, 0] = range(len(rows))  # neighbours stay so over outside
    return _Table(transitions, np.array(accepting, np.bool_))


def _count_rows(
    form: str, count: int, text: str
) -> tuple[list[list[int]], Sequence[bool]]:
    """As in ORDERED. State k: k of the left ones were there, or more if it is the last
    and more are permitted."""
    if count >= MAX_STATES:
        message = Errors.HS074.format(found=[text], states=count + 1, limit=MAX_STATES)
        raise ValueError(message)
    rows = [[k, k + 1] for k in range(count + 1)]
    rows[count][1] = count if form == "at least" else NO
    return rows, [form == "at most" or k == count for k in range(count + 1)]


def _product(first: _Table, second: _Table, rules: list[str]) -> _Table:
    """What both permit: pairs of states, numbered breadth-first by label index."""
    next_first, next_second = first.transitions.tolist(), second.transitions.tolist()
    pairs = [(0, 0)]
    ids = {(0, 0): 0}
    rows = []
    for p, q in pairs:
        row = []
        for pair in zip(next_first[p], next_second[q]):
            if NO in pair:
                row.append(NO)
                continue
            if pair not in ids:
                ids[pair] = len(pairs)
                pairs.append(pair)
            row.append(ids[pair])
        rows.append(row)
        if len(pairs) > MAX_STATES:
            text = Errors.HS074.format(found=rules, states=len(pairs), limit=MAX_STATES)
            raise ValueError(text)
    left, right = np.array(pairs).T
    return _Table(
        np.array(rows, np.int32), first.accepting[left] & second.accepting[right]
    )


def _minimal(table: _Table) -> _Table:
    """Merge states that permit the same, and remove those that permit nothing; if the
    start permits nothing, no state is left.

    Partitions are refined until they are stable (Moore 1956). Blocks are numbered by
    their first state, so that breadth-first numbers stay breadth-first.
    """
    # The dead end, where nothing is permitted, goes first: block 0 is what equals it.
    n_labels = table.transitions.shape[1]
    following = np.vstack([np.zeros(n_labels, np.int32), table.transitions + 1])
    block = np.concatenate([[0], table.accepting]).astype(np.int32)
    n_blocks = 0
    while True:
        signatures = np.column_stack([block, block[following]])
        ids: dict[bytes, int] = {}
        block = np.array(
            [ids.setdefault(row.tobytes(), len(ids)) for row in signatures], np.int32
        )
        if len(ids) == n_blocks:
            break
        n_blocks = len(ids)
    states = np.unique(block, return_index=True)[1][1:]  # the first one of each block
    return _Table(block[following[states]] - 1, table.accepting[states - 1])
