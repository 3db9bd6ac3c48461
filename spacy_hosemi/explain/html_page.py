"""Pages of HTML that need no network and nothing beside them.

Whatever a text, a label or a feature says is escaped by Jinja.
"""

from __future__ import annotations

from functools import cache
from html import escape
from pathlib import Path

from jinja2 import Environment, PackageLoader, Template


class HtmlPage:
    """A page is its HTML as a string, and in a notebook it shows itself."""

    def _repr_html_(self) -> str:
        # Styles of the notebook and of the page must not meet.
        style = "width: 100%; height: 36rem; border: 0"
        return f'<iframe srcdoc="{escape(str(self))}" style="{style}"></iframe>'

    def to_disk(self, path: str | Path) -> None:
        """Write the page to a file, which is replaced."""
        Path(path).write_text(str(self), "utf8")


@cache
def template(name: str) -> Template:
    """RETURNS (Template): A file of this folder, which escapes what it shows."""
    loader = PackageLoader(__package__ or "", ".")
    env = Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    env.filters["percent"] = percent
    return env.get_template(name)


def percent(p: float | None) -> str:
    """RETURNS (str): A probability; only 0 is "0 %", only 1 is "100 %"."""
    if p is None:
        return ""
    if 0.0 < p < 0.001:
        return "< 0.1 %"
    if 0.999 < p < 1.0:
        return "> 99.9 %"
    return f"{100 * p:.3g} %"
