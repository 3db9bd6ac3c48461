"""A tokenizer for fields, which may begin and end at any punctuation mark or digit.

Tokens are runs of letters, runs of digits, and single characters for all else; letters
of scripts without spaces between words are tokens of their own. The text stays as it
is: tokens and the spaces after them are the text, character by character.

What a person sees as one character, an (extended) grapheme cluster, is never cut. See
Unicode Standard Annex 29, rules GB1 to GB999.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import regex
import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import Errors
from ..msgpack import read_msgpack
from ..values import FLAG, Setting, read_all, shown
from .pieces import SeenWords, read_texts

REGISTERED = "spacy_hosemi.FieldTokenizer.v1"

SETTINGS = (
    Setting(
        "split_digits",
        FLAG,
        True,
        "Whether a token ends where letters and digits meet.",
    ),
)

# Whitespace, as str.isspace has it.
SPACE = r"[\s\x1c-\x1f]"
# Characters that are not seen and may stand anywhere: soft hyphens, zero-width spaces,
# marks of direction, byte order marks, control characters.
INVISIBLE = rf"[[\p{{Cf}}\p{{Cc}}]&&\p{{GCB=Control}}--{SPACE}]"
# What belongs to the character before it.
_EXTENDING = r"[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]"
# Scripts without spaces between words: a token for each character.
_SINGLE = "".join(
    rf"\p{{Script={name}}}"
    for name in ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer")
)
_LETTER, _DIGIT = rf"[\p{{L}}--[{_SINGLE}]]", r"[\p{N}]"

# Texts of the same pieces between spaces have the same tokens. At most this many pieces
# of at most this many characters are cached: about 40 MB.
_CACHE_SIZE, _CACHED_LENGTH = 100_000, 50


def _run(kind: str) -> str:
    """Matches characters of a kind, and what is invisible between them."""
    character = rf"(?=\p{{GCB=Prepend}}*+[{kind}--\p{{GCB=Prepend}}])\X"
    return rf"{character}(?:{INVISIBLE}*+{character})*+"


def _compile(split_digits: bool) -> tuple[regex.Pattern[str], re.Pattern[str]]:
    """Returns a pattern for each token, whose groups are named for `explain`, and one
    for the same tokens in pieces of printable ASCII, five to ten times as fast."""
    words = {"LETTERS": _LETTER, "DIGITS": _DIGIT}
    ascii_words = {"LETTERS": "[A-Za-z]", "DIGITS": "[0-9]"}
    if not split_digits:
        words = {"LETTERS_AND_DIGITS": rf"[{_LETTER}{_DIGIT}]"}
        ascii_words = {"LETTERS_AND_DIGITS": "[A-Za-z0-9]"}
    # Plain ASCII first: it gives the same tokens, in half the time.
    end = r"(?![^\x00-\x7f])"
    tokens = [
        *((name, f"{kind}++{end}") for name, kind in ascii_words.items()),
        ("CHARACTER", rf"[!-/:-@\[-`{{-~]{end}"),
        ("CHARACTER", rf"[[{_SINGLE}]--\p{{M}}](?!{_EXTENDING})"),
        *((name, _run(kind)) for name, kind in words.items()),
        ("INVISIBLE", f"{INVISIBLE}++"),
        # \X would look at all flags before this one.
        ("CHARACTER", rf"\p{{Regional_Indicator}}{{1,2}}+{_EXTENDING}*+"),
        ("CHARACTER", r"\X"),
    ]
    of_ascii = "|".join([*(f"{kind}+" for kind in ascii_words.values()), "."])
    whole = regex.compile("|".join(f"(?P<{x}>{y})" for x, y in tokens), regex.V1)
    return whole, re.compile(of_ascii)


# A space with something that extends it, or is prepended to it, is a character; nothing
# does that to a control character. U+0020 after what is prepended still is a space.
_CONTROL = r"[\p{GCB=Control}\p{GCB=CR}\p{GCB=LF}]"
_SPACES = regex.compile(
    rf"((?:[{SPACE}&&{_CONTROL}]"
    rf"|(?:\x20|(?<!\p{{GCB=Prepend}}){SPACE})(?!{_EXTENDING}))++)",
    regex.V1,
)
_EXTENDED = regex.compile(_EXTENDING, regex.V1)

# For each token of a piece its number in the vocabulary, whether a space follows if
# another piece does, and how many characters it has.
Tokens = tuple[tuple[int, ...], tuple[bool, ...], tuple[int, ...]]


class FieldTokenizer:
    """Cuts texts into runs of letters, runs of digits, and single characters.

    One space (U+0020) after a token belongs to the token, as its `whitespace_`; all
    other whitespace makes tokens: each run is one. Invisible characters between letters
    or digits stay in their token; others are tokens.

    vocab (Vocab): Of the pipeline.
    split_digits (bool): Whether a token ends where letters and digits meet.
    RAISES (ValueError): HS043 a setting is not of its kind.
    """

    def __init__(self, vocab: Vocab, *, split_digits: bool = True) -> None:
        self.vocab = vocab
        self._use({"split_digits": split_digits})

    def _use(self, settings: dict[str, Any]) -> None:
        values = read_all(SETTINGS, settings, prefix="tokenizer.")
        self.split_digits: bool = values["split_digits"]
        self._token, self._ascii = _compile(self.split_digits)
        self._forget(False)

    def _forget(self, is_in_zone: bool) -> None:
        """Forgets pieces that were cut: they may name strings that are gone."""
        self.cache: dict[str, Tokens] = {}
        self._words: SeenWords | None = None
        self._is_in_zone = is_in_zone

    @property
    def settings(self) -> dict[str, Any]:
        """Returns the settings as the config has them."""
        return {"split_digits": self.split_digits}

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(FieldTokenizer, **self.settings), (self.vocab,)

    def __call__(self, text: str) -> Doc:
        """Tokenize a text, that of the Doc. Raises TypeError HS154 if it is none."""
        if not isinstance(text, str):
            raise TypeError(Errors.HS154.format(found=type(text).__name__))
        tokens, _, others = read_texts([text], self)
        words: Any  # or numbers, which the stubs do not know
        words, spaces = self._read(text) if others else tokens[:2].tolist()
        return Doc(self.vocab, words=words, spaces=spaces)

    def pipe(self, texts: Iterable[str], batch_size: int = 1000) -> Iterator[Doc]:
        """Tokenize a stream of texts, in their order; `batch_size` is not needed."""
        for text in texts:
            yield self(text)

    def explain(self, text: str) -> list[tuple[str, str]]:
        """Returns for each token that is no whitespace its kind, "LETTERS", "DIGITS",
        "LETTERS_AND_DIGITS", "CHARACTER" or "INVISIBLE", and its text."""
        return [
            (str(match.lastgroup), match.group())
            for piece in _SPACES.split(text)[::2]
            for match in self._token.finditer(piece)
        ]

    @contextmanager
    def memory_zone(self, mem: Any = None) -> Iterator[None]:
        """Caches pieces of texts until its end; `nlp.memory_zone` enters it."""
        before = self.cache, self._words
        self._forget(True)
        try:
            yield
        finally:
            (self.cache, self._words), self._is_in_zone = before, False

    @property
    def seen_words(self) -> SeenWords | None:
        """Returns the ASCII words of this memory zone; None: the zone is not known."""
        if self.vocab.in_memory_zone is not self._is_in_zone:  # type: ignore[attr-defined]
            return None
        if self._words is None:
            self._words = SeenWords(self.vocab.strings, self.split_digits)
        return self._words

    def cut(self, piece: str) -> Tokens | None:
        """Returns the tokens of a piece between spaces, which are cached; None if it is
        empty, begins with what extends the space before it, or has other whitespace."""
        # At the end of a memory zone the strings may be gone.
        is_in_zone = self.vocab.in_memory_zone  # type: ignore[attr-defined]
        if is_in_zone is not self._is_in_zone:
            return None
        if piece and piece.isascii() and piece.isprintable():
            words = self._ascii.findall(piece)
        elif _EXTENDED.match(piece) or piece.split() != [piece]:
            return None
        else:
            words = [match.group() for match in self._token.finditer(piece)]
        add = self.vocab.strings.add
        orths = tuple([add(word) for word in words])
        spaces = (*[False] * (len(orths) - 1), True)
        tokens = orths, spaces, tuple(map(len, words))
        if len(piece) <= _CACHED_LENGTH:
            if len(self.cache) >= _CACHE_SIZE:
                self.cache.clear()
            self.cache[piece] = tokens
        return tokens

    def _read(self, text: str) -> tuple[list[int | str], list[bool]]:
        """Returns tokens, or their numbers, and spaces of any text."""
        cache = self.cache
        words: list[int | str] = []
        spaces: list[bool] = []
        pieces = [*_SPACES.split(text), ""]
        for piece, space in zip(pieces[::2], pieces[1::2]):
            if cached := cache.get(piece) or self.cut(piece):
                words += cached[0]
                spaces += cached[1]
                spaces[-1] = False
            else:
                cut = [match.group() for match in self._token.finditer(piece)]
                words += cut
                spaces += [False] * len(cut)
            if words and space[:1] == " ":
                spaces[-1], space = True, space[1:]
            if space:
                words.append(space)
                spaces.append(False)
        return words, spaces

    def to_bytes(self, *, exclude: Sequence[str] = ()) -> bytes:
        """Returns the settings, for `from_bytes`."""
        data: bytes = srsly.msgpack_dumps(self.settings)
        return data

    def from_bytes(
        self, bytes_data: bytes, *, exclude: Sequence[str] = ()
    ) -> FieldTokenizer:
        """Take settings from `to_bytes`. Raises ValueError HS155 if they are none."""
        try:
            settings = read_msgpack(bytes_data)
        except Exception:
            settings = None
        if not isinstance(settings, dict) or settings.keys() != self.settings.keys():
            raise ValueError(Errors.HS155.format(expected=[*self.settings]))
        self._use(settings)
        return self

    def to_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> None:
        """Write the settings to a file, for `from_disk`."""
        Path(path).write_bytes(self.to_bytes())

    def from_disk(
        self, path: str | Path, *, exclude: Sequence[str] = ()
    ) -> FieldTokenizer:
        """Take settings from a file of `to_disk`. Raises ValueError HS155."""
        return self.from_bytes(Path(path).read_bytes())


def make_field_tokenizer(
    split_digits: bool = True,
) -> Callable[[Language], FieldTokenizer]:
    """Registered as "spacy_hosemi.FieldTokenizer.v1" in `tokenizers`.

    split_digits (bool): Whether a token ends where letters and digits meet.
    """

    def make(nlp: Language) -> FieldTokenizer:
        return FieldTokenizer(nlp.vocab, split_digits=split_digits)

    return make


def use_field_tokenizer(nlp: Language, **settings: Any) -> Language:
    """Give a pipeline the field tokenizer, in its config, too, so that it is saved and
    loaded with it.

    nlp (Language): A pipeline; components that were trained with another tokenizer
        should be trained again.
    settings (Any): Of `FieldTokenizer`.
    RETURNS (Language): The same pipeline.
    RAISES (ValueError): As `FieldTokenizer`.
    RAISES (TypeError): HS232 nlp.
    """
    if not isinstance(nlp, Language):
        raise TypeError(Errors.HS232.format(found=shown(nlp)))
    tokenizer = FieldTokenizer(nlp.vocab, **settings)
    nlp.tokenizer = tokenizer
    block = {"@tokenizers": REGISTERED, **tokenizer.settings}
    nlp.config["nlp"]["tokenizer"] = block
    return nlp
