"""Pictures of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Panel = tuple[Mapping[str, Sequence[Sequence[float]]], dict[str, Any]]
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def picture(
    path: Path, panels: Sequence[Panel], size: tuple[float, float], n_rows: int = 1
) -> str:
    """Draw lines, and write them to a path without ending as .png, sized in inches: for
    each panel points by the name of their line (x, y and, where it is known, a standard
    deviation) and what its axes are set to. A name that begins with "_" is not
    explained; its line is dotted, and has the colour of the same name without it.
    Returns what a Markdown file says of it."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        return "The picture was left out; to have it: `pip install matplotlib`"
    colours: dict[str, str] = {}
    with matplotlib.rc_context({"font.size": 9}):
        figure = Figure(figsize=size, layout="constrained")
        all_axes = figure.subplots(n_rows, -(-len(panels) // n_rows), squeeze=False)
        for axes, (lines, settings) in zip(all_axes.flat, panels):
            for name, points in lines.items():
                x, y, *spread = zip(*points)
                key = name.removeprefix("_")
                colour = colours.setdefault(key, COLOURS[len(colours) % len(COLOURS)])
                style = {"linestyle": ":"} if name != key else {"marker": "o"}
                axes.errorbar(
                    x, y, *spread, color=colour, label=name, capsize=3, **style
                )
            axes.set(**settings)
            axes.minorticks_off()
            axes.grid(color="#dddddd", linewidth=0.6)
            axes.legend(frameon=False)
        for axes in all_axes.flat[len(panels) :]:
            axes.axis("off")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path.with_suffix(".png"), dpi=150)
    return f"![{path.name}]({path.name}.png)"
