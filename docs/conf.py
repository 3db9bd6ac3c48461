"""Sphinx: makes a site of the Markdown pages; `make docs`.

The source folder is the repository, so that links between pages, results and configs
are the same files as where the code is hosted. Pages are plain Markdown: the order of
the navigation is that of the links in docs/index.md.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent

project = "spacy_hosemi"
author = "The spacy_hosemi authors"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = [
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "corpus/README.md", "docs/*.md"),
    *("examples/*/README.md", "pipelines/README.md"),
    *("benchmarks/README.md", "benchmarks/results/*.md", "benchmarks/papers/*.md"),
]
html_theme = "furo"
html_title = "spacy_hosemi"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_show_copyright = False
highlight_language = "text"
myst_heading_anchors = 4
nitpicky = True

PAGE = re.compile(r"\[([^\]]+)\]\(([\w./-]+)\.md\)")


def add_navigation(app, name, source):
    """The first page has a table of contents of all pages that it links to."""
    if name == root_doc:
        pages = [f"{title} <{page}>" for title, page in PAGE.findall(source[0])]
        lines = ["", "```{toctree}", ":hidden:", "", *pages, "```", ""]
        source[0] += "\n".join(lines)
    elif name == "benchmarks/README":
        folders = ("results", "papers")
        paths = [x for f in folders for x in (ROOT / "benchmarks" / f).glob("*.md")]
        pages = sorted(f"{x.parent.name}/{x.stem}" for x in paths)
        lines = ["", "```{toctree}", ":hidden:", "", *pages, "```", ""]
        source[0] += "\n".join(lines)


def add_entrance(app, error):
    """The site begins with docs/index.html."""
    if error is None and app.builder.format == "html":
        text = '<!doctype html><meta http-equiv="refresh" content="0; docs/index.html">'
        (Path(app.outdir) / "index.html").write_text(text + "\n", "utf8")


def setup(app):
    app.connect("source-read", add_navigation)
    app.connect("build-finished", add_entrance)
