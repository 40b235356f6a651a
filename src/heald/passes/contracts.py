"""What becomes of contracts in bodies when a kernel is compiled."""

from __future__ import annotations

from dataclasses import replace

from heald.ir import Attr, Kernel, Op, op_ids, walk
from heald.ops import CLAIMS, PROMISES, role_of
from heald.passes.drop_dead import drop_dead
from heald.passes.rebuild import Rebuild


def settle_contracts(kernel: Kernel, *, check: bool) -> Kernel:
    """Make assertions of the conditions of ``assume``, or remove them and what computes them.

    Before::

        %c = icmp %i, %n [pred="slt"]
        assume %c [message="wp.requires(i < n)", role="requires"]

    After, with ``check``::

        %c = icmp %i, %n [pred="slt"]
        assert %c [guard=true, id=7, message="wp.requires(i < n)"]

    Where nothing else read the launch index, a kernel without checks has no launch rank: nobody
    need find the index.

    Args:
        kernel: guarded.
        check: whether contracts are checked at run time.
    """
    if not any(op.name == "assume" for op in walk(kernel.body)):
        return kernel
    if check:
        return assert_roles(kernel, PROMISES | CLAIMS)
    rebuild = Rebuild(kernel)

    def visit(op: Op) -> None:
        if op.name != "assume":
            rebuild.copy(op, visit)

    settled = drop_dead(rebuild.rebuilt(visit))
    if any(op.name == "tid" for op in walk(settled.body)):
        return settled
    return replace(settled, rank=0)


def assert_roles(kernel: Kernel, roles: frozenset[str]) -> Kernel:
    """The conditions of every ``assume`` in one of ``roles`` as assertions; op ids stay."""
    rebuild = Rebuild(kernel)
    ids = op_ids(kernel)

    def visit(op: Op) -> None:
        if op.name != "assume" or role_of(op) not in roles:
            rebuild.copy(op, visit)
            return
        message = str(op.attrs.get("message", "a contract"))
        attrs: dict[str, Attr] = {"message": message, "guard": True, "id": ids[op]}
        rebuild.append(Op("assert", rebuild.get_all(op.operands), (), attrs, (), op.span))

    return rebuild.rebuilt(visit)
