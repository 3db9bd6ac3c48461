"""Pictures beside results.md, in .png and .svg."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sections import Options

GRID = {"color": "#dddddd", "linewidth": 0.6}
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def draw(
    name: str, size: tuple[float, float], options: Options, fill: Callable[[Any], None]
) -> list[str]:
    """Draw a picture.

    name (str): Of its files.
    size (Tuple[float, float]): Width and height, in inches.
    options (Options): Where NAME.png and NAME.svg are written; not if quick.
    fill (Callable[[Figure], None]): Draws what is in it.
    RETURNS (List[str]): The picture that is shown; none without matplotlib.
    """
    if options.quick:
        return []
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        return []
    with matplotlib.rc_context({"svg.hashsalt": name, "font.size": 9}):
        drawn = Figure(figsize=size, layout="constrained")
        fill(drawn)
        options.pictures.mkdir(parents=True, exist_ok=True)
        for ending in ("png", "svg"):
            metadata = {"Date": None} if ending == "svg" else None
            path = options.pictures / f"{name}.{ending}"
            drawn.savefig(path, dpi=150, metadata=metadata)
    return [f"{name}.png"]
