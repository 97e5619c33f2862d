# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
"""Draws the dashboards as Grafana shows them, from the data that the end-to-end tests have saved:

    pictures.py DATA.json PICTURE.svg

Needs Debian's python3-matplotlib.
"""

import io
import json
import re
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402 (the backend must be chosen before)
from matplotlib.ticker import FuncFormatter, MaxNLocator  # noqa: E402

WIDTH, ROW = 15.0, 0.33  # inches: of the picture, and of a row of the dashboard's grid
COLUMNS = 24  # of the grid
LICENSE = "<!-- SPDX-FileCopyrightText: The Memcached Operator Authors -->\n <!-- SPDX-License-Identifier: Apache-2.0 -->\n "
INK, PALE, GRID, BOX, RED, GREEN = "#1f2328", "#57606a", "#d8dee4", "#f6f8fa", "#cf222e", "#1a7f37"
COLORS = ["#0969da", "#bf8700", "#1a7f37", "#cf222e", "#8250df", "#bc4c00", "#57606a", "#1b7c83", "#bf3989", "#4d2d00"]
LEGENDS = 8  # as many fit beside a graph


def text(value, unit):
    """A value as Grafana prints it."""
    if unit == "percentunit":
        return f"{100 * value:.3g} %"
    if unit in ("bytes", "Bps"):
        for name in ("B", "KiB", "MiB", "GiB"):
            if abs(value) < 1024 or name == "GiB":
                return f"{value:.3g} {name}" + ("/s" if unit == "Bps" else "")
            value /= 1024
    for size, name in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{name}" + SUFFIXES.get(unit, "")
    return f"{value:.3g}" + SUFFIXES.get(unit, "")


SUFFIXES = {"s": " s", "reqps": " req/s", "ops": " ops/s", "cps": " c/s"}


def defaults(panel):
    return panel["fieldConfig"]["defaults"]


def title(axes, panel):
    for side in axes.spines.values():
        side.set_color(GRID)
    axes.set_title(panel["title"], loc="left", fontsize=9, fontweight="bold", color=INK)


def number(axes, panel, series):
    """The present values, red if something is wrong."""
    title(axes, panel)
    axes.set(xticks=[], yticks=[], facecolor=BOX)
    shown = [(one["points"][-1][1], one["legend"]) for one in series if one["points"]]
    if not shown:
        shown = [(float(defaults(panel).get("noValue", 0)), "")]
    for i, (value, legend) in enumerate(shown):
        color = INK
        if "thresholds" in defaults(panel):
            color = RED if value >= 1 else GREEN
        at = (i + 0.5) / len(shown)
        axes.text(at, 0.55, text(value, defaults(panel)["unit"]), ha="center", va="center", fontsize=17, color=color)
        axes.text(at, 0.16, legend if len(shown) > 1 else "", ha="center", va="center", fontsize=8, color=PALE)


def table(axes, panel, series):
    """The labels of each series in a line."""
    title(axes, panel)
    axes.set(xticks=[], yticks=[], facecolor=BOX)
    names = ["alertname", "severity", "namespace", "memcached", "pod", "container", "kind"]
    rows = sorted([one["labels"].get(name, "") for name in names] for one in series)
    lines = max(len(rows) + 1, 8)
    for line, row in enumerate([names, *rows]):
        for name, cell in zip(names, row):
            left = 0.01 + sum(COLUMN_WIDTHS[: names.index(name)])
            color = PALE if line == 0 else RED if cell == "critical" else INK
            axes.text(left, 1 - (line + 0.6) / lines, cell, fontsize=7.5, va="center", color=color)


COLUMN_WIDTHS = [0.25, 0.08, 0.1, 0.11, 0.22, 0.12, 0.1]


