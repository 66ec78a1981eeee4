"""`--dry_run`: the resolved config and the first prompt of each role, before anything is spent."""

from __future__ import annotations

from eval.rewrite.pipeline import load_source
from eval.rewrite.prompting import build_prompts, home_of
from eval.rewrite.sampling import strata
from eval.rewrite.settings import RewriteConfig
from rltpf.config import dump
from rltpf.prover.cascade import library_of
from rltpf.prover.toolchains import header_of

_ROLES = {
    "rewriter": "rewrite",
    "screener": "screen",
    "formaliser": "formalise",
    "checker": "check",
    "prover": "prove",
    "extractor": "extract",
    "classifier": "classify",
}


def show(config: RewriteConfig) -> int:
    """Print what a rewriting would start with; the exit code."""
    problems = load_source(config)
    first = next(iter(strata(problems, config.level_column, config.seed).values()))[0]
    prompts = build_prompts(home_of(config), config.prompts, library_of(header_of(config.prover)))
    print(dump(config))
    for role, name in (_ROLES if config.method == "repro" else {"rewriter": config.method}).items():
        known = {"question": first.question if role == "rewriter" else "<the rewritten question>"}
        for message in prompts.sketch(name, **({} if name == "prove" else known)):
            print(f"--- {role}: {name}, version {prompts.versions[name]} ({message.role})\n{message.content}\n")
    return 0
