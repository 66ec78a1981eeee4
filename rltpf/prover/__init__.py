"""The prover: Lean as a judge of what models write."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rltpf.prover.prover import Prover
    from rltpf.prover.settings import ProverConfig


def build_prover(config: ProverConfig) -> Prover:
    """The prover that the config asks for; raises `InputError` where its toolchain is missing.

    Lean itself starts at the first request, but a server is tried out now.
    """
    import dataclasses

    from rltpf.cache import cache_folder
    from rltpf.prover.answer import Judging
    from rltpf.prover.kimina import REQUESTS_PER_SNIPPET, ServerVerdicts, connect
    from rltpf.prover.prover import Prover, limited
    from rltpf.prover.toolchains import find_toolchain
    from rltpf.prover.verdicts import Verdicts
    from rltpf.prover.worker import Worker

    workers: list[Judging]
    verdicts: Verdicts | None = None
    folder = cache_folder() / "verdicts"
    if config.toolchain == "kimina":
        toolchain, server = connect(config)
        # Requests share a snippet only if they wait at the same time.
        workers = [server] * (config.workers * REQUESTS_PER_SNIPPET)
        if config.cache:
            verdicts = ServerVerdicts(folder, toolchain)
    else:
        toolchain = find_toolchain(config)
        ready = dataclasses.replace(toolchain, header=limited(toolchain.header, config.max_heartbeats))
        workers = [Worker(ready, config.timeout) for _ in range(config.workers)]
        # The id of a toolchain does not say what the modules of a project hold.
        if config.cache and not config.project:
            verdicts = Verdicts(folder, toolchain.id)
    return Prover(toolchain, workers, config.max_heartbeats, verdicts)
