"""Every message of the package, by code. Imports nothing.

A message names the argument, what was found, what was expected and what to do.
"""


class _Coded(type):
    """Prefix a message with its code when it is read: ``Errors.HS001``."""

    def __getattribute__(cls, name: str):
        value = super().__getattribute__(name)
        return f"[{name}] {value}" if name.startswith("HS") else value


class Errors(metaclass=_Coded):
    # core: automaton
    HS001 = (
        "labels is {found}; expected at least one name, all different, none of them "
        "'^' or '$' (these stand for the begin and the end in patterns)."
    )
    HS002 = (
        "pattern {pattern} has {found} names; expected two or more. A preference for "
        "a single label belongs into the start potentials."
    )
    HS003 = "pattern {pattern} has the unknown label {found!r}; labels are {expected}."
    HS004 = (
        "pattern {pattern} has {found!r} inside; '^' (begin) may only stand first and "
        "'$' (end) only last."
    )
    HS005 = "pattern {pattern} is given twice; each pattern has one weight."
    HS006 = (
        "observed patterns {found} are not supported by this version; give them as "
        "plain patterns, without feature columns of their own."
    )
    HS007 = "automaton bytes cannot be read ({found}); expected PatternAutomaton.to_bytes()."
    # core: potentials and constraints
    HS010 = (
        "potentials.{name} has shape {found}, expected {expected}. Was it made for "
        "another automaton or another document?"
    )
    HS011 = (
        "potentials.{name} has {found} at {where}; scores are finite or -inf, which "
        "forbids."
    )
    HS012 = (
        "potentials.{name} has type {found}; expected {expected}. Convert it with "
        "numpy.asarray(..., dtype=...)."
    )
    HS013 = (
        "cell ({start}, {end}) with column {column} does not fit a document of "
        "{n_tokens} tokens and {n_columns} columns; expected 0 <= start < end <= n."
    )
    HS014 = "max_length is {found}; expected 1 or more."
    HS015 = "n_tokens is {found}; expected 0 or more."
    HS016 = "constraints.{name} has shape {found}, expected {expected}."
    HS017 = (
        "constraints.boundary has the value {found}; expected -1 (no boundary), 0 "
        "(free), 1 (boundary) or 2 (no entity crosses)."
    )
    HS018 = (
        "constraints.forbidden has {found}; expected (start, end, label) with 0 <= "
        "start < end <= {n_tokens} and label from -1 (any but outside) to {last}."
    )
    HS019 = "automaton is {found}; expected a PatternAutomaton."
    # core: segmentations and probabilities
    HS020 = (
        "segments {found} do not cover {n_tokens} tokens from left to right; expected "
        "(start, end, label) with each start equal to the end before it."
    )
    HS021 = "label is {found}; expected a label index from 0 to {last}."
    HS022 = "probability is {found}; expected a number above 0 and at most 1."
    HS023 = "method is {found!r}; expected one of {expected}."
    HS024 = (
        "segment ({start}, {end}) does not lie within {n_tokens} tokens; expected "
        "0 <= start < end <= n."
    )
