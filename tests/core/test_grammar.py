"""Rules on label sequences: what they mean, how they are read, what they compile to.

The oracle says in plain Python, and for each form in one way, what a rule means.
"""

import copy
import pickle
import re
from itertools import combinations, product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from spacy_hosemi.core.automaton import grammar as module
from spacy_hosemi.core.automaton.grammar import compile_grammar

from ..helpers import assert_linear
from .problems import raises

LABELS = ("O", "A", "B", "C")
COUNTS = {"once": 1, "twice": 2, "0": 0, "1": 1, "3": 3, "04": 4}


# --- the oracle: a rule is (left labels, form, right labels or count) ---------------

WHERE = {
    "before": lambda sequence, i: sequence[i + 1 :],
    "after": lambda sequence, i: sequence[:i],
    "directly before": lambda sequence, i: sequence[i + 1 : i + 2],
    "directly after": lambda sequence, i: sequence[max(i - 1, 0) : i],
}
COMPARE = {
    "at most": lambda found, count: found <= count,
    "at least": lambda found, count: found >= count,
    "exactly": lambda found, count: found == count,
}
ORDERED = [f"{kind} {where}" for kind in ("never", "only") for where in WHERE]


def satisfies(sequence, rule):
    left, form, right = rule
    if form in COMPARE:
        found = sum(label in left for label in sequence)
        return COMPARE[form](found, COUNTS[right])
    kind, _, where = form.partition(" ")
    if where.startswith("directly") and "O" not in left + right:
        sequence = [label for label in sequence if label != "O"]
    for i, label in enumerate(sequence):
        if label in left:
            found = set(WHERE[where](sequence, i)) & set(right)
            if bool(found) != (kind == "only"):
                return False
    return True


def sequences(n_labels, longest):
    for length in range(longest + 1):
        yield from product(LABELS[:n_labels], repeat=length)


def language(rules, longest, n_labels=4):
    """All sequences up to a length that satisfy all rules, by the oracle."""
    return {
        sequence
        for sequence in sequences(n_labels, longest)
        if all(satisfies(sequence, rule) for rule in rules)
    }


# --- ours ---------------------------------------------------------------------------


def text(rule):
    left, form, right = rule
    right = right if form in COMPARE else " or ".join(right)
    return f"{' or '.join(left)} {form} {right}"


def compiled(rules, n_labels=4):
    return compile_grammar(LABELS[:n_labels], [text(rule) for rule in rules])


def permitted(grammar, longest):
    """All sequences up to a length that a grammar permits."""
    ids = {label: y for y, label in enumerate(grammar.labels)}
    return {
        sequence
        for sequence in sequences(len(grammar.labels), longest)
        if grammar.permits([ids[label] for label in sequence])
    }


def same_tables(first, second):
    return np.array_equal(first.transitions, second.transitions) and np.array_equal(
        first.accepting, second.accepting
    )


def sides(labels):
    """One label, or two of them."""
    return [side for size in (1, 2) for side in combinations(labels, size)]


@st.composite
def random_rules(draw):
    left = draw(st.sampled_from(sides(LABELS)))
    form = draw(st.sampled_from([*COMPARE, *ORDERED]))
    counts, labels = st.sampled_from([*COUNTS]), st.sampled_from(sides(LABELS))
    return left, form, draw(counts if form in COMPARE else labels)


def rule_sets(largest):
    return st.lists(random_rules(), max_size=largest)


# --- what rules mean ----------------------------------------------------------------


def test_the_oracle_knows_all_forms():
    assert set(module.COUNTED) == set(COMPARE)
    assert set(module.ORDERED) == set(ORDERED)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("form", COMPARE)
def test_counts(form, count):
    for left in sides(LABELS[:3]):
        rules = [(left, form, count)]
        assert permitted(compiled(rules, 3), 6) == language(rules, 6, 3), text(rules[0])


@pytest.mark.parametrize("form", ORDERED)
def test_order(form):
    # C is never named; A and B stand for any two that are not outside
    for left, right in product(sides(LABELS[:3]), repeat=2):
        rules = [(left, form, right)]
        assert permitted(compiled(rules), 5) == language(rules, 5), text(rules[0])


@given(rule_sets(largest=5))
def test_rules_together(rules):
    expected = language(rules, 4)
    try:
        found = permitted(compiled(rules), 4)
    except ValueError as e:
        assert str(e).startswith("[HS073]")
        found = set()
    assert found == expected


