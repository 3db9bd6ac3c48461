"""Describes a component in a line, or as a piece of HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from ..model.weights.storage import size_of
from .settings import Settings

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF

# At most this many labels are shown one by one: those with most spans.
MOST_LABELS = 20

# Both colours are seen on light and on dark pages; the blue has a contrast of 4 on
# either. Everything else has the colours of the page.
_GREY, _BLUE = "rgba(128,128,128,.6)", "rgb(70,130,200)"
_CELL = "padding:1px 10px 1px 0;text-align:left;border:0;background:none"


def to_line(pipe: HighOrderSemiCRF) -> str:
    """One line: the name, whether it is trained, the labels."""
    labels = pipe.schema.projection.labels
    shown = ", ".join(labels[:3]) + (", .." if len(labels) > 3 else "")
    names = f"{len(labels)} labels ({shown})" if labels else "no labels"
    return f"<HighOrderSemiCRF {pipe.name!r}: {_status_of(pipe)}, {names}>"


def to_html(pipe: HighOrderSemiCRF) -> str:
    """RETURNS (str): For notebooks: labels and their spans in training, the size,
    settings that differ from the defaults."""
    style = f"border:1px solid {_GREY};border-radius:6px;padding:8px 12px;"
    style += "display:inline-block;max-width:100%;font-size:90%;line-height:1.5"
    return f'<div style="{style}">{"".join(_parts(pipe))}</div>'


def _status_of(pipe: HighOrderSemiCRF) -> str:
    """Returns whether a component is trained, and on how many documents."""
    weights = pipe.trainer.weights.state
    if not len(weights.tail):
        return "not initialized"
    status = "trained" if weights.is_trained else "initialized, never trained"
    if pipe.facts is None:
        return status
    n = pipe.facts.n_documents
    return f"{status}, {n:,} document{'s' if n != 1 else ''}"


def _parts(pipe: HighOrderSemiCRF) -> Iterator[str]:
    """Yields the parts of the HTML, from the title to the settings."""
    title = f"<b>{escape(pipe.name)}</b> <span>HighOrderSemiCRF</span>"
    yield f"<div>{title}: {escape(_status_of(pipe))}</div>"
    labels = pipe.schema.projection.labels
    counts = pipe.facts.n_spans if pipe.facts else None
    counted = [(y, None if counts is None else counts.get(y, 0)) for y in labels]
    counted.sort(key=lambda pair: -(pair[1] or 0))
    yield _table(counted) if labels else "<div>no labels</div>"
    weights = pipe.weights
    if pipe.trainer.is_initialized:
        sizes: Any = weights.cached(size_of)
        yield (
            f"<div>{sizes['features']:,} features, {sizes['weights']:,} weights, "
            f"{sizes['patterns']:,} label patterns, {sizes['mb']:.2f} MB</div>"
        )
    lists, tables = weights.extractor.gazetteers, weights.extractor.tables
    resources = [f"list {name}" for name in lists.settings]
    resources += [f"table {name}" for name in tables.settings]
    resources += ["tok2vec"] if pipe.model.layers else []
    if resources:
        yield f"<div>reads {escape(', '.join(resources))}</div>"
    defaults = Settings().cfg
    changed = {k: v for k, v in pipe.settings.cfg.items() if v != defaults[k]}
    lines = [f"{key} = {value!r}" for key, value in changed.items()]
    shown = "".join(f"<div><code>{escape(line)}</code></div>" for line in lines)
    yield shown or "<div>all settings have their defaults</div>"


def _table(labels: list[tuple[str, int | None]]) -> str:
    """Returns labels, each with its spans in training, if these were counted, as a
    number and as a bar."""
    most = max((count or 0 for _, count in labels), default=0) or 1
    rows = []
    for label, count in labels[:MOST_LABELS]:
        cells = f'<td style="{_CELL}">{escape(label)}</td>'
        if count is not None:
            width = max(1, round(100 * count / most))
            bar = f"height:.6em;width:{width}px;background:{_BLUE}"
            cells += f'<td style="{_CELL};text-align:right">{count:,}</td>'
            cells += f'<td style="{_CELL}"><div style="{bar}"></div></td>'
        rows.append(f'<tr style="background:none">{cells}</tr>')
    head = "label" if labels[0][1] is None else "label, spans in training"
    rows.insert(0, f'<tr><td style="{_CELL};opacity:.7" colspan="3">{head}</td></tr>')
    if (n_more := len(labels) - MOST_LABELS) > 0:
        more = f"and {n_more:,} more"
        rows.append(f'<tr><td style="{_CELL}" colspan="3">{more}</td></tr>')
    table = (
        "border-collapse:collapse;border:0;margin:4px 0;font-size:100%;color:inherit"
    )
    return f'<table style="{table}"><tbody>{"".join(rows)}</tbody></table>'
