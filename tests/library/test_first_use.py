"""Importing Heald reads no builtin; a call reads what it needs, each function once."""

import subprocess
import sys

SCRIPT = """
import sys
import heald as wp
assert not [m for m in sys.modules if m.startswith("heald.library")]

from heald.frontend import sources
parse, parsed = sources.parse_lines, []

def counted(lines, first, last):
    tree = parse(lines, first, last)
    parsed.append((tree.name, first))
    return tree

sources.parse_lines = counted

def show():
    assert len(parsed) == len(set(parsed)), "one is parsed twice"
    print(*sorted({name for name, _ in parsed}))

assert wp.sin is not None
show()
wp.exp(1.0)
show()
before = len(parsed)
wp.exp(2.0)
assert len(parsed) == before
wp.exp2(1.0)
show()
"""


def test_functions_are_parsed_when_they_are_called_first() -> None:
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    looked_up, exp, exp2 = (set(line.split()) for line in done.stdout.splitlines())
    assert looked_up == set()
    assert exp == {"exp", "_beyond32", "_exp_tail32", "_scale32", "_shift32"}
    assert exp2 - exp == {"exp2", "_exp2_slope32"}
