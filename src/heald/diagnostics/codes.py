"""The table of diagnostic codes: one row, one page ``docs/errors/<code>.md``, one test each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of error: its number and its short title."""

    number: str
    title: str


_ROWS = (
    # H01 language
    Code("H0101", "unsupported syntax"),
    Code("H0102", "unsupported function call"),
    Code("H0103", "recursion"),
    Code("H0104", "unsupported parameter kind"),
    Code("H0105", "misplaced or mismatched return"),
    Code("H0106", "source not available"),
    Code("H0107", "value where a compile-time object is needed"),
    Code("H0108", "division of two integers"),
    Code("H0109", "unsupported assignment target"),
    Code("H0110", "unreachable or missing result"),
    # H02 types
    Code("H0201", "types do not match"),
    Code("H0202", "literal does not fit"),
    Code("H0203", "no matching overload"),
    Code("H0204", "types of two branches cannot merge"),
    Code("H0205", "narrowing must be explicit"),
    Code("H0206", "wrong number of values"),
    Code("H0207", "missing or invalid annotation"),
    Code("H0208", "invalid struct member"),
    Code("H0209", "index does not fit"),
    Code("H0210", "needs 64-bit indices"),
    Code("H0211", "invalid contract"),
    # H03 names
    Code("H0301", "undefined name"),
    Code("H0302", "name may be unset"),
    Code("H0303", "no such attribute"),
    Code("H0304", "captured value cannot be used in a kernel"),
    Code("H0305", "wrong argument names or count"),
    # H04 memory
    Code("H0401", "index outside its array"),
    Code("H0402", "integer division by zero"),
    Code("H0403", "range step is zero"),
    Code("H0404", "assertion failed"),
    Code("H0405", "read of uninitialised memory"),
    Code("H0406", "stale or foreign handle"),
    Code("H0407", "local arrays too large"),
    Code("H0408", "barrier under divergent control"),
    Code("H0409", "race in shared memory"),
    Code("H0410", "shared arrays too large"),
    Code("H0411", "array used against its contract"),
    Code("H0412", "contents break a contract"),
    Code("H0413", "write to a table"),
    # H06 proof
    Code("H0601", "a thread leaves an array"),
    Code("H0602", "a thread divides by zero"),
    Code("H0603", "an assertion fails"),
    Code("H0604", "an index overflows"),
    Code("H0605", "two threads race"),
    Code("H0606", "not proved"),
    Code("H0607", "contracts contradict each other"),
    Code("H0608", "a kernel breaks a contract"),
    Code("H0609", "threads of a block part at a barrier"),
    Code("H0610", "shared memory is read before it is written"),
    # H07 launch
    Code("H0701", "wrong argument count"),
    Code("H0702", "wrong argument type"),
    Code("H0703", "wrong array rank"),
    Code("H0704", "array on another device"),
    Code("H0705", "read-only memory would be written"),
    Code("H0706", "invalid launch dimensions"),
    Code("H0707", "unknown launch option"),
    Code("H0708", "too many loop iterations in the simulator"),
    Code("H0709", "not supported by the simulator"),
    Code("H0710", "function cannot be called from the host"),
    Code("H0711", "invalid array shape"),
    Code("H0712", "data does not fit its array"),
    Code("H0713", "kernels only"),
    Code("H0714", "hash grid not built or too small"),
    Code("H0715", "no such parameter"),
    Code("H0716", "no gradients here"),
    Code("H0717", "sizes or arguments break a contract"),
    # H08 device
    Code("H0801", "unknown device"),
    Code("H0802", "out of memory"),
    Code("H0803", "too many resources"),
    Code("H0804", "unsupported processor"),
    Code("H0805", "not available on this device"),
    Code("H0806", "no CUDA device"),
    Code("H0807", "CUDA driver too old"),
    Code("H0808", "error of the CUDA driver"),
    Code("H0809", "CUDA in a forked process"),
    Code("H0810", "no assembler for GPU code"),
    Code("H0811", "not part of a graph"),
    Code("H0812", "stream or event of another device"),
    # H09 files of kernels
    Code("H0901", "malformed kernel text"),
    Code("H0902", "file of another format version"),
    Code("H0903", "corrupt kernel file"),
    Code("H0904", "malformed kernel"),
    # H10 hints
    Code("H1001", "many small launches"),
    Code("H1002", "code made during a launch"),
    Code("H1003", "fewer threads than elements"),
)

HINTS = "H10"
"""Codes that begin so are no errors."""

CODES: dict[str, Code] = {row.number: row for row in _ROWS}