@pytest.mark.parametrize(
    "rule, good, bad",
    [
        ("A at most once", "|A|OA|ABO", "AA|AOA|ABA"),
        ("A or B exactly twice", "AB|OAOA|BB", "|A|ABA"),
        ("A at least 1", "A|OA|AA", "|O|B"),
        ("A never before B", "|BA|A|BOA", "AB|AOB|ACCB|BAB"),
        ("A never after B", "|AB|AOB|B", "BA|BOCA|ABA"),
        ("A never before A", "|A|OAB", "AA|AOA"),
        ("A only after B", "|BA|BOCAA|B", "A|AB|OA"),
        ("A only before B", "|AB|AAOCB|B", "A|BA|ABA"),
        ("A only after A", "|O|B", "A|AA"),
        # neighbours: outside is left out, unless it is named
        ("A never directly before B", "|A|BA|ACB|ACOB", "AB|AOB|AOOB"),
        ("A never directly after B", "|A|AB|BCA", "BA|BOA"),
        ("A only directly after B", "|BA|BOA|OBOOA|BABA", "A|OA|BAA|BCA"),
        ("A only directly before B", "|AB|AOB|ABAB", "A|AO|ACB|AAB"),
        ("A never directly before O", "|A|AB|OA|ABO", "AO|AOB"),
        ("A only directly after O", "|OA|OAB|OAOA", "A|BA|OAA"),
        ("A only directly after B or O", "|OA|BOA|BA", "A|AB|OAA"),
        ("O never directly before O", "|O|OAO", "OO|AOOA"),
    ],
)
def test_by_hand(rule, good, bad):
    grammar = compile_grammar(LABELS, [rule])
    for sequence in good.split("|"):
        assert grammar.permits([LABELS.index(y) for y in sequence]), sequence
    for sequence in bad.split("|"):
        assert not grammar.permits([LABELS.index(y) for y in sequence]), sequence


def test_labels_are_the_ones_that_come_first():
    """Outside is the label with index 0, whatever its name."""
    grammar = compile_grammar(["none", "O", "A"], ["A only directly after A or O"])
    assert grammar.permits([1, 0, 2])
    assert not grammar.permits([0, 2])


# --- tables -------------------------------------------------------------------------


def test_tables_by_hand():
    grammar = compile_grammar(LABELS[:3], ["A at most once", "B only after A"])
    # 0 -> A: 1; from 1 on only O and B
    assert grammar.transitions.tolist() == [[0, 1, -1], [1, -1, 1]]
    assert grammar.accepting.tolist() == [True, True]
    assert grammar.transitions.dtype == np.int32
    assert grammar.accepting.dtype == np.bool_
    assert grammar.n_states == 2
    anything = compile_grammar(LABELS, [])
    assert anything.transitions.tolist() == [[0, 0, 0, 0]]
    assert anything.accepting.tolist() == [True]
    nothing = compile_grammar(["O", "A"], ["O at most 0", "A only after O"])
    assert nothing.transitions.tolist() == [[-1, -1]] and nothing.permits([])


def compiled_or_none(rules):
    try:
        return compiled(rules)
    except ValueError:
        return None


def useful_states(grammar):
    """The states from which an accepting one can be reached."""
    useful = set(np.flatnonzero(grammar.accepting).tolist())
    for _ in range(grammar.n_states):
        useful |= {p for p, row in enumerate(grammar.transitions) if useful & {*row}}
    return useful


def distinct_pairs(grammar):
    """Pairs of states that do not permit the same, by filling a table of pairs."""
    rows, ends = grammar.transitions.tolist(), grammar.accepting.tolist()
    pairs = list(combinations(range(grammar.n_states), 2))
    distinct = {pair for pair in pairs if ends[pair[0]] != ends[pair[1]]}
    size = -1
    while size < len(distinct):
        size = len(distinct)
        for p, q in pairs:
            for x, y in zip(rows[p], rows[q]):
                # All states are useful, so none of them equals "not permitted".
                if (x == -1) != (y == -1) or (min(x, y), max(x, y)) in distinct:
                    distinct.add((p, q))
    return distinct


@given(rule_sets(largest=3))
def test_tables_are_minimal(rules):
    grammar = compiled_or_none(rules)
    if grammar is not None:
        n = grammar.n_states
        assert useful_states(grammar) == set(range(n))
        assert len(distinct_pairs(grammar)) == n * (n - 1) // 2


@given(rule_sets(largest=5))
def test_states_are_numbered_breadth_first(rules):
    grammar = compiled_or_none(rules)
    if grammar is not None:
        n = grammar.n_states
        # states in the order in which the rows 0, 1, .. name them first
        named = dict.fromkeys([0, *grammar.transitions.ravel().tolist()])
        assert [state for state in named if state >= 0] == list(range(n))
        for state in range(1, n):  # each one is named before its own row
            assert state in grammar.transitions[:state]


