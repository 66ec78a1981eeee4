"""The prover: Lean as a judge of what models write."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rltpf.prover.prover import Prover
    from rltpf.prover.settings import ProverConfig


def build_prover(config: ProverConfig, second_judge: bool = False) -> Prover:
    """The prover that the config asks for; raises `InputError` where its toolchain is missing.

    Lean itself starts at the first request, but a server is tried out now. With `second_judge` it verifies only what
    the second judge confirms, and keeps no verdicts.
    """
    import dataclasses

    from rltpf.cache import cache_folder
    from rltpf.errors import InputError
    from rltpf.prover.answer import Judging
    from rltpf.prover.kimina import REQUESTS_PER_SNIPPET, ServerVerdicts, connect
    from rltpf.prover.prover import Prover, limited
    from rltpf.prover.second_judge import SecondJudge
    from rltpf.prover.toolchains import find_toolchain
    from rltpf.prover.verdicts import Verdicts
    from rltpf.prover.worker import Worker

    workers: list[Judging]
    verdicts: Verdicts | None = None
    folder = cache_folder() / "verdicts"
    if config.toolchain == "kimina":
        if second_judge:
            raise InputError("--second_judge needs processes of its own: pass --toolchain native or embedded")
        toolchain, server = connect(config)
        # Requests share a snippet only if they wait at the same time.
        workers = [server] * (config.workers * REQUESTS_PER_SNIPPET)
        if config.cache:
            verdicts = ServerVerdicts(folder, toolchain)
    else:
        toolchain = find_toolchain(config)
        ready = dataclasses.replace(toolchain, header=limited(toolchain.header, config.max_heartbeats))
        own = [Worker(ready, config.timeout) for _ in range(config.workers)]
        workers = [SecondJudge(worker, ready, config.timeout) if second_judge else worker for worker in own]
        # The id of a toolchain does not say what the modules of a project hold.
        if config.cache and not config.project and not second_judge:
            verdicts = Verdicts(folder, toolchain.id)
    return Prover(toolchain, workers, config.max_heartbeats, verdicts)
