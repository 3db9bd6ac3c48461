"""Tags of every kind that strangers bring: read where they are clear, else refused."""

import pytest

from .test_readers import messages, read, spans

WORDS = "Ada Lovelace met Byron in Berlin .".split()
BIO = "B-PER I-PER O B-PER O B-LOC O"
SPANS = [(0, 12, "PER"), (17, 22, "PER"), (26, 32, "LOC")]
ANGLES = "I-<PER> <PER> <other> I-<PER> <other> I-<LOC> I-<other>"
NUMBERED = "PER[1] PER[1] _ PER _ LOC _"
LAYERS = "#T_SP=a.type.POS|PosValue\n#T_SP=b.type.NamedEntity|identifier|value\n"


def rows(tags, line="{w}\t{t}\n"):
    pairs = enumerate(zip(WORDS, tags.split()), start=1)
    return "".join(line.format(i=i, w=word, t=tag) for i, (word, tag) in pairs)


def written(form, outside="O"):
    """Tags in another form."""
    tags = BIO.split()
    return " ".join(outside if x == "O" else form.format(*x.split("-")) for x in tags)


def misc(tags):
    """As in CoNLL-U, with a row for two words."""
    rest = "\t_" * 7
    part = f"# id = 3\n1-2\tAdaLovelace{rest}\t_\n"
    return part + rows(tags, f"{{i}}\t{{w}}{rest}\t{{t}}\n")


def webanno(tags, layers="#T_SP=webanno.custom.Entity|value\n", before=""):
    part = f"1-1.1\t0-1\tA\t{before}_\t\n"
    body = rows(tags, f"1-{{i}}\t{{i}}-9\t{{w}}\t{before}{{t}}\t\n")
    return f"#FORMAT=WebAnno TSV 3.2\n{layers}\n\n#Text=Ada\n{part}{body}"


# Spans in cells: CSV of Label Studio, lists of pandas.
SPANS_IN = (
    '[{""start"": 0, ""end"": 3, ""x"": null, ""text"": ""\\""""}]',
    "[{'value': {'start': 0, 'end': 3}}]", "{'entities': [[0, 3, 'PER']]}",
    "[(0, 3, 'PER')]", "(0, 3, 'PER')",
)  # fmt: skip
CLEAR = {
    **{x: rows(written("{}-{}", x)) for x in "O 0 _ - o OTHER nil * <other>".split()},
    **{x: rows(written(x)) for x in "{}_{} {}:{} {}/{} {1}-{0} {1}_{0}".split()},
    "lower case": rows(BIO.replace("B-", "b-").replace("I-", "i-")),
    "BMEWO": rows("B-PER E-PER O W-PER O W-LOC O"),
    "IOBES": rows("B-PER E-PER O S-PER O S-LOC O"),
    "Stanford": rows("PER PER O PER O LOC O"),
    "brackets": rows("(PER* *) * (PER) * (LOC) *"),
    "Wapiti": rows(ANGLES, "{w} {w} LINESTART 0 {t}\n"),
    "Wapiti, predicted": rows(ANGLES, "{w} 0 {t} I-<PER>\n"),
    "DeLFT": rows(written("{}-<{}>")),
    "GermEval": "#\ta\tb\n" + rows(BIO, "{i}\t{w}\t{t}\tO\n"),
    "GermEval, inner": rows(BIO, "{i}\t{w}\t{t}\tB-LOC\n"),
    "a score": rows(BIO, "{w} {t} 0.9\n"),
    "UNER": rows(BIO, "{i}\t{w}\t{t}\t-\t-\n"),
    "tags first": rows(BIO, "{t}\t{w}\n"),
    "brat": rows(BIO, "{t}\t{i}\t9\t{w}\n"),
    "trailing tabs": rows(BIO).replace("Byron\tB-PER", "Byron\tB-PER\t\t"),
    **{key: misc(written(key + "={}-{}", "_")) for key in "Tag NE NER Entity".split()},
    "pairs": misc("X=1|NE=B-PER NE=I-PER|Y=No _ NE=B-PER Z=1 NE=B-LOC _"),
    "plain pairs": misc("NE=PER NE=PER _ NE=PER _ NE=LOC SpaceAfter=No"),
    "WebAnno": webanno(NUMBERED),
    "WebAnno, layers": webanno(NUMBERED, LAYERS, "X\t*[7]\t"),
    "CSV": "sent_id,word,tag\n" + rows(written("{}-{}", "0"), "1,{w},{t}\n"),
    "CSV, empty rows": "word,tag\n" + rows(BIO, "{w},{t}\n") + "\nAda,O\n",
}


