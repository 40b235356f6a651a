"""One specialisation of a kernel: its WIR, its variants, compiled on first demand, and its
launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any

import heald.codegen as codegen
import heald.driver.compiler as compiler
import heald.interp as interp
from heald.artifact import Access, Artifact, Lanes, LaunchCondition, Symbol
from heald.codegen import LoadedCode, Report, load, parallel_launcher
from heald.config import config
from heald.diagnostics import KernelFault
from heald.driver.analysed import Analysed
from heald.driver.arguments import Argument, look_up, settle, thread_count
from heald.driver.cache import ProgramCache, Recipe
from heald.driver.choice import Choice
from heald.driver.deep import deeply, is_deep, with_room
from heald.driver.gpu import (
    GpuVariant,
    architecture_of,
    compile_for_gpu,
    error_of,
    load_on_gpu,
    run_on_gpu,
    target_name,
)
from heald.driver.hints import add_making_time
from heald.driver.prints import print_records
from heald.forks import ForkSafeLock
from heald.runtime import (
    CPU,
    Device,
    ParallelLauncher,
    Sharing,
    ThreadSharing,
    current_device,
    is_shared,
    launch,
    packer_of,
    read_fault,
)
from heald.runtime.cuda import Stream, current_stream, filling, gpu_of, synchronize_stream
from heald.types import leaf_path

if TYPE_CHECKING:
    from heald.driver.requirements import Requirements
    from heald.driver.verify_strict import StrictGate
    from heald.ir import Kernel
    from heald.proof.contracts import Promises


@dataclass(frozen=True, slots=True)
class Variant:
    """Compiled code of one variant."""

    artifact: Artifact
    code: LoadedCode


class Program:
    """A kernel for concrete parameter types.

    Thread-safe: variants are compiled once, launches run concurrently.

    Attributes:
        name: what errors call it.
        tables: what it captured by ``wp.constant(array)``, with names; parameters behind the
            others, which launches fill in.
        safety: which guards it keeps.
        has_wide_index: whether its indices have 64 bits.
        rank: launch dimensions that it reads.
        condition: what must hold at a launch for the variant without bounds guards.
        launches: how often it ran on the careful path, roughly where threads race.
        is_shared: whether one of those launches was worth more than one core.
        replays: what ``entries.replay_of`` made last, by device.
        promises: the contracts of its parameters, where there are any.
        checks_contracts: whether conditions in its body are assertions, and contents are looked at
            before and after launches.
    """

    def __init__(
        self,
        name: str,
        analysed: Analysed,
        *,
        safety: str,
        wide_index: bool = False,
        cache: ProgramCache | None = None,
        promises: Promises | None = None,
        check_contracts: bool = False,
        warp_reduce: bool = False,
        tables: Sequence[tuple[str, Any]] = (),
    ) -> None:
        self.name = name
        self.tables = tuple(tables)
        self.safety = safety
        self._warp_reduce = warp_reduce
        self.has_wide_index = wide_index
        self.rank = analysed.rank
        self.condition: LaunchCondition = analysed.condition
        self.launches = 0
        self.is_shared = False
        self.replays: dict[str, object] = {}
        self.promises = promises
        self.checks_contracts = check_contracts
        self._shapes: LaunchCondition | None = LaunchCondition(())
        if promises is not None:
            self._shapes = _contracts().shape_condition(promises)
        self._analysed = analysed
        self._cache = cache or ProgramCache()
        self._guarded: dict[bool, Kernel] = {}
        self._variants: dict[Choice, Variant] = {}
        self._gpu_variants: dict[tuple[str, Choice], GpuVariant] = {}
        self._gate: StrictGate | None = None
        self._requirements: Requirements | None = None
        self._lock = ForkSafeLock()

    @property
    def wir(self) -> Kernel:
        """The kernel after the front pipeline, before guards."""
        return deeply(lambda: self._analysed.kernel, self.name)

    def describe_condition(self) -> str:
        """The launch condition in the user's names, such as ``dim[0] <= a.shape[0]``."""
        return self.condition.describe(self._symbol_name)

    def _symbol_name(self, symbol: Symbol) -> str:
        if symbol.kind == "dim":
            return f"dim[{symbol.axis}]"
        parameter = self.wir.params[symbol.parameter]
        path = [self.wir.name_of(parameter), *leaf_path(parameter.type, symbol.leaf)]
        name = ".".join(path)
        return f"{name}.shape[{symbol.axis}]" if symbol.kind == "shape" else name

    # -- compiling ---------------------------------------------------------------------------------

    def guarded(self, *, bounds: bool) -> Kernel:
        """The WIR with guards decided; with ``bounds`` for launches that fulfil the condition."""
        with self._lock:
            if bounds not in self._guarded:
                self._guarded[bounds] = deeply(lambda: self._guard(bounds), self.name)
            return self._guarded[bounds]

    def _guard(self, bounds: bool) -> Kernel:
        return compiler.guarded(
            self.wir,
            self._analysed.verdicts,
            bounds=bounds,
            safety=self.safety,
            check_contracts=self.checks_contracts,
        )

    def lowered(self, choice: Choice) -> Kernel:
        """What the scalar code generator for CPUs takes."""
        return compiler.lower_for_cpu(self._checked(choice))

    def lowered_for_gpu(self, choice: Choice, arch: str) -> Kernel:
        """What the code generator for GPUs takes."""
        return compiler.lower_for_gpu(self._checked(choice), arch, floats=self._warp_reduce)

    def widened(self, choice: Choice) -> Kernel:
        """What the code generator for vectors takes; its attributes say how wide, or why not."""
        return compiler.widen(self.lowered(choice))

    def _checked(self, choice: Choice) -> Kernel:
        return compiler.assume(self._guard(choice.bounds), choice)

    def variant(self, choice: Choice) -> Variant:
        """Compiled code, made on first demand.

        Raises:
            CompileError: the kernel uses what CPUs do not have.
            DeviceError: this processor is not supported.
        """
        found = self._variants.get(choice)
        if found is not None:
            return found
        with self._lock:
            if choice not in self._variants:
                began = perf_counter()
                artifact = self._artifact(choice, CPU)
                self._variants[choice] = Variant(artifact, load(artifact))
                add_making_time(perf_counter() - began)
            return self._variants[choice]

    def gpu_variant(self, choice: Choice, device: Device) -> GpuVariant:
        """Code on a GPU, made on first demand.

        Raises:
            CompileError: the kernel uses what GPUs do not have.
            DeviceError: the GPU is too old, or its driver reports an error.
        """
        key = (device.alias, choice)
        with self._lock:
            if key not in self._gpu_variants:
                began = perf_counter()
                artifact = self._artifact(choice, device)
                variant = load_on_gpu(self.name, artifact, device)
                for few in (True,) if artifact.few else (True, False):
                    known = (device.alias, replace(choice, few=few))
                    self._gpu_variants.setdefault(known, variant)
                add_making_time(perf_counter() - began)
            return self._gpu_variants[key]

    def _artifact(self, choice: Choice, device: Device) -> Artifact:
        def make() -> Artifact:
            artifact = self._cache.artifact(self._recipe(choice, device))
            self._analysed.pack()
            return artifact

        return deeply(make, self.name)

    def _recipe(self, choice: Choice, device: Device) -> Recipe:
        conditions = zip(self.questions, self.conditions, strict=True)
        taken = [c for name, c in conditions if getattr(choice, name)]
        condition = LaunchCondition(tuple(clause for c in taken for clause in c.clauses))

        def compile_kernel(kernel: Kernel) -> Artifact:
            if device.is_cuda:
                return compile_for_gpu(kernel, condition, device, few=choice.few)
            return compiler.compile_variant(kernel, condition)

        name = f"{target_name(device)} {choice.name}" if device.is_cuda else choice.name
        if device.is_cuda:
            name += " floats by warp" * self._warp_reduce

        def lower(kernel: Kernel) -> Kernel:
            if device.is_cuda:
                arch = architecture_of(device)
                return compiler.lower_for_gpu(kernel, arch, floats=self._warp_reduce)
            return compiler.lower_for_cpu(kernel)

        wider = name if choice.few else ""
        name += " few" * choice.few
        return Recipe(name, condition, lambda: self._checked(choice), lower, compile_kernel, wider)

    def prepare(self) -> None:
        """Compile the variants for dense arrays that do not overlap, for the current device; for a
        GPU only the one for launches that fulfil the launch condition.

        Launches with others, such as every second column of one, compile theirs when they come.
        With ``safety="strict"`` it also waits for the prover.
        """
        if self.safety == "strict":
            self._strict_gate().prepare()
        device, asked = current_device(), self.questions
        dense = Choice(unit="unit" in asked, apart="apart" in asked, shapes="shapes" in asked)
        choices = (dense, replace(dense, bounds=True))[: 1 + ("bounds" in asked)]
        if device.is_cuda:
            self.gpu_variant(choices[-1], device)
            return
        for choice in choices:
            self.variant(choice)

    @property
    def questions(self) -> tuple[str, ...]:
        """The fields of a choice that depend on the launch, in the order of ``conditions``."""
        asked = {name: bool(condition.clauses) for name, condition in self._known.items()}
        asked["bounds"] &= self.safety != "unchecked"
        return tuple(name for name in asked if asked[name])

    @property
    def conditions(self) -> tuple[LaunchCondition, ...]:
        """What each bit of a variant's mask stands for, the lowest first."""
        return tuple(self._known[name] for name in self.questions)

    @property
    def _known(self) -> dict[str, LaunchCondition]:
        """What each field of a choice stands for."""
        analysed = self._analysed
        return {
            "bounds": analysed.condition,
            "unit": analysed.layout,
            "apart": analysed.apart,
            "shapes": LaunchCondition(()) if self._shapes is None else self._shapes,
        }

    @property
    def requirements(self) -> Requirements | None:
        """Conditions that are looked at before each launch, where contracts are checked."""
        if not self.checks_contracts:
            return None
        if self._requirements is None:
            self._requirements = import_module("heald.driver.requirements").Requirements(self.wir)
        return self._requirements or None

    @property
    def needs_care(self) -> bool:
        """Does each launch need checks that compiled launch entries do not make?"""
        watched = self.checks_contracts and (
            self.promises is not None or self.requirements is not None
        )
        return self.safety == "strict" or watched or self._shapes is None

    def compiled(self) -> dict[int, Variant]:
        """The variants compiled so far for the CPU, by the mask of the conditions that they rest
        on."""
        return {self._mask(choice): variant for choice, variant in dict(self._variants).items()}

    def compiled_for_gpu(self, device: Device) -> dict[int, GpuVariant]:
        """The same for a GPU; where there is code for few threads and for all, the latter, which
        was made later."""
        return {
            self._mask(choice): variant
            for (alias, choice), variant in dict(self._gpu_variants).items()
            if alias == device.alias
        }

    def artifact(self, device: Device) -> Artifact | None:
        """Of some variant for a device, if there is one; parameters and layout are those of all."""
        found = self.compiled_for_gpu(device) if device.is_cuda else self.compiled()
        return next((variant.artifact for variant in found.values()), None)

    @property
    def work(self) -> int:
        """Rough instructions a thread, by the variants compiled so far; 0 before."""
        cpu = (variant.artifact for variant in tuple(self._variants.values()))
        gpu = (variant.artifact for variant in tuple(self._gpu_variants.values()))
        return max((artifact.work for artifact in (*cpu, *gpu)), default=0)

    def _mask(self, choice: Choice) -> int:
        return sum(getattr(choice, name) << n for n, name in enumerate(self.questions))

    # -- launching ---------------------------------------------------------------------------------

    def written(self) -> tuple[bool, ...]:
        """For each parameter: may the kernel write its arrays?  Some variant must be compiled."""
        access = [v.artifact.parameters for v in dict(self._variants).values()]
        access += [v.artifact.parameters for v in dict(self._gpu_variants).values()]
        return tuple(
            any(p.access & Access.WRITE for p in parameters)
            for parameters in zip(*access, strict=True)
        )

    def run(
        self,
        device: Device,
        dims: Sequence[int],
        arguments: Sequence[Argument],
        block_dim: int,
        stream: Stream | None = None,
    ) -> None:
        """Launch, and wait but on a GPU.

        Args:
            device: where.
            dims: launch extents.
            arguments: one for each parameter.
            block_dim: threads of a block.
            stream: of a GPU; the current one by default.

        Raises:
            KernelFault: a thread faulted; everything else that the launch wrote is there.  On a
                GPU: an earlier launch has failed, and this one was not started.
            ProofError: ``safety`` is strict and something is not proved; nothing has run.
            LaunchError: arrays are not of the shapes of their contracts; nothing has run.
        """
        self.check_shapes(dims, arguments)
        if thread_count(dims) == 0:
            return
        if self.safety == "strict":
            self._require_proofs(device, dims, arguments, block_dim)
        if device.is_cuda:
            self._run_cuda(stream or current_stream(device), dims, arguments, block_dim)
            return
        settle(arguments)
        if device.is_sim:
            self._simulate(device, dims, arguments, block_dim)
        else:
            self._run_cpu(dims, arguments, block_dim)

    def check_shapes(self, dims: Sequence[int], arguments: Sequence[Argument]) -> None:
        """Refuse a launch whose arrays are not of the shapes of their contracts.

        Raises:
            LaunchError: H0717, naming both sides.
        """
        if self.promises is not None:
            lookup = partial(look_up, arguments, dims)
            _contracts().check_shapes(self.wir, self.name, self.promises, lookup)

    def _require_proofs(
        self, device: Device, dims: Sequence[int], arguments: Sequence[Argument], block_dim: int
    ) -> None:
        """Refuse a launch of which something is not proved."""
        gate = self._strict_gate()
        missing = gate.missing(dims, arguments, device, block_dim)
        if not missing:
            return
        unchecked = gate.unchecked(missing)
        if unchecked is not None:
            raise unchecked
        if not gate.faults.isdisjoint(missing):
            holds = self.condition.holds(lambda symbol: look_up(arguments, dims, symbol))
            import_module("heald.driver.strict").require_proofs(
                self.guarded(bounds=holds), self.describe_condition()
            )
        raise gate.refuse(dims, arguments, missing, block_dim)

    def _strict_gate(self) -> StrictGate:
        gate = self._gate
        if gate is None:  # the prover is large, and few programs are strict
            strict = import_module("heald.driver.verify_strict")
            gate = strict.StrictGate(self.wir, self.promises, checked=self.checks_contracts)
            self._gate = gate
        return gate

    def choose(self, dims: Sequence[int], arguments: Sequence[Argument]) -> Variant:
        """The variant for a launch on a CPU; only that one is compiled."""
        return self.variant(self._choice(dims, arguments))

    def compile_for(
        self, device: Device, dims: Sequence[int], arguments: Sequence[Argument]
    ) -> None:
        """Make the code for a launch, unless some code for the device is there."""
        if device.is_cuda:
            if not any(alias == device.alias for alias, _ in tuple(self._gpu_variants)):
                self.choose_on_gpu(device, dims, arguments)
        elif not self._variants:
            self.choose(dims, arguments)

    def choose_on_gpu(
        self, device: Device, dims: Sequence[int], arguments: Sequence[Argument]
    ) -> GpuVariant:
        """The variant for a launch on a GPU."""
        few = thread_count(dims) < Lanes.fewest(filling(gpu_of(device)))
        return self.gpu_variant(replace(self._choice(dims, arguments), few=few), device)

    def keeps_shapes(self, dims: Sequence[int], arguments: Sequence[Argument]) -> bool:
        """Have the arrays of a launch the shapes of their contracts?"""
        return self._known["shapes"].holds(partial(look_up, arguments, dims))

    def _choice(self, dims: Sequence[int], arguments: Sequence[Argument]) -> Choice:
        """What a launch allows to take for granted.

        Shapes always are: code may be asked for before a launch is refused, and a variant without
        them would let compiled launch entries start such launches.
        """
        number = partial(look_up, arguments, dims)
        asked = zip(self.questions, self.conditions, strict=True)
        held = {name: name == "shapes" or condition.holds(number) for name, condition in asked}
        return Choice(**held)

    def _run_cuda(
        self, stream: Stream, dims: Sequence[int], arguments: Sequence[Argument], block_dim: int
    ) -> None:
        self.launches += 1
        variant = self.choose_on_gpu(stream.device, dims, arguments)
        run_on_gpu(variant, stream, dims, arguments, block_dim)
        if config.verify_cuda and stream.capture is None:
            synchronize_stream(stream)

    def _run_cpu(self, dims: Sequence[int], arguments: Sequence[Argument], block_dim: int) -> None:
        variant = self.choose(dims, arguments)
        words = [word for argument in arguments for word in argument.words()]
        packed = packer_of(variant.artifact).pack(words)
        shared = is_shared(variant.artifact, thread_count(dims), config.num_threads)
        self.is_shared |= shared
        self.launches += 1
        outcome = launch(
            variant.code.address,
            variant.artifact,
            packed,
            dims,
            block_dim,
            parallel=_sharing() if shared else None,
            threads=config.num_threads,
            keepalive=(variant, arguments),
        )
        print_records(outcome.printed.records, variant.artifact.formats, outcome.printed.note)
        if outcome.fault is not None:
            raise error_of(outcome.fault, variant.artifact.sites, dims, self.name)

    def _simulate(
        self, device: Device, dims: Sequence[int], arguments: Sequence[Argument], block_dim: int
    ) -> None:
        kernel = self.guarded(bounds=False)
        given = [argument.simulated() for argument in arguments]
        resources = import_module("heald.driver.simulation").simulated_resources(kernel, device)
        unchecked = self.safety == "unchecked"

        def simulate() -> interp.Outcome:
            return interp.run(
                kernel,
                tuple(dims),
                given,
                block_dim=block_dim,
                resources=resources,
                unchecked=unchecked,
            )

        outcome = with_room(simulate) if is_deep(kernel) else simulate()
        print_records(outcome.printed, codegen.formats_of(kernel), "")
        for fault in outcome.faults:
            raise error_of(fault, codegen.sites_of(kernel), dims, self.name)

    def error_of(self, report: bytes) -> KernelFault:
        """The exception for a report of a launch entry (``codegen.entry``)."""
        told = Report.decode(report)
        fault = read_fault(told.fault)
        assert fault is not None
        sites = self.compiled()[told.mask].artifact.sites
        return error_of(fault, sites, told.dims, self.name)


def _contracts() -> Any:
    """What checks contracts; it loads what proofs are made of, and few kernels have contracts."""
    return import_module("heald.driver.contracts")


def _sharing() -> Sharing:
    address = parallel_launcher()
    if address is None:
        return ThreadSharing()
    return ParallelLauncher(address, survives_fork=True)
