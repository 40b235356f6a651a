"""Asking the prover, in a process or not, and what is said of its answers."""

from __future__ import annotations

import io
import json
import os
import signal
import sys

import pytest

from heald.artifact import Symbol
from heald.driver import verify as driver
from heald.driver import verify_text
from heald.driver.verify import Question, ask, request_key, verify_program
from heald.driver.verify_formats import to_github, to_junit, to_sarif
from heald.driver.verify_issue import Verdict
from heald.ir import Kernel, check, parse
from heald.ops import TABLE
from heald.proof import PROPERTIES, Proof, PropertyProof, Request
from heald.proof.client import Gave, Unavailable, Worker
from heald.proof.conditions import clause
from heald.proof.messages import read_message, request_from_json, request_to_json, write_message
from heald.proof.result import from_json, to_json
from heald.proof.worker import limit_memory, serve

WIR = """
kernel @shift<1>(%a: array<f32,1>, %b: array<f32,1>) {
  %t: i32 = tid [axis=0] !0
  %one: i32 = const [value=1] !0
  %i: i32 = OP %t, %one !1
  %v: f32 = load %a, %i !1
  store %b, %t, %v !2
  return
}
!0 = "shift.py" 4:4-4:12
!1 = "shift.py" 5:11-5:19
!2 = "shift.py" 5:4-5:8
"""
DIM, A, B = Symbol("dim"), Symbol("shape", 0), Symbol("shape", 1)
SAME = (clause({(A,): 1, (DIM,): -1}, equal=True), clause({(B,): 1, (DIM,): -1}, equal=True))


def kernel_of(op: str = "iadd") -> Kernel:
    kernel = parse(WIR.replace("OP", op), TABLE)
    check(kernel, TABLE)
    return kernel