@pytest.mark.parametrize("name", CLEAR)
def test_tags_that_are_clear(tmp_path, name):
    found = read(tmp_path, CLEAR[name])
    assert messages(found) == [] and found.texts[0].tokens == tuple(WORDS)
    assert spans(found.texts[0]) == SPANS
    assert found.formats == {"csv" if "CSV" in name else "columns": 1}


@pytest.mark.parametrize(
    "text, code",
    [
        (rows(written("{}-{}", "X")), r'"X" \(3\) beside "B-PER" \(2\), .*all such as'),
        (rows("B I O B O B O"), r'scheme: "B" \(3\), "O" \(3\), "I" \(1\);'),
        (rows("1 1 0 1 0 2 0"), r'"1" \(3\), "2" \(1\) beside "0"'),
        (rows("B-PER|B-LOC I-PER|O O B-PER O B-LOC O"), r'"B-PER\|B-LOC" .*levels'),
        (rows("PER|LOC PER O PER|X O LOC O"), r'"PER\|LOC" \(1\), "PER\|X"'),
        (rows("(A(B* *) *) (A(C) * * *"), r'"\(A\(B\*" \(1\), "\(A\(C\)"'),
        (rows("(PER *) - (PER) - - -"), r'"\(PER\)" \(1\) beside "-"'),
        ("".join(f"a\tw{i}\n" for i in range(20)), 'scheme: "w0" .*another column: --'),
        (misc("_ _ X=3 SpaceAfter=No _ _ _"), r'"X=3" \(1\), "SpaceAfter=No" \(1\) b'),
        (misc("Entity=(1-a Entity=1) _ _ _ Entity=(2-b) _"), r'"\(1-a" \(1\)'),
        (misc("NE=B-A|NER=B-B X=NE _ _ _ _ _"), r'"NE=B-A\|NER=B-B" \(1\)'),
        (webanno(NUMBERED, LAYERS.replace("identifier", "kind"), "_\t_\t"),
         r"HS374.*POS\|PosValue in 4, NamedEntity\|kind in 5, .*value in 6; .*token=3"),
        (webanno(NUMBERED, ""), "HS374.*the columns none"),
        *((f'text,x\nA,"{x}"\nB,[]\n', "HS376.*column 'x', such") for x in SPANS_IN),
        ("word,tag\n" + rows(BIO, "{w},{t}\n"), "HS375.*sentence_id"),
    ],
)  # fmt: skip
def test_tags_that_are_not_clear(tmp_path, text, code):
    name = "csv" if "," in text[:9] else "columns"
    code = code if code.startswith("HS") else "HS372.*" + code
    with pytest.raises(ValueError, match=code):
        read(tmp_path, text, format=name)


def odd(i, tag):
    """BIO with another tag at one place."""
    return " ".join([*BIO.split()[:i], tag, *BIO.split()[i + 1 :]])