@given(rule_sets(largest=5), st.randoms())
def test_the_order_of_rules_does_not_matter(rules, random):
    mixed = rules + rules[:1]
    random.shuffle(mixed)
    grammar, other = compiled_or_none(rules), compiled_or_none(mixed)
    assert (grammar is None) == (other is None)
    assert grammar is None or same_tables(grammar, other)


@pytest.mark.parametrize(
    "rules, others",
    [
        (["A never before B"], ["B never after A"]),
        (["A never directly before B"], ["B never directly after A"]),
        (["A at most once"], ["A never before A"]),
        (["A exactly twice"], ["A at least twice", "A at most twice"]),
        (["A at most 0"], ["A only after A"]),
        (["A at most 0"], ["A only directly before A"]),
        (["A at least 0"], []),
        (["A at most once", "B exactly 0"], ["A or B at most 1", "B at most 0"]),
        (["A or B never before C"], ["A never before C", "B never before C"]),
        (["A only after B", "B at most 0"], ["A or B exactly 0"]),
    ],
)
def test_equal_languages_have_equal_tables(rules, others):
    first, second = compile_grammar(LABELS, rules), compile_grammar(LABELS, others)
    assert same_tables(first, second)


def test_harmless_rules_do_not_explode(monkeypatch):
    """One label after the other: 30 labels, 29 * 28 / 2 rules, one state for each."""
    monkeypatch.setattr(module, "MAX_STATES", 60)
    labels = ["O", *(f"label {i}" for i in range(29))]
    rules = [f"{y} never after {z}" for y, z in combinations(labels[1:], 2)]
    assert compile_grammar(labels, rules).n_states == 29


def test_a_dozen_labels_once():
    labels = ["O", *(f"label {i}" for i in range(29))]
    rules = [f"{label} at most once" for label in labels[1:13]]
    assert compile_grammar(labels, rules).n_states == 2**12


# --- reading ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels, rule, left, right",
    [
        ("book title|title", "book title never before title", [0], [1]),
        ("book title|title", "title never before book title", [1], [0]),
        ("a|b", "  a   or b\tnever before  a ", [0, 1], [0]),
        ("a|b or c|b", "a or b or c never before b", [0, 1], [2]),
        ("or|a", "or or a never before or", [0, 1], [0]),
        ("or or|a", "or or or a never before a", [0, 1], [1]),
        ("before|after", "before never before after", [0], [1]),
        ("never before|a", "never before never before a", [0], [1]),
        ("never before|a", "a never before never before", [1], [0]),
        ("a at most|b", "a at most never before b", [0], [1]),
        ("once|b", "once never before b", [0], [1]),
        ("b at most 2|a", "a never before b at most 2", [1], [0]),
        ("a never before b|b", "a never before b never before b", [0], [1]),
        ("é\n名|", "é 名 never before é 名", [0], [0]),
        ("A|a", "A never before a", [0], [1]),
    ],
)
def test_labels_with_any_name(labels, rule, left, right):
    labels = labels.split("|")
    grammar = compile_grammar(["outside", *labels], [rule])
    for y, z in product(range(2), repeat=2):
        assert grammar.permits([y + 1, z + 1]) == (y not in left or z not in right)


def test_rules_may_be_any_iterable():
    rules = ["A at most once", "A never before B"]
    assert compile_grammar(iter(LABELS), iter(rules)) == compile_grammar(LABELS, rules)


# --- a value ------------------------------------------------------------------------


def from_pickle(grammar):
    return pickle.loads(pickle.dumps(grammar))


@pytest.mark.parametrize("copied", [from_pickle, copy.deepcopy])
@pytest.mark.parametrize("rules", [[], ["A at most 3", "A or B never before C"]])
def test_round_trip(copied, rules):
    grammar = compile_grammar(LABELS, rules)
    found = copied(grammar)
    assert found == grammar and hash(found) == hash(grammar)
    assert (found.labels, found.rules) == (LABELS, tuple(rules))
    assert same_tables(found, grammar)
    assert repr(found) == f"LabelGrammar({len(rules)} rules, {grammar.n_states} states)"
    for array in (grammar.transitions, grammar.accepting):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_equal_are_those_with_equal_labels_and_rules():
    grammars = {
        compile_grammar(LABELS, ["A at most once", "B at most once"]),
        compile_grammar(LABELS, ["B at most once", "A at most once"]),
        compile_grammar(LABELS, ["A at most once"]),
        compile_grammar(LABELS[:2], ["A at most once"]),
        compile_grammar(LABELS, []),
    }
    assert len(grammars) == 5
    assert compile_grammar(LABELS, []) in grammars
    assert compile_grammar(LABELS, []) != (LABELS, ())


# --- errors -------------------------------------------------------------------------


