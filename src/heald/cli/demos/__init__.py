"""The demos of the command line: complete small programs on the public surface."""

from heald.cli.demos.mandelbrot import MANDELBROT
from heald.cli.demos.nbody import NBODY
from heald.cli.demos.saxpy import SAXPY
from heald.cli.demos.scene import Demo, Image, Scene
from heald.cli.demos.sph import SPH
from heald.cli.demos.wave import WAVE

DEMOS: dict[str, Demo] = {demo.name: demo for demo in (SPH, SAXPY, NBODY, WAVE, MANDELBROT)}

__all__ = ["DEMOS", "Demo", "Image", "Scene"]
