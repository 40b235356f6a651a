"""``heald migrate``: what to change in a program that was written for NVIDIA Warp.

``constructs`` is the table, ``names`` finds what a file takes from Warp, ``bodies`` looks at what
kernels compute, ``scan`` puts them together for a file.  Files are parsed, never imported.
"""

from heald.cli.migration.scan import Finding, scan_source
from heald.differences import CONSTRUCTS, Construct, Kind

__all__ = ["CONSTRUCTS", "Construct", "Finding", "Kind", "scan_source"]
