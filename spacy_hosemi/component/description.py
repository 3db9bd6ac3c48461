"""What a component is, in a line or as a piece of HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ..model.weights.state import WeightState
from .facts import TrainingFacts
from .settings import Settings

# At most this many labels are shown one by one: those with most spans.
MOST_LABELS = 20

# Colours that are seen on white and on black; everything else has those of the page.
# Both are seen on light and on dark pages; the blue has a contrast of 4 on either.
_GREY, _BLUE = "rgba(128,128,128,.6)", "rgb(70,130,200)"
_CELL = "padding:1px 10px 1px 0;text-align:left;border:0;background:none"


@dataclass(frozen=True)
class Description:
    """What is shown of a component.

    name (str): Of the component.
    status (str): Whether it is trained, and on what.
    labels (Sequence[Tuple[str, Optional[int]]]): With their spans in training, if they
        are known; most frequent first.
    sizes (Mapping[str, float]): "features", "weights", "patterns", "mb"; empty if it is
        not initialized.
    settings (Mapping[str, Any]): Those that differ from the defaults.
    resources (Sequence[str]): Lists, tables, a tok2vec.
    """

    name: str
    status: str
    labels: Sequence[tuple[str, int | None]]
    sizes: Mapping[str, float]
    settings: Mapping[str, Any]
    resources: Sequence[str]


def status_of(weights: WeightState, facts: TrainingFacts | None) -> str:
    """RETURNS (str): Whether a component is trained, and on how many documents."""
    if not len(weights.tail):
        return "not initialized"
    status = "trained" if weights.is_trained else "initialized, never trained"
    if facts is None:
        return status
    n = facts.n_documents
    return f"{status}, {n:,} document{'s' if n != 1 else ''}"


def count_labels(
    labels: Sequence[str], facts: TrainingFacts | None
) -> list[tuple[str, int | None]]:
    """RETURNS (List[Tuple[str, Optional[int]]]): See `Description`."""
    if facts is None:
        return [(label, None) for label in labels]
    counted = [(label, facts.n_spans.get(label, 0)) for label in labels]
    return [*sorted(counted, key=lambda pair: -pair[1])]


def changed_settings(settings: Settings) -> dict[str, Any]:
    """RETURNS (Dict[str, Any]): Settings that differ from the defaults."""
    defaults = Settings().cfg
    return {k: value for k, value in settings.cfg.items() if value != defaults[k]}


def list_resources(weights: WeightState, has_tok2vec: bool) -> list[str]:
    """RETURNS (List[str]): What a model reads besides the features of its words."""
    extractor = weights.extractor
    lists = [f"list {name}" for name in extractor.gazetteers.settings]
    tables = [f"table {name}" for name in extractor.tables.settings]
    return [*lists, *tables, *(["tok2vec"] if has_tok2vec else [])]


def to_line(name: str, status: str, labels: Sequence[str]) -> str:
    """RETURNS (str): One line about a component."""
    shown = ", ".join(labels[:3]) + (", .." if len(labels) > 3 else "")
    names = f"{len(labels)} labels ({shown})" if labels else "no labels"
    return f"<HighOrderSemiCRF {name!r}: {status}, {names}>"


def to_html(found: Description) -> str:
    """RETURNS (str): A `div` in the font and colours of the page that it is put in."""
    style = f"border:1px solid {_GREY};border-radius:6px;padding:8px 12px;"
    style += "display:inline-block;max-width:100%;font-size:90%;line-height:1.5"
    return f'<div style="{style}">{"".join(_parts(found))}</div>'


def _parts(found: Description) -> Iterator[str]:
    """The lines of the `div`."""
    title = f"<b>{escape(found.name)}</b> <span>HighOrderSemiCRF</span>"
    yield f"<div>{title}: {escape(found.status)}</div>"
    if found.labels:
        yield _table(found.labels)
    else:
        yield "<div>no labels</div>"
    if found.sizes:
        sizes = found.sizes
        yield (
            f"<div>{sizes['features']:,} features, {sizes['weights']:,} weights, "
            f"{sizes['patterns']:,} label patterns, {sizes['mb']:.2f} MB</div>"
        )
    if found.resources:
        yield f"<div>reads {escape(', '.join(found.resources))}</div>"
    settings = [f"{key} = {value!r}" for key, value in found.settings.items()]
    shown = "".join(f"<div><code>{escape(one)}</code></div>" for one in settings)
    yield shown or "<div>all settings have their defaults</div>"


def _table(labels: Sequence[tuple[str, int | None]]) -> str:
    """The labels, each with its spans in training as a number and as a bar."""
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
    known = labels[0][1] is not None
    head = "label, spans in training" if known else "label"
    rows.insert(0, f'<tr><td style="{_CELL};opacity:.7" colspan="3">{head}</td></tr>')
    if (left := len(labels) - MOST_LABELS) > 0:
        rows.append(f'<tr><td style="{_CELL}" colspan="3">and {left:,} more</td></tr>')
    table = (
        "border-collapse:collapse;border:0;margin:4px 0;font-size:100%;color:inherit"
    )
    return f'<table style="{table}"><tbody>{"".join(rows)}</tbody></table>'
