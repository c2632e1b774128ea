"""Draws the timeline of a record, for notebooks: plain HTML and SVG, without scripts."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import _schema
    from .records import TimeRecord

__all__ = ["timeline"]

# The states of a stage: its field in a slice, its colour and its name.
_STATES = (
    ("running_ns", "#2a9d5c", "running"),
    ("cpu_wait_ns", "#e0a526", "runnable"),
    ("starved_ns", "#9db8d9", "blocked on read"),
    ("backpressured_ns", "#d97b6c", "blocked on write"),
    ("other_ns", "#c9c9c9", "other"),
)
_WIDTH = 480
_HEIGHT = 16


def timeline(record: TimeRecord) -> str:
    """Returns a table with a row for each stage: what it did when, and what it cost."""
    whole = max(record.wall_ns, 1)
    bottleneck = record.bottleneck
    rows = []
    for stage in record.stages:
        mark = "▶" if stage is bottleneck else ""
        cost = stage.cost
        cpu = cost.user_ns + cost.sys_ns
        cells = [
            f"<td>{mark}</td>",
            f'<td style="text-align:left"><code>{escape(stage.text)}</code></td>',
            f'<td style="text-align:left">{_bar(stage, whole)}</td>',
            f"<td>{_seconds(cost.wall_ns)}</td>",
            f"<td>{_seconds(cpu)}</td>",
            f"<td>{round(100 * cpu / max(cost.wall_ns, 1))}%</td>",
            f"<td>{_bytes(cost.peak_rss_bytes)}</td>",
            f"<td>{_bytes(cost.read_bytes)}</td>",
            f"<td>{_bytes(cost.written_bytes)}</td>",
        ]
        rows.append("<tr>" + "".join(cells) + "</tr>")
    legend = " ".join(
        f'<span style="background:{colour};padding:0 0.6em">&nbsp;</span> {name}' for _, colour, name in _STATES
    )
    heads = ("", "command", f"0 … {_seconds(whole)}", "real", "user+sys", "CPU", "peak mem", "in", "out")
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    return (
        f'<div class="pelton"><p>{escape(record.verdict.headline)}</p>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table><p>{legend}</p></div>"
    )


def _bar(stage: _schema.Stage, whole: int) -> str:
    """Returns a picture of what a stage did: each slice of time split into its states."""
    parts = []
    for piece in stage.timeline or ():
        x = piece.start_ns * _WIDTH / whole
        for name, colour, _ in _STATES:
            width = getattr(piece, name) * _WIDTH / whole
            if width >= 0.05:
                parts.append(f'<rect x="{x:.1f}" y="0" width="{width:.1f}" height="{_HEIGHT}" fill="{colour}"/>')
            x += width
    if not parts:
        # Too short to be sampled, or the medians of several runs: only its life is known.
        x = stage.start_ns * _WIDTH / whole
        width = max(1.0, stage.cost.wall_ns * _WIDTH / whole)
        parts.append(
            f'<rect x="{x:.1f}" y="5" width="{width:.1f}" height="6" fill="none" stroke="#888" stroke-width="1"/>'
        )
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">'
        f"<title>{escape(stage.name)}</title>{''.join(parts)}</svg>"
    )


def _seconds(ns: int) -> str:
    return f"{ns / 1e9:.3f} s"


def _bytes(count: int | None) -> str:
    if count is None:
        return "?"
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
