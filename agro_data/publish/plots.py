"""Small static plots for places that show only images, such as Dagster metadata: data in, PNG bytes out.

Each is drawn on its own canvas (no pyplot, no global figure), in fixed size and few colours, so that equal
data gives equal bytes on one set of libraries and an embedded image stays below `IMAGE_LIMIT`. matplotlib
takes a second to import, so it is imported where it draws.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from agro_data.publish.layout import Points, sample_indices
from agro_data.publish.read import Version
from agro_data.publish.summary import funnel_stages

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

IMAGE_LIMIT = 60_000  # bytes of a base64 image in metadata
MAP_POINTS = 3_000
MOST_CONSTRUCTS = 40
DPI = 100
COLOURS = ("#3366cc", "#dd7722", "#2a9d6e", "#b8436d", "#7c5cc4", "#8a7a20", "#2a93b0", "#8c564b")
QUIET = "#8a8f98"
HARDNESS_COLOURS = {"easy": "#7fb3e6", "medium": "#4a86d0", "hard": "#2a5aa8", "extra": "#173a75"}


def of_version(version: Version) -> dict[str, bytes]:
    """The plots of a corpus version that its manifest gives, by name: funnel, hardness, construct_coverage."""
    counts = version.manifest["counts"]
    return {
        "funnel": funnel(funnel_stages(version.manifest)),
        "hardness": hardness(counts["hardness"]),
        "construct_coverage": construct_coverage(counts["constructs"]),
    }


def funnel(stages: Sequence[tuple[str, int]]) -> bytes:
    """Rows left after each stage, from first to last, with the share of the largest. PNG bytes."""
    figure, axes = _canvas(5.6, 0.6 + 0.34 * max(1, len(stages)))
    most = max([1, *(rows for _, rows in stages)])
    labels = [f"{rows:,}  ({100 * rows / most:.0f} %)" for _, rows in stages]
    _bars(axes, [name for name, _ in stages], [rows for _, rows in stages], labels, COLOURS[0])
    axes.set_title("Rows left after each stage", loc="left", fontsize=9)
    return _png(figure)


def hardness(counts: Mapping[str, int]) -> bytes:
    """Examples of each hardness level, in the order given. PNG bytes."""
    figure, axes = _canvas(4.2, 2.4)
    total = max(1, sum(counts.values()))
    bars = axes.bar(
        list(counts), list(counts.values()), color=[HARDNESS_COLOURS.get(x, QUIET) for x in counts], width=0.7
    )
    axes.bar_label(bars, [f"{n:,}\n{100 * n / total:.0f} %" for n in counts.values()], fontsize=7, padding=2)
    axes.margins(y=0.25)
    axes.set_yticks([])
    axes.set_title("Hardness", loc="left", fontsize=9)
    return _png(figure)


def construct_coverage(counts: Mapping[str, int]) -> bytes:
    """Examples that use each construct, the most common `MOST_CONSTRUCTS` of them. PNG bytes."""
    shown = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_CONSTRUCTS]
    figure, axes = _canvas(5.6, 0.6 + 0.2 * max(1, len(shown)))
    _bars(axes, [name for name, _ in shown], [n for _, n in shown], [f"{n:,}" for _, n in shown], COLOURS[2])
    axes.set_title("Examples by construct", loc="left", fontsize=9)
    return _png(figure)


def diversity_map(points: Points, labels: Sequence[str], *, title: str = "Diversity map") -> bytes:
    """Scatter of `points` (n, 2) coloured by `labels` (n). PNG bytes.

    At most 3,000 points are drawn, a seeded sample. The eight most common labels have a colour, the rest
    share grey. Raises `ValueError` when `points` and `labels` differ in length.
    """
    if len(points) != len(labels):
        raise ValueError(f"diversity map: {len(points)} points but {len(labels)} labels")
    chosen = sample_indices(len(points), MAP_POINTS)
    kept = [labels[i] for i in chosen]
    tally = {label: kept.count(label) for label in sorted(set(kept))}
    named = sorted(tally, key=lambda label: (-tally[label], label))[: len(COLOURS)]
    figure, axes = _canvas(5.2, 3.6)
    others = [i for i, label in zip(chosen, kept, strict=True) if label not in named]
    groups = [("other", others, QUIET)] if others else []
    for label, colour in zip(named, COLOURS, strict=False):
        groups.append((label, [i for i, x in zip(chosen, kept, strict=True) if x == label], colour))
    for label, members, colour in groups:
        axes.scatter(points[members, 0], points[members, 1], s=4, color=colour, linewidths=0, label=label)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title(f"{title} ({len(chosen):,} of {len(points):,} points)", loc="left", fontsize=9)
    if groups:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7, frameon=False, markerscale=2)
    return _png(figure)


def curves(panels: Mapping[str, Sequence[tuple[float, float]]], *, title: str) -> bytes:
    """One small panel for each named series of points (step, value), three beside each other. PNG bytes.

    A point that is not finite is left out, and a panel without points too.
    """
    drawn = {name: [point for point in points if isfinite(point[1])] for name, points in panels.items()}
    drawn = {name: points for name, points in drawn.items() if points}
    columns = min(3, max(1, len(drawn)))
    rows = -(-max(1, len(drawn)) // columns)
    figure, first = _canvas(2.3 * columns, 0.3 + 1.5 * rows)
    first.set_axis_off()
    for place, (name, points) in enumerate(drawn.items(), start=1):
        axes = figure.add_subplot(rows, columns, place)
        steps, values = zip(*points, strict=True)
        axes.plot(steps, values, color=COLOURS[0], linewidth=1.2, marker="." if len(points) < 3 else "")
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(length=2, labelsize=6)
        axes.set_title(name, loc="left", fontsize=7)
    figure.suptitle(title, x=0.01, ha="left", fontsize=9)
    return _png(figure)


def as_markdown_image(png: bytes, alt: str = "plot") -> str:
    """`png` as a Markdown image that carries its own data, for Dagster's Markdown metadata.

    Raises `ValueError` above `IMAGE_LIMIT`: metadata is kept in the event log and must stay small.
    """
    data = base64.b64encode(png).decode("ascii")
    if len(data) >= IMAGE_LIMIT:
        raise ValueError(f"image {alt!r} takes {len(data):,} bytes; metadata allows {IMAGE_LIMIT:,}")
    return f"![{alt}](data:image/png;base64,{data})"


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure of `width` x `height` inches with one quiet set of axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    axes.tick_params(length=0, labelsize=7)
    return figure, axes


def _bars(axes: Axes, names: list[str], values: list[int], labels: list[str], colour: str) -> None:
    positions = range(len(names))
    bars = axes.barh(positions, values, color=colour, height=0.72)
    axes.bar_label(bars, labels, fontsize=7, padding=3)
    axes.set_yticks(positions, names)
    axes.set_xticks([])
    axes.margins(x=0.22)
    axes.set_ylim(len(names) - 0.4, -0.6)


def _png(figure: Any) -> bytes:
    """The figure in 64 colours: a third of the bytes, and no difference to the eye."""
    from PIL import Image  # noqa: PLC0415

    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", metadata={"Software": None})
    drawn.seek(0)
    small = Image.open(drawn).convert("RGB").quantize(colors=64, dither=Image.Dither.NONE)
    packed = io.BytesIO()
    small.save(packed, format="png", optimize=True)
    return packed.getvalue()
