"""Stand-ins for what the tests of this package do not hang on."""

from eval.equivalence import MathVerifier


class Never(MathVerifier):
    """A verifier that finds nothing equal and starts no process."""

    def same(self, gold: str, answer: str) -> bool | None:
        return False