class Shelf:
    """A cache in memory that counts."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], bytes] = {}
        self.hits = 0

    def get(self, kind: str, key: str) -> bytes | None:
        found = self.kept.get((kind, key))
        self.hits += found is not None
        return found

    def put(self, kind: str, key: str, content: bytes) -> None:
        self.kept[kind, key] = content


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_ANSWERS_CACHE", {})


def report(op: str = "iadd", given=(), infer: bool = True):
    question = Question(kernel_of(op), "shift", given, infer)
    return verify_program(question, process=False)


# -- reports ---------------------------------------------------------------------------------------


def test_a_proof_says_what_it_asks_of_the_launch() -> None:
    found = report()
    assert found.verdict is Verdict.CONDITIONAL
    assert found.proved
    assert found["bounds"].condition == "dim[0] + 1 <= a.shape[0] and dim[0] <= b.shape[0]"
    assert found["races"].verdict is Verdict.PROVED
    assert "b and a do not overlap" in found["aliasing"].condition
    with pytest.raises(KeyError):
        found["speed"]


def test_a_refutation_shows_the_launch_and_the_place() -> None:
    found = report(given=SAME, infer=False)
    assert found.verdict is Verdict.REFUTED
    assert not found.proved
    (issue,) = [i for i in found.issues if i.verdict is Verdict.REFUTED]
    assert issue.code == "H0601"
    assert (issue.span.file, issue.span.line, issue.span.col) == ("shift.py", 5, 11)
    assert "is outside 'a' of shape" in issue.message
    assert found.witness is issue.witness
    numbers = found.witness.numbers()
    assert numbers[A] == numbers[B] == found.witness.dims[0]
    text = str(found)
    assert "error[H0601]" in text
    assert "witness: dim = " in text
    assert "given        a.shape[0] == dim[0] and b.shape[0] == dim[0]" in text


def test_no_launch_is_safe_for_an_index_that_begins_below_zero() -> None:
    assert report("isub").verdict is Verdict.REFUTED


@pytest.mark.parametrize("op", ["iadd", "isub"])
def test_every_form_of_a_report_says_the_verdict(op: str) -> None:
    found = report(op)
    verdict = found.verdict.value
    assert json.loads(json.dumps(found.to_json()))["verdict"] == verdict
    assert verdict in found._repr_html_()
    assert verdict in found.__rich__()
    results = found.to_sarif()["runs"][0]["results"]
    junit = to_junit([found], [], strict=False)
    github = to_github([found])
    if op == "iadd":
        assert not results
        assert "<failure" not in junit
        assert not github
    else:
        assert results[0]["level"] == "error"
        region = results[0]["locations"][0]["physicalLocation"]["region"]
        assert (region["startLine"], region["startColumn"]) == (5, 12)
        assert "<failure" in junit
        assert github.startswith("::error file=shift.py,line=5,col=12::shift: index -1 is outside")


def test_reports_of_files_that_cannot_be_verified_are_in_junit() -> None:
    assert '<error message="x.py: no kernels" />' in to_junit([], ["x.py: no kernels"], strict=True)
    assert to_sarif([])["runs"][0]["results"] == []


def test_what_the_solver_cannot_do_is_unknown(monkeypatch: pytest.MonkeyPatch, forgetful) -> None:
    def give_up(request: Request) -> None:
        raise ImportError

    monkeypatch.setattr(driver, "prove", give_up)
    found = report()
    assert found.verdict is Verdict.UNKNOWN
    assert {issue.message for issue in found.issues} == {"not judged: no solver"}
    assert {issue.hint for issue in found.issues} == {verify_text._BEYOND["no solver"]}


# -- caches ----------------------------------------------------------------------------------------


def test_answers_are_kept_and_damaged_ones_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, forgetful
) -> None:
    shelf, request = Shelf(), Request(kernel_of())
    first = ask(request, store=shelf, process=False)
    assert list(shelf.kept) == [("proof", request_key(request))]
    monkeypatch.setattr(driver, "_ANSWERS_CACHE", {})
    asked = []
    monkeypatch.setattr(driver, "prove", asked.append)
    assert ask(request, store=shelf, process=False) == first
    assert shelf.hits == 1
    assert not asked
    monkeypatch.undo()
    for damaged in (b"", b"{}", b"[99, []]", b'[1, ["Proof"]]'):
        monkeypatch.setattr(driver, "_ANSWERS_CACHE", {})
        shelf.kept["proof", request_key(request)] = damaged
        again = ask(request, store=shelf, process=False)
        assert again.properties == first.properties


def test_keys_tell_questions_apart() -> None:
    requests = [
        Request(kernel_of()),
        Request(kernel_of("isub")),
        Request(kernel_of(), SAME),
        Request(kernel_of(), infer=False),
        Request(kernel_of(), properties=("bounds",)),
    ]
    assert len({request_key(r) for r in requests}) == len(requests)


def test_requests_and_answers_survive_the_pipes() -> None:
    request = Request(kernel_of(), SAME, False, ("bounds", "races"))
    stream = io.BytesIO()
    write_message(stream, request_to_json(request))
    stream.seek(0)
    again = request_from_json(read_message(stream))
    assert request_key(again) == request_key(request)
    proof = ask(request, process=False)
    assert from_json(json.loads(json.dumps(to_json(proof)))) == proof
    with pytest.raises(EOFError):
        read_message(stream)
    with pytest.raises(EOFError):
        read_message(io.BytesIO(b"\x09\x00\x00\x00{}"))
    with pytest.raises(ValueError, match="bytes"):
        read_message(io.BytesIO(b"\xff\xff\xff\xff"))


# -- the process -----------------------------------------------------------------------------------


def test_a_worker_answers_as_this_process_does() -> None:
    worker = Worker()
    try:
        for request in (Request(kernel_of()), Request(kernel_of(), SAME, False)):
            assert worker.prove(request).properties == ask(request, process=False).properties
    finally:
        worker.close()
    assert not worker.is_alive


def test_a_worker_that_dies_is_noticed() -> None:
    worker = Worker()
    os.kill(worker._process.pid, signal.SIGKILL)
    with pytest.raises(Unavailable):
        worker.prove(Request(kernel_of()))
    worker.close()


def test_a_worker_that_takes_too_long_is_ended() -> None:
    worker = Worker()
    with pytest.raises(Gave, match="0 seconds"):
        worker.prove(Request(kernel_of()), seconds=0.0)
    assert not worker.is_alive


def test_where_processes_are_forbidden_the_prover_runs_here(
    monkeypatch: pytest.MonkeyPatch, forgetful
) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError("no processes")

    monkeypatch.setattr(driver, "_WORKER_CACHE", [])
    monkeypatch.setattr("heald.proof.client.subprocess.Popen", forbidden)
    assert ask(Request(kernel_of())).properties["bounds"].status == "proved"


def test_an_interpreter_that_is_none_is_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(Unavailable):
        Worker()
    monkeypatch.setattr(sys, "executable", "/bin/true")
    with pytest.raises(Unavailable, match="does not answer"):
        Worker()


def test_a_worker_says_what_went_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def answers(error: BaseException) -> dict[str, object]:
        def fail(_: Request) -> None:
            raise error

        monkeypatch.setattr("heald.proof.worker.prove", fail)
        source, sink = io.BytesIO(), io.BytesIO()
        write_message(source, request_to_json(Request(kernel_of())))
        source.seek(0)
        serve(source, sink)
        sink.seek(0)
        read_message(sink)
        return read_message(sink)

    assert answers(MemoryError()) == {"error": "memory"}
    assert answers(ImportError()) == {"error": "no solver"}
    assert answers(RecursionError("deep")) == {"error": "RecursionError: deep"}


def test_memory_can_be_limited() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    try:
        limit_memory(1 << 45)
        assert resource.getrlimit(resource.RLIMIT_AS)[0] <= 1 << 45
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_only_what_is_asked_for_is_answered() -> None:
    proof = ask(Request(kernel_of(), properties=("races", "bounds")), process=False)
    assert set(proof.properties) == {"races", "bounds"}
    assert set(ask(Request(kernel_of()), process=False).properties) == set(PROPERTIES)


def test_every_reason_has_a_hint_and_a_word() -> None:
    assert verify_text._REASONS.keys() == verify_text._WORDS.keys()
    for hint in (*verify_text._REASONS.values(), *verify_text._OF_PROPERTY.values()):
        assert "provable" in hint or "handle" in hint or "not follow" in hint, hint
    for key in verify_text._OF_PROPERTY:
        name, reason = key.split()
        assert name in PROPERTIES
        assert reason in (*verify_text._REASONS, "shared")


def test_a_kernel_that_is_not_judged_says_so_once(
    monkeypatch: pytest.MonkeyPatch, forgetful
) -> None:
    def stop(request: Request) -> Proof:
        reason = "an array that depends on a branch"
        return Proof(
            {name: PropertyProof("open") for name in request.properties}, beyond=(reason, 0)
        )

    monkeypatch.setattr(driver, "prove", stop)
    found = report()
    assert str(found).count("not judged") == 1
    assert str(found).count("would make it provable") == 1
    assert all(part.verdict is Verdict.UNKNOWN for part in found.properties)
