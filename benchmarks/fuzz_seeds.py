"""Tiny files that readers can read, and what their formats are made of."""

from __future__ import annotations

import io
import tarfile
import zipfile


def packed_pipeline(name: str) -> bytes:
    found = io.BytesIO()
    if name == "zip":
        with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as whole:
            whole.writestr("m/config.cfg", b"[nlp]")
    else:
        with tarfile.open(fileobj=found, mode=name) as files:
            one = tarfile.TarInfo("m/config.cfg")
            one.size = 5
            files.addfile(one, io.BytesIO(b"[nlp]"))
    return found.getvalue()


JSON = b'{ } [ ] : , " \\u 0 -1 1e9 null true false NaN "text" "label" "spans"'.split()
TABS = b"\t \n \r\n , ; | \" ' # \\ \xef\xbb\xbf \xff \xe2\x80\xa8".split(b" ")
XML = (
    b"<sequence> </sequence> <bibl> <author> </author> & &lt; <!-- <![CDATA[ <?xml <!D"
)
XML_WORDS = [*XML.split(), b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"&#x0;", b"]]>"]
RULES = (
    b"once|twice|at most|at least|exactly|never|only|before|after|directly|or|A|B|3"
).split(b"|")
CONLL = b"-DOCSTART- O B-A I-A L-A U-A S-A E-A (A* *) * \t \n # id = 3".split(b" ")


def of_formats() -> dict[str, tuple[list[bytes], list[bytes]]]:
    """Returns seeds and words, by reader of annotated texts."""
    json_ = [*JSON, *TABS]
    task = b'{"data": {"text": "Ada in"}, "annotations": [{"result": [{"value": '
    task += b'{"start": 0, "end": 3, "text": "Ada", "labels": ["P"]}}]}]}'
    spans = b'{"text": "Ada in", "spans": [[0, 3, "P"]]}\n'
    prodigy = (
        b'{"text": "Ada", "_input_hash": 1, "tokens": [{"text": "Ada", "start": 0,'
    )
    prodigy += b'"end": 3, "id": 0}], "spans": [{"start": 0, "end": 3, "label": "P"}], '
    prodigy += b'"answer": "accept"}'
    spacy_json = b'[{"id": 0, "paragraphs": [{"raw": "Ada", "sentences": [{"tokens": '
    spacy_json += b'[{"orth": "Ada", "ner": "U-P", "id": 0}]}]}]}]'
    xml = b'<?xml version="1.0"?>\n<dataset><sequence><author>Ada</author> <date>1 '
    xml += b"</date></sequence></dataset>"
    tei = b'<TEI><bibl><title level="j">Ada</title>, <lb/><date>1</date></bibl></TEI>'
    return {
        "jsonl": ([spans, b'{"tokens": ["Ada"], "spans": [[0, 1, "P"]]}'], json_),
        "doccano": (
            [
                b'{"id": 1, "text": "Ada", "label": [[0, 3, "P"]]}',
                b'{"text": "Ada", "entities": [{"label": "P", "start_offset": 0, '
                b'"end_offset": 3}], "relations": []}',
            ],
            json_,
        ),
        "prodigy": ([prodigy], json_),
        "label-studio": (
            [
                task,
                b'[{"text": "Ada", "label": [{"start": 0, "end": 3, '
                b'"labels": ["P"]}], "annotation_id": 1}]',
            ],
            json_,
        ),
        "spacy": ([spacy_json, b'[["Ada", {"entities": [[0, 3, "P"]]}]]'], json_),
        "brat": (
            [b"T1\tP 0 3\tAda\n", b"T1\tP 0 3;4 6\tAda in\nR1\tX Arg1:T1 Arg2:T1\n"],
            [b"T1\t", b"R1\t", b"#1", b";", b"0 3", *TABS],
        ),
        "columns": (
            [
                b"-DOCSTART- O\n\nAda B-P\nin O\n",
                b"1\tAda\tB-P\n2\tin\tO\n",
                b"# id = 3\nAda (P*)\nin *\n",
                b"Ada P\nin O\n",
            ],
            CONLL,
        ),
        "csv": (
            [
                b"text,P\nAda in,Ada\n",
                b"text,start,end,label\nAda,0,3,P\n",
                b"word;tag;doc\nAda;B-P;1\nin;O;1\n",
            ],
            [*TABS, b"start", b"end", b"label", b"tag", b"word"],
        ),
        "xml": ([xml, tei], [*XML_WORDS, *TABS]),
    }
