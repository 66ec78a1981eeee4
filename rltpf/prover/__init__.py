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
    from rltpf.prover.prover import Prover
    from rltpf.prover.toolchains import find_toolchain

    return Prover(find_toolchain(config), config.workers, config.timeout, config.max_heartbeats)