def refusal(code, labels, rules):
    """The message with which rules are refused."""
    with pytest.raises(ValueError, match=rf"^\[{code}\]") as e:
        compile_grammar(labels, rules)
    return str(e.value)


UNREADABLE = """
|A|at most once|never before|never before A|A never before|A never B|A before B
|A At Most once|A at most|A at most thrice|A at most Once|A at most -1|A at most 1.0
|A at most 3 times|A at most \u0663|A at most 1_0|A at most 1234567890
|A or at most once|A never before B or|Aat most once""".replace("\n", "").split("|")


@pytest.mark.parametrize("rule", [*UNREADABLE, None, 3, ("A", "at most", "once")])
def test_error_cannot_be_read(rule):
    message = refusal("HS070", LABELS, ["A at most once", rule])
    assert f"rules[1] is {rule!r}; expected a rule such as" in message


def test_error_one_string_as_rules():
    message = refusal("HS070", LABELS, "A at most once")
    assert "rules is 'A at most once'; expected a list of rules" in message


UNKNOWN = """
D: D at most once; a: a at most once; A A: A A at most once; A, B: A, B at most once
D: A or D or B at most once; or B: A or or B at most once; D: A never before D
A directly: A directly never before B; D: D never before A; ^: ^ only before A
D: A only directly before B or D or E; book titles: book titles at most once
z: x or y or z at most once; D: A never before B never before D"""


@pytest.mark.parametrize("pair", re.split("[;\n] ?", UNKNOWN.strip()))
def test_error_unknown_label(pair):
    label, rule = pair.split(": ")
    labels = [*LABELS, "book", "x or y", "A never before B"]
    message = refusal("HS071", labels, [rule])
    assert f"rules[0] is {rule!r} and has the unknown label {label!r};" in message


@pytest.mark.parametrize(
    "labels, rule",
    [
        ("a|b|a or b", "a or b at most once"),
        ("a|b|a or b", "a never before a or b"),
        ("a|a or a", "a or a or a at most once"),
        ("a b|a  b", "a b at most once"),
        ("a|a never before a", "a never before a never before a"),
        ("a|a or a", "a or " * 200 + "a at most once"),
    ],
)
def test_error_ambiguous(labels, rule):
    with raises("HS072"):
        compile_grammar(["O", *labels.split("|")], [rule])


def test_error_ambiguous_shows_two_readings():
    message = refusal("HS072", ["O", "a", "b", "a or b"], ["a or b at most twice"])
    assert "'a' or 'b' at most 2 and 'a or b' at most 2" in message


@pytest.mark.parametrize(
    "rules",
    [
        ["A at most once", "A at least twice"],
        ["A at least 1", "A only after B", "B only after A"],
        ["O or A or B or C exactly 3", "A or B exactly 2", "O or C at least 2"],
        ["A at least once", "A only directly after A"],
    ],
)
def test_error_contradiction(rules):
    with raises("HS073"):
        compile_grammar(LABELS, rules)
    compile_grammar(LABELS, rules[1:])


def test_error_contradiction_names_the_rules():
    rules = ["A at most 4", "B at most 1", "B only after A", "B at least twice"]
    message = refusal("HS073", LABELS, rules)
    # the first one is not part of it: it has most states and was not added yet
    assert f"rules {rules[1:]} contradict" in message


def test_error_too_many_states(monkeypatch):
    rules = ["A at most 3", "B at most 4"]
    monkeypatch.setattr(module, "MAX_STATES", 20)
    assert compile_grammar(LABELS, rules).n_states == 20
    monkeypatch.setattr(module, "MAX_STATES", 19)
    message = refusal("HS074", LABELS, ["C at most 9", *rules])
    assert f"rules {rules} need 20 states or more; expected at most 19" in message
    assert compile_grammar(LABELS, ["A at least 18"]).n_states == 19
    for count in (19, 999999999):
        refusal("HS074", LABELS, [f"A at least {count}"])


def test_any_label_index_is_checked():
    grammar = compile_grammar(LABELS, ["A at most 0"])
    assert not grammar.permits(np.array([1, 3], np.int32))
    for y in (-1, 4):
        with raises("HS021"):
            grammar.permits([1, y])


@pytest.mark.parametrize(
    "unit", ["A never before ", "A or A never before A or ", "never before ", "A or "]
)
def test_long_rules_are_refused_in_linear_time(unit):
    """What a saved model has may be of any length."""
    labels = "O", "A", "never", "never before"

    def refuse(n):
        with pytest.raises(ValueError, match="HS07"):
            compile_grammar(labels, [unit * (n // len(unit))])

    assert_linear(refuse, 4_000, 64_000, 16)
