"""The table of builtins: what it holds, and that every overload compiles as its signature says."""

import importlib
import re

import pytest
from library.instances import RESOURCES, Instance, instances

from heald.frontend import lower_call
from heald.library import matrix, quaternion, transform
from heald.library.language import float32
from heald.library.registry import (
    Below,
    Exact,
    Interval,
    NonZero,
    Overload,
    Scaled,
    Ulp,
    Unit,
    builtin,
    load_topics,
    lookup,
)

OVERLOADS = [(name, record) for name, b in load_topics().items() for record in b.records]


def test_names_are_found_and_others_are_not() -> None:
    found = lookup("sin")
    assert found is load_topics()["sin"]
    assert found.__heald_overloads__ == found.overloads
    assert lookup("sine") is None


def test_overloads_of_all_topics_are_one_builtin() -> None:
    assert matrix.mul is quaternion.mul is transform.mul
    modules = {f.__module__.rpartition(".")[2] for f in matrix.mul.overloads}
    assert modules > {"matrix", "quaternion", "transform"}


@pytest.mark.parametrize(
    "name", dict.fromkeys(name for name, record in OVERLOADS if record.group not in RESOURCES)
)
def test_every_builtin_has_a_text_and_an_example(name: str) -> None:
    first = load_topics()[name].records[0]
    assert re.match(r"\S.*", first.doc), f"{name}: the first overload carries the text for all"
    assert f"wp.{name}(" in first.doc.partition(">>>")[2]


@pytest.mark.parametrize(("name", "record"), OVERLOADS, ids=lambda v: getattr(v, "name", ""))
def test_every_overload_says_what_it_promises(name: str, record: Overload) -> None:
    """Group, accuracy, for what, and against what: what is named is there."""
    assert record.group
    assert record.group[0].isupper()
    assert isinstance(record.accuracy, Exact | Ulp | Scaled)
    parameters = record.function.__code__.co_varnames[: record.function.__code__.co_argcount]
    assert record.domain.keys() <= set(parameters)
    for rule in record.domain.values():
        assert isinstance(rule, Interval | Below | NonZero | Unit)
    if record.reference is not None:
        module, _, function = record.reference.rpartition(".")
        assert callable(getattr(importlib.import_module(module), function))


def test_registering_checks_parameter_names() -> None:
    def half(x: float32) -> float32:
        return x * 0.5

    with pytest.raises(ValueError, match="half has no parameter 'y'"):
        builtin(group="Test", domain={"y": NonZero()})(half)
    with pytest.raises(ValueError, match="half has no parameter 'state'"):
        builtin(group="Test", accuracy=Exact(), updates=("state",))(half)
    assert lookup("half") is None


def test_builtins_are_not_python() -> None:
    with pytest.raises(TypeError, match="sin is kernel-language code"):
        load_topics()["sin"](1.0)


@pytest.mark.parametrize(("name", "record"), OVERLOADS, ids=lambda v: getattr(v, "name", ""))
def test_updates_agree_within_a_builtin(name: str, record: Overload) -> None:
    assert record.updates == load_topics()[name].updates


@pytest.mark.parametrize("instance", list(instances()), ids=str)
def test_every_overload_gives_the_type_of_its_signature(instance: Instance) -> None:
    name, functions = instance.builtin.name, instance.builtin.overloads
    kernel = lower_call(name, functions, instance.types, lookup)
    names = instance.overload.function.__code__.co_varnames
    updated = [
        t for n, t in zip(names, instance.types, strict=False) if n in instance.builtin.updates
    ]
    if instance.result is not None:
        assert kernel.results == (*updated, instance.result)
