"""The prover: Lean as a judge of what models write."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rltpf.prover.prover import Prover
    from rltpf.prover.settings import ProverConfig


def build_prover(config: ProverConfig) -> Prover:
    """The prover that the config asks for; raises `InputError` where its toolchain is missing.

    Lean itself starts at the first request.
    """
    import dataclasses

    from rltpf.cache import cache_folder
    from rltpf.prover.prover import Prover, limited
    from rltpf.prover.toolchains import find_toolchain
    from rltpf.prover.verdicts import Verdicts
    from rltpf.prover.worker import Worker

    toolchain = find_toolchain(config)
    ready = dataclasses.replace(toolchain, header=limited(toolchain.header, config.max_heartbeats))
    workers = [Worker(ready, config.timeout) for _ in range(config.workers)]
    # The id of a toolchain does not say what the modules of a project hold.
    verdicts = Verdicts(cache_folder() / "verdicts", toolchain.id) if config.cache and not config.project else None
    return Prover(toolchain, workers, config.max_heartbeats, verdicts)
