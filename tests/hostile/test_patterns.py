"""No regular expression backtracks: 40,000 characters of any kind take linear time,
as one token and as a text."""

import pytest
import spacy
from spacy.tokens import Doc

from spacy_hosemi import FieldTokenizer
from spacy_hosemi.core import compile_grammar
from spacy_hosemi.formats.align import Aligner
from spacy_hosemi.formats.readers import READERS, ReaderSettings
from spacy_hosemi.formats.records import ExtractedField
from spacy_hosemi.formats.references.fields import guess_kind, read_date, reference_of
from spacy_hosemi.formats.references.names import read_names
from spacy_hosemi.formats.sources import SourceText
from spacy_hosemi.text.clean import clean_joined

from ..helpers import assert_linear, make_trained

FEW, MANY = 1_000, 40_000
TIMES = MANY // FEW

KINDS = {
    "letters": "a",
    "capitals": "A",
    "digits": "7",
    "brackets": "(",
    "closing brackets": ")",
    "quotes": '"',
    "apostrophes": "'",
    "spaces": " ",
    "newlines": "\n",
    "hyphens": "-",
    "dashes": "–",
    "slashes": "/",
    "commas": ",",
    "semicolons": ";",
    "dots": ".",
    "combining marks": "\u0301",
    "joiners": "\u200d",
    "soft hyphens": "\xad",
    "prepended marks": "\u0600",
    "flags": "\U0001f1e9",
    "emoji": "\U0001f600",
    "families": "\U0001f468\u200d\U0001f469",
    "Chinese characters": "一",
    "initials": "A. ",
    "words": "ab ",
    "hyphens at line ends": "a-\n",
    "mixed": 'a1-("\u0301 /\U0001f600\u200d',
}
OF_NAMES = [" and ", " et al. ", "Jr, ", "(ed.) ", "A, ", "A & ", "AA ", "X ", "Ab"]
OF_NAMES += ["J.-P. ", "(A) ", "LE GOFF ", "王, ", "A1 ", "Smith J, ", "de ", "A; "]


def made(sign):
    """A text of FEW characters, and one of MANY."""
    return [(sign * (n // len(sign) + 1))[:n] for n in (FEW, MANY)]


@pytest.mark.parametrize("form", ["{}", "b{}c"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_field_tokenizer(kind, form):
    for split_digits in (True, False):
        tokenizer = FieldTokenizer(spacy.blank("en").vocab, split_digits=split_digits)
        few, many = map(form.format, made(KINDS[kind]))
        assert tokenizer(many).text == many
        assert_linear(tokenizer, few, many, TIMES)
        assert_linear(tokenizer.explain, few, many, TIMES)
    assert_linear(clean_joined, few, many, TIMES)


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "clean_text"])
def trained(request):
    """Reads with the features of the default preset."""
    return make_trained(features={}, clean_text=request.param, max_length=None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_token(kind, trained):
    pipe = trained.get_pipe("hosemi")

    def read(text):
        pipe(Doc(spacy.vocab.Vocab(), words=[text], spaces=[False]))

    assert_linear(read, *made(KINDS[kind]), TIMES)


@pytest.mark.parametrize("kind", [*KINDS, *OF_NAMES])
def test_fields_of_references(kind):
    few, many = made(KINDS.get(kind, kind))
    for name in ("author", "title", "volume", "number", "pages", "doi"):

        def read(text, name=name):
            field = ExtractedField(0, 1, name, text, None)
            guess_kind(reference_of([field], {name: name}))

        assert_linear(read, few, many, TIMES)
    assert_linear(read_date, few, many, TIMES)
    assert_linear(read_names, few, many, TIMES)


@pytest.mark.parametrize("kind", KINDS)
def test_formats(kind):
    few, many = made(KINDS[kind])
    for reader in READERS.values():

        def read(text, reader=reader):
            source = SourceText("x", text)
            reader.recognizes(source)
            try:
                [*reader.read(source, ReaderSettings())]
            except ValueError as error:
                assert str(error).startswith("[HS")

        assert_linear(read, few, many, TIMES)
    assert_linear(lambda text: Aligner(text).place(text[5:-5]), few, many, TIMES)


@pytest.mark.parametrize("are_fields", [False, True])
@pytest.mark.parametrize("value", ["", "1", "1879"])
def test_columns_of_a_table(value, are_fields):
    """10,000 of them took 4 s; what is in the text and what is not."""

    def read(n):
        names = [f"f{k}" for k in range(n)]
        text = f"{','.join([*names, 'text'])}\n{f'{value},' * n}It is 1.\n"
        settings = ReaderSettings(fields=names if are_fields else ())
        [*READERS["csv"].read(SourceText("x", text), settings)]

    assert_linear(read, 250, 10_000, 40)


@pytest.mark.parametrize("kind", ["letters", "initials", "words", "spaces"])
def test_a_rule(kind):
    def read(text):
        with pytest.raises(ValueError, match="HS07"):
            compile_grammar(["O", "A"], [text])

    assert_linear(read, *made(KINDS[kind]), TIMES)
