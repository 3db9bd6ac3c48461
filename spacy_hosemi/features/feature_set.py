"""A feature set: the templates and functions that are read in each role."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from copy import copy
from itertools import chain
from typing import Any

from ..errors import Errors
from ..values import FLAG, TEXT, Setting, choice, integer, list_of, read, read_all
from .attributes import KNOWN, is_extension
from .functions import Functions
from .gazetteers.matches import FUZZY_MATCH, FUZZY_ON_TOKEN, MATCH, SIMILARITY, names_of
from .presets import FUZZY_LISTS, LISTS, PIECES, PRESETS, TABLES, TRANSITION
from .segment_attributes import SEGMENT_ATTRIBUTES
from .segment_features import reads_list, segment_attribute
from .tables import PREFIX, VALUE, Table, reads_table
from .templates import Atom, Template, parse_templates

# The roles of tokens that potentials always have.
TOKEN_ROLES = ("inside", "start", "end")

# The roles whose features have weights for label patterns instead of labels.
TRANSITION_ROLES = ("transition", "transition_inside")

# The roles of tokens that are read only if they have templates or functions.
MORE_ROLES = ("within", *TRANSITION_ROLES)

# "whole" is for features of the whole segment.
ROLES = (*TOKEN_ROLES, *MORE_ROLES, "whole")

# The largest `width`: longer than any document.
MAX_WIDTH = 10**9

_NUMBERS = (
    Setting(
        "min_count",
        integer(1),
        2,
        "How often a feature must occur in training to have weights.",
    ),
    Setting(
        "width",
        integer(1, MAX_WIDTH),
        6,
        "The longest segment, in tokens, that templates in the role whole read; "
        "templates of lists read all segments.",
    ),
    Setting(
        "all_labels",
        FLAG,
        True,
        "Whether a feature has a weight for every label, or only for the labels it "
        "occurs with in training.",
    ),
    Setting(
        "one_dash",
        FLAG,
        False,
        "Whether all dashes (of Unicode's Pd, U+2212, and U+FFFD between digits) are "
        "read as hyphens: fonts and programs exchange them.",
    ),
)
_WHERE = {
    "inside": "at each token of a segment",
    "start": "at its first token",
    "end": "at its last token",
    "whole": "of the whole segment",
    "within": "at each token but the first",
    "transition": "at its first token, with weights for label patterns",
    "transition_inside": "at each token, with weights for label patterns",
}

# The block [components.hosemi.model.features], without functions.
SETTINGS = (
    Setting(
        "preset",
        choice(tuple(PRESETS)),
        "default",
        "The templates to begin with: for general text, fields of records, names in "
        'running text, or Chinese characters; "none": no templates.',
    ),
    Setting(
        "pieces",
        FLAG,
        False,
        "Read also the spaces around tokens, and further to both sides of borders: for "
        "tokens that are pieces of words, as the field tokenizer makes them.",
    ),
    *(
        Setting(role, list_of(TEXT), (), f"Templates to add, which are read {where}.")
        for role, where in _WHERE.items()
    ),
    *_NUMBERS,
)


class FeatureSet:
    """Has templates and functions by role, and the numbers of SETTINGS. A feature that
    a later update brings has weights for all labels. Raises HS030, HS031, HS036 for
    templates; HS033 for numbers and flags."""

    def __init__(
        self,
        inside: Iterable[str] = (),
        start: Iterable[str] = (),
        end: Iterable[str] = (),
        whole: Iterable[str] = (),
        within: Iterable[str] = (),
        transition: Iterable[str] = (),
        transition_inside: Iterable[str] = (),
        *,
        min_count: int = 2,
        width: int = 6,
        all_labels: bool = True,
        one_dash: bool = False,
        functions: Functions | None = None,
    ) -> None:
        arguments = locals()
        read_all(_NUMBERS, arguments, message=Errors.HS033)
        self.roles = {role: parse_templates(arguments[role]) for role in ROLES}
        self.min_count = min_count
        self.width = width
        self.all_labels = all_labels
        self.one_dash = one_dash
        self.functions = functions or Functions()
        of_whole = self.roles["whole"]
        read = {atom.attribute for template in of_whole for atom in template.atoms}
        names = [name for name in self.functions.of_segments if name not in read]
        self.roles["whole"] = (*of_whole, *parse_templates(names))
        self.check((), is_open=True)

    def check(
        self,
        lists: Sequence[str],
        tables: Iterable[str] = (),
        *,
        fuzzy: Sequence[str] = (),
        is_open: bool = False,
    ) -> None:
        """Refuses attributes that do not exist (HS031), or have no meaning in their
        role (HS036), and functions with the name of a list or table (HS106). is_open:
        whether more lists and tables may follow."""
        self.functions.check_names((*lists, *tables))
        on_token = (*KNOWN, *names_of(lists), *names_of(fuzzy, FUZZY_ON_TOKEN))
        on_token += tuple(f"{name}:{VALUE}" for name in tables)
        functions = self.functions.of_segments
        of_segment = (*SEGMENT_ATTRIBUTES, *functions, *names_of(lists, [MATCH]))
        of_segment += names_of(fuzzy, [FUZZY_MATCH, SIMILARITY])
        for role, templates in self.roles.items():
            names = (*on_token, *of_segment) if role == "whole" else on_token
            for template, atom in ((t, atom) for t in templates for atom in t.atoms):
                _check_role(role, template, atom, functions)
                name = atom.attribute
                may_come = is_open and ":" in name
                is_open_name = is_extension(name) or reads_table(name, tables)
                if name not in names and not may_come and not is_open_name:
                    found = {"template": str(template), "found": name}
                    raise ValueError(Errors.HS031.format(**found, expected=names))

    def learnt(self) -> dict[str, Any]:
        """Returns what weights are made for, by keys of SETTINGS: the templates of a
        preset stand in their roles, and numbers for training alone are left out."""
        roles = {role: sorted(map(str, self.roles[role])) for role in ROLES}
        of_functions = {name: [*x] for name, x in self.functions.roles.items()}
        numbers = {"width": self.width, "one_dash": self.one_dash}
        return {**roles, **numbers, "function_roles": of_functions}

    @property
    def token_roles(self) -> tuple[str, ...]:
        """Returns TOKEN_ROLES, and those of MORE_ROLES that have templates or
        functions."""
        listed = {*chain.from_iterable(self.functions.roles.values())}
        more = (role for role in MORE_ROLES if self.roles[role] or role in listed)
        return (*TOKEN_ROLES, *more)

    @property
    def templates(self) -> tuple[Template, ...]:
        """Returns the templates of all roles of tokens, without duplicates."""
        return self._read_as(self.token_roles)

    @property
    def reach(self) -> int:
        """Returns how far from a token its templates read, in tokens."""
        offsets = (abs(x.offset) for template in self.templates for x in template.atoms)
        return max(offsets, default=0)

    @property
    def scored_roles(self) -> tuple[str, ...]:
        """Returns the roles of tokens whose features have weights for labels."""
        return tuple(r for r in self.token_roles if r not in TRANSITION_ROLES)

    @property
    def transition_roles(self) -> tuple[str, ...]:
        """Returns the roles of tokens whose features have weights for label
        patterns."""
        return tuple(role for role in TRANSITION_ROLES if self.roles[role])

    def _read_as(self, roles: Iterable[str]) -> tuple[Template, ...]:
        return tuple(dict.fromkeys(t for role in roles for t in self.roles[role]))

    def on_tokens(self) -> FeatureSet:
        """Returns the features for segments of one token: all templates in the role
        inside, those for label patterns in the role transition."""
        roles: dict[str, tuple[Template, ...]] = dict.fromkeys(ROLES, ())
        roles["inside"] = self._read_as(self.scored_roles)
        roles["transition"] = self._read_as(self.transition_roles)
        merged = self._with_roles(roles)
        merged.functions = Functions(self.functions.functions)
        return merged

    def with_transitions(self) -> FeatureSet:
        """Returns the features with default templates in the role transition, if there
        are none for label patterns."""
        if self.transition_roles:
            return self
        transition = parse_templates(TRANSITION)
        return self._with_roles({**self.roles, "transition": transition})

    def _with_roles(self, roles: dict[str, tuple[Template, ...]]) -> FeatureSet:
        merged = copy(self)
        merged.roles = roles
        return merged

    def with_lists(
        self,
        lists: Sequence[str],
        tables: Mapping[str, Table] | None = None,
        *,
        fuzzy: Sequence[str] = (),
    ) -> FeatureSet:
        """Returns the features with default templates of those lists, tables and fuzzy
        lists that no template reads. Raises HS031, HS036 for templates, HS106 for
        names."""
        tables = tables or {}
        read = {
            atom.attribute.partition(":")[0]
            for templates in self.roles.values()
            for template in templates
            for atom in template.atoms
            if ":" in atom.attribute
        }
        values = [
            f"{name}:{kind}"
            for name, table in tables.items()
            for kind in (VALUE, *(f"{PREFIX}{size}" for size in table.prefixes))
        ]
        defaults = (LISTS, lists), (FUZZY_LISTS, fuzzy), (TABLES, values)
        roles = {}
        for role in ROLES:
            texts = [
                text.format(source)
                for templates, sources in defaults
                for source in sources
                for text in templates.get(role, ())
                if source.partition(":")[0] not in read
            ]
            roles[role] = (*self.roles[role], *parse_templates(texts))
        merged = self._with_roles(roles)
        merged.check(lists, tables, fuzzy=fuzzy)
        return merged


def _check_role(
    role: str, template: Template, atom: Atom, functions: Container[str]
) -> None:
    is_of_segment = bool(segment_attribute(atom, functions))
    reason = ""
    if role != "whole" and is_of_segment:
        reason = f"{atom.attribute} is read of whole segments only"
    elif role == "whole" and atom.bag:
        reason = f"'{atom.bag}' reads tokens that are not in the segment"
    elif role != "whole" and atom.reach:
        reason = f"'{atom.reach}' reads all tokens of whole segments only"
    elif atom.attribute in functions and any(map(reads_list, template.atoms)):
        reason = f"{atom.attribute} is read up to the width, lists in any segment"
    elif is_of_segment and str(atom) != atom.attribute:
        reason = f"{atom.attribute} is read of the segment, not of one of its tokens"
    if reason:
        args = {"found": str(template), "role": role, "reason": reason}
        raise ValueError(Errors.HS036.format(**args))


def make_features(
    preset: str = "default",
    inside: list[str] = [],  # noqa: B006 - the registry shows it in filled configs
    start: list[str] = [],  # noqa: B006
    end: list[str] = [],  # noqa: B006
    whole: list[str] = [],  # noqa: B006
    within: list[str] = [],  # noqa: B006
    transition: list[str] = [],  # noqa: B006
    transition_inside: list[str] = [],  # noqa: B006
    min_count: int = 2,
    width: int = 6,
    all_labels: bool = True,
    functions: dict[str, Any] = {},  # noqa: B006
    function_roles: dict[str, list[str]] = {},  # noqa: B006
    segment_functions: dict[str, Any] = {},  # noqa: B006
    pieces: bool = False,
    one_dash: bool = False,
) -> FeatureSet:
    """Registered as "spacy_hosemi.features.v1" in `misc`.

    preset, pieces, inside, start, .., one_dash: See SETTINGS.
    functions (Dict[str, Callable]): Functions of your own that list features of tokens,
        by name, see `functions`.
    function_roles (Dict[str, List[str]]): The roles in which each is read: of inside,
        start, end and within; by default inside.
    segment_functions (Dict[str, Callable]): Functions of your own that say something of
        segments, by the name that templates of the role whole read.
    RETURNS (FeatureSet): The features.
    RAISES (ValueError): HS030 to HS033, HS036, HS042, HS106, HS393. (TypeError): HS105.
    """
    settings = read_all(SETTINGS[1:], locals(), message=Errors.HS033)
    preset = read("preset", SETTINGS[0].kind, preset, Errors.HS032)
    sets = [PRESETS[preset], PIECES if settings["pieces"] else {}, settings]
    texts: dict[str, Any] = {
        role: [*chain.from_iterable(by_role.get(role, ()) for by_role in sets)]
        for role in ROLES
    }
    return FeatureSet(
        **texts,
        **{number.name: settings[number.name] for number in _NUMBERS},
        functions=Functions(functions, function_roles, segment_functions),
    )