BILOU, BIOES = "B-PER L-PER O U-PER O U-LOC O", "B-PER E-PER O S-PER O U-LOC O"
IOB1, PLAIN = BIO.replace("B", "I"), "PER PER O PER O LOC O"
ONE_OF = "- _ {0}{1} {0}–{1} {0}--{1} {0}-{1}, '{0}-{1}' 1-{1}".split()
ODD = "3PER 0b-per 3b-PER 2O-PER 2O- 1I- 1I 1X 31 2_ 20 2o 2* 0PER-B".split()
# Tags of two sentences, and what is said of them, if they are not read.
MIXED = [
    *((odd(int(x[0]), x[1:]), BIO, f'scheme: "{x[1:]}" (6)') for x in ODD),
    *((written(x), written(x), 'scheme: "') for x in ONE_OF),
    *((x, BIO, 'scheme: "') for x in (PLAIN, written("{1}-{0}"), written("", "0"))),
    *((x, PLAIN, 'scheme: "') for x in ("PER PER NONE PER O LOC O", odd(0, "PER"))),
    (PLAIN.replace("O P", "OTHER P"), PLAIN, 'scheme: "OTHER" (6)'),
    (*["BEGIN-A INSIDE-A O BEGIN-A O BEGIN-B O"] * 2, '"BEGIN-A" (24)'),
    *((x, y, "has O; expected I-PER") for x, y in ((BIO, BIOES), (BILOU, BIO))),
    ("B-PER E-PER O W-PER O B-LOC O", BILOU, "has O; expected I-LOC or the last"),
    ("I-PER E-PER O E-PER O E-LOC O", BIO, "has I-PER; expected B-PER before it"),
    *((x, IOB1, "has I-PER after the begin") for x in (BIO, odd(3, "B-PER"))),
    (odd(1, "I-Per"), BIO, "has I-Per after B-PER; expected B-Per"),
    (odd(1, "I-LOC"), BIO, "has I-LOC after B-PER; expected B-LOC"),
    *((x, x, "") for x in (IOB1, written("{}-{}", "nan"), written("{1}", "N/A"))),
    *((x, y, "") for x, y in ((written("{}_{}"), BIO), (BIOES, BILOU))),
]


@pytest.mark.parametrize("tags, others, said", MIXED)
def test_schemes_that_are_mixed(tmp_path, tags, others, said):
    """Sentences of one scheme beside others are read, are faults or nothing is read;
    never other spans than were meant."""
    text = "\n".join([rows(tags), rows(others)] * 6)
    try:
        found = read(tmp_path, text, format="columns")
    except ValueError as e:
        assert "HS372" in str(e) and said and said in str(e)
        return
    assert all(spans(x) == SPANS for x in found.texts) and len(messages(found)) < 13
    assert said in messages(found)[0] if said else len(found.texts) == 12


@pytest.mark.parametrize(
    "text, said",
    [
        (rows(BIO) * 25 + rows(written("{}-{}", "0")), '178: has the tag "0"; expec'),
        (
            rows(BIO) * 25 + "#b\ty\n",
            ':176: has the tag "y"; expected one such as B-PER',
        ),
        (webanno(NUMBERED.replace("LOC", "*")), 'has the tag "B-*"; expected'),
        (webanno(NUMBERED.replace("LOC", "A[2]|B[3]")), r'the tag "A[2]|B[3]"'),
        (rows("I-<A> <A> <B> I-<A> <other> <other> <other>"), "has I-B after I-A"),
    ],
)
def test_single_tags_that_are_wrong(tmp_path, text, said):
    assert said in messages(read(tmp_path, text))[0]


@pytest.mark.parametrize("value", (
    "['''a", "[1]", "[1, 2]", "{Ada}", "{{}}", '["Title"]', "[(a)", "[", "[" * 9999
))  # fmt: skip
def test_values_like_lists(tmp_path, value):
    """They are values where the text has them; a column of others is no field."""
    for more in ('{"a": 1}', '["x", "y"]', "[3, 4]", '{"start": 1}'):
        text = f"text\tmore\tname\nAda {value}\t{more}\t{value}\n"
        found = read(tmp_path, text, "x.tsv")
        assert messages(found) == [] and 'column "more", whose' in [*found.skipped][0]
        assert spans(found.texts[0]) == [(4, 4 + len(value), "name")]
