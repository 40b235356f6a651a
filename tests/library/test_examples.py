"""The examples in the texts of builtins, run from Python as a user would."""

import doctest

import pytest

import heald as wp
from heald.library.registry import load_topics

TEXTS = [
    (f"{name}-{k}", record.doc)
    for name, b in load_topics().items()
    for k, record in enumerate(b.records)
    if ">>>" in record.doc
]


@pytest.mark.parametrize(("name", "text"), TEXTS, ids=[name for name, _ in TEXTS])
def test_examples(name: str, text: str) -> None:
    example = doctest.DocTestParser().get_doctest(text, {"wp": wp}, name, None, None)
    report: list[str] = []
    doctest.DocTestRunner().run(example, out=report.append)
    assert not report, "".join(report)
