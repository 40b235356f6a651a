"""``heald demo``: run a demo, show its progress, write pictures and the last state, check bits."""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Picture
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from heald.cli.demos import DEMOS, Demo, Image, Scene
from heald.driver import write_whole

_FRAME_MS = 50


def list_demos(console: Console) -> None:
    """Print the names of the demos and what they show."""
    table = Table("demo", "what it shows", "default size")
    for demo in DEMOS.values():
        table.add_row(demo.name, demo.summary, f"{demo.size:,} {demo.unit}")
    console.print(table)


def run_demo(
    demo: Demo, console: Console, *, size: int, frames: int, device: str, folder: Path
) -> None:
    """Run a demo and write ``NAME.gif``, ``NAME.png`` and ``NAME.npz`` into ``folder``.

    Interrupted by Ctrl-C, it writes what it has; every file is whole.
    """
    console.print(
        f"[bold]{demo.name}[/]: {demo.summary}; {size:,} {demo.unit} on {device}, "
        f"{frames} frames of {demo.steps} step{'s' * (demo.steps != 1)}"
    )
    folder.mkdir(parents=True, exist_ok=True)
    scene = demo.make(size, device)
    pictures: list[Image] = []
    milliseconds: list[float] = []
    try:
        _run(demo, scene, console, frames, pictures, milliseconds)
    except KeyboardInterrupt:
        console.print("[yellow]interrupted; writing what there is[/]")
    _report(demo, console, scene, milliseconds)
    for path in _write(demo, scene, pictures, folder):
        console.print(f"wrote {path}")


def _run(
    demo: Demo,
    scene: Scene,
    console: Console,
    frames: int,
    pictures: list[Image],
    milliseconds: list[float],
) -> None:
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("compiling", total=frames)
        for _ in range(frames):
            start = time.perf_counter()
            for _ in range(demo.steps):
                scene.step()
            milliseconds.append((time.perf_counter() - start) * 1e3 / demo.steps)
            pictures.append(scene.image())
            facts = f"{milliseconds[-1]:.1f} ms/step  {_describe(scene.measure())}"
            progress.update(task, advance=1, description=facts)


def _describe(facts: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.5g}" for name, value in facts.items())


def _report(demo: Demo, console: Console, scene: Scene, milliseconds: list[float]) -> None:
    if milliseconds:
        steps = len(milliseconds) * demo.steps
        console.print(
            f"{steps} steps, {np.median(milliseconds):.2f} ms/step (median)  "
            f"{_describe(scene.measure())}"
        )


def _write(demo: Demo, scene: Scene, pictures: list[Image], folder: Path) -> list[Path]:
    contents: dict[str, bytes] = {}
    if pictures:
        images = [Picture.fromarray(p) for p in pictures]
        contents["gif"] = _encoded(images[0], "GIF", images[1:])
        contents["png"] = _encoded(images[-1], "PNG", [])
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **scene.state())  # type: ignore[arg-type]
    contents["npz"] = buffer.getvalue()
    paths = []
    for kind, data in contents.items():
        path = folder / f"{demo.name}.{kind}"
        write_whole(path, data)
        paths.append(path)
    return paths


def _encoded(image: Picture.Image, kind: str, more: list[Picture.Image]) -> bytes:
    buffer = io.BytesIO()
    options: dict[str, Any] = {}
    if kind == "GIF":
        options = {"save_all": True, "append_images": more, "duration": _FRAME_MS, "loop": 0}
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def check_demo(demo: Demo, console: Console, device: str) -> bool:
    """Repeat a small run in the reference interpreter; do the bits agree?"""
    size, steps = demo.check_size, demo.check_steps
    scenes = {name: demo.make(size, name) for name in (device, "sim")}
    for step in range(steps):
        for scene in scenes.values():
            scene.step()
        states = {name: scene.state() for name, scene in scenes.items()}
        for name, array in states[device].items():
            other = states["sim"][name]
            if not _same_bits(array, other):
                console.print(f"[red]step {step + 1}: '{name}' differs between {device} and sim[/]")
                return False
    console.print(f"check: {size:,} {demo.unit}, {steps} steps, same bits on {device} and sim")
    return True


def _same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if a.dtype.kind == "f":
        both_nan = np.isnan(a) & np.isnan(b)
        bits = np.dtype(f"u{a.dtype.itemsize}")
        return bool(np.all(both_nan | (a.view(bits) == b.view(bits))))
    return bool(np.array_equal(a, b))