def graph(axes, panel, series):
    """Lines over time, with the last and the highest value of each beside them."""
    title(axes, panel)
    unit = defaults(panel)["unit"]
    stacked = defaults(panel).get("custom", {}).get("stacking", {}).get("mode") == "normal"
    series = sorted((one for one in series if one["points"]), key=lambda one: -max(value for _, value in one["points"]))
    base = {}
    for one, color in zip(series, COLORS * len(series)):
        points = [(at, value + base.get(at, 0)) for at, value in one["points"]]
        for last, following in zip([None, *points], points):
            # A gap in the data is a gap in the line.
            one.setdefault("parts", [])
            if last is None or following[0] - last[0] > 3:
                one["parts"].append([])
            one["parts"][-1].append(following)
        for part in one["parts"]:
            axes.plot(*zip(*part), color=color, linewidth=1.1, solid_capstyle="round", marker="." if len(part) == 1 else None)
            axes.fill_between(*zip(*part), [base.get(at, 0) for at, _ in part], color=color, alpha=0.12, linewidth=0)
        if stacked:
            base.update(points)
    for line, one in enumerate(series[:LEGENDS]):
        values = [value for _, value in one["points"]]
        legend = f"{one['legend']}   {text(values[-1], unit)}   max {text(max(values), unit)}"
        axes.text(1.02, 0.96 - line * 0.125, "▬", transform=axes.transAxes, fontsize=8, va="center", color=COLORS[line % len(COLORS)])
        axes.text(1.06, 0.96 - line * 0.125, legend, transform=axes.transAxes, fontsize=7, va="center", color=INK)
    if len(series) > LEGENDS:
        axes.text(1.06, -0.04, f"and {len(series) - LEGENDS} more", transform=axes.transAxes, fontsize=7, va="center", color=PALE)
    axes.set_ylim(defaults(panel).get("min"), defaults(panel).get("max"))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: text(value, unit)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{int(value) // 60}:{int(value) % 60:02d}"))
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 3, 6, 10], integer=True))
    axes.grid(color=GRID, linewidth=0.6)
    axes.tick_params(labelsize=7, colors=PALE, length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def draw(drawing, file):
    plt.rcParams["svg.fonttype"] = "none"  # texts stay texts
    plt.rcParams["svg.hashsalt"] = drawing["title"]  # the same data are the same file
    plt.rcParams["font.family"] = ["DejaVu Sans"]
    grids = [drawn["panel"]["gridPos"] for drawn in drawing["panels"]]
    height = max(at["y"] + at["h"] for at in grids) * ROW + 0.5
    figure = plt.figure(figsize=(WIDTH, height), facecolor="white")
    figure.text(0.012, 1 - 0.3 / height, drawing["title"], fontsize=13, fontweight="bold", color=INK)
    end = max((at for drawn in drawing["panels"] for one in drawn["series"] for at, _ in one["points"] or []), default=1)
    for drawn, at in zip(drawing["panels"], grids):
        kind = drawn["panel"]["type"]
        left, width = at["x"] / COLUMNS + 0.012, at["w"] / COLUMNS - 0.02
        top, tall = at["y"] * ROW + 0.75, at["h"] * ROW - 0.42
        if kind == "timeseries":  # room for the numbers of the axes, and for the legend
            left, width, tall = left + 0.04, width * 0.55, tall - 0.15
        axes = figure.add_axes([left, 1 - (top + tall) / height, width, tall / height])
        for one in drawn["series"]:
            one["points"] = one["points"] or []
        {"stat": number, "table": table, "timeseries": graph}[kind](axes, drawn["panel"], drawn["series"])
        if kind == "timeseries":
            axes.set_xlim(0, end)
    svg = io.StringIO()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Title": drawing["title"]})
    # A tenth of a point is fine enough.
    content = re.sub(r"(\d\.\d)\d+", r"\1", svg.getvalue())
    with open(file, "w", encoding="utf-8") as picture:
        picture.write(content.replace("<metadata>", LICENSE + "<metadata>", 1))


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as data:
        draw(json.load(data), sys.argv[2])
