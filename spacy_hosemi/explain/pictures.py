"""Pictures, drawn by matplotlib, which need not be installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Errors
from .calibration import Calibration, Reliability, try_thresholds

ENDINGS = (".png", ".svg", ".pdf")
COLOURS = ("#999999", "#d55e00")


def draw_calibration(path: str | Path, calibration: Calibration) -> None:
    """Draws a reliability diagram, and precision, recall and F1 by threshold, to a file
    that ends in one of ENDINGS and is replaced. Raises ImportError HS100 if matplotlib
    is not installed."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(Errors.HS100) from None
    # Without a random salt and the date the same numbers give the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "calibration", "font.size": 9}):
        figure = Figure(figsize=(8.0, 3.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_reliability(left, calibration.reliability)
        _draw_thresholds(right, calibration)
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
        ending = Path(path).suffix.lower()
        figure.savefig(path, dpi=150, metadata=metadata.get(ending))


def _draw_reliability(panel: Any, reliability: Sequence[Reliability]) -> None:
    panel.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=0.8, linestyle=":")
    for measured, colour in zip(reliability, COLOURS[-len(reliability) :]):
        label = f"temperature {measured.temperature:g}, error {measured.error:.3f}"
        x, y = [b.confidence for b in measured.bins], [b.right for b in measured.bins]
        panel.plot(x, y, color=colour, marker="o", label=label)
    last = reliability[-1].bins
    panel.bar(
        [b.low for b in last],
        [b.n / sum(b.n for b in last) for b in last],
        width=[b.high - b.low for b in last],
        align="edge",
        color=COLOURS[-1],
        alpha=0.2,
        label="share of entities",
    )
    panel.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="confidence", ylabel="share right")
    panel.legend(frameon=False, loc="upper left")


def _draw_thresholds(panel: Any, calibration: Calibration) -> None:
    thresholds = np.linspace(0.0, 1.0, 101).tolist()
    points = [try_thresholds(calibration.judged, threshold) for threshold in thresholds]
    for figure, colour in (("precision", "#0072b2"), ("recall", "#009e73")):
        values = [getattr(p, figure) if p.n else np.nan for p in points]
        panel.plot(thresholds, values, color=colour, label=figure)
    panel.plot(thresholds, [p.f1 for p in points], color="#d55e00", label="F1")
    chosen = calibration.chosen.get("min_confidence")
    if isinstance(chosen, float):
        panel.axvline(chosen, color="#999999", linewidth=0.8, linestyle="--")
    panel.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="min_confidence")
    panel.grid(color="#dddddd", linewidth=0.6)
    panel.legend(frameon=False, loc="best")
