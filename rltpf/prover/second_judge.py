"""A second judge, for data that is released: a proof has to pass in a process that no model's text reaches.

The first judge reads the environment in which the submission was elaborated, and replays it through a kernel in the
same process. A submission that got past the gate and took the process over could lie to it. Here one process elaborates
the statement alone and another one the submission; each writes down, as text, the constants that it added to the
header. A third process elaborates nothing but the header: it reads both texts, has its kernel check every constant of
the submission, compares them with the statement's, and looks at the axioms (`export` and `replay` of
`lean/Judge.lean`).

It does not see a fault of the kernel, which is the same one; it trusts the header; and that a statement could take over
the process that reads statements, the gate alone prevents.
"""

from __future__ import annotations

from collections.abc import Mapping

from rltpf.prover.answer import Answer, Judging, WorkerError
from rltpf.prover.toolchains import Toolchain
from rltpf.prover.worker import Worker


class SecondJudge:
    """A worker whose word that a submission is a proof is taken only where the second judge agrees.

    It starts two processes more. One thread at a time may use it.
    """

    def __init__(self, first: Judging, toolchain: Toolchain, timeout: float) -> None:
        self._first = first
        self._stating = Worker(toolchain, timeout)
        self._replaying = Worker(toolchain, timeout)

    def ask(self, command: str, arguments: Mapping[str, object]) -> Answer:
        """The first judge's answer; a proof that the second does not confirm is refused (`second_judge`)."""
        answer = self._first.ask(command, arguments)
        if command != "check" or not answer.ok:
            return answer
        header, statement = arguments["header"], arguments["statement"]
        stated = self._stating.ask("export", {"header": header, "statement": statement})
        proved = self._first.ask("export", arguments)
        answers = [answer, stated, proved]
        if stated.ok and proved.ok:
            texts = {"statement": _text(stated), "submission": _text(proved)}
            answers.append(self._replaying.ask("replay", {"header": header, **texts}))
        milliseconds = 1000 * sum(each.seconds for each in answers)
        objection = next((each for each in answers if not each.ok), None)
        if objection is None:
            return Answer(answer.to_json() | {"milliseconds": milliseconds})
        refusal = {"ok": False, "reason": "second_judge", "detail": f"{objection.reason}: {objection.detail}"}
        return Answer(answer.to_json() | refusal | {"milliseconds": milliseconds})

    def close(self) -> None:
        """End the processes, also from another thread while one answers."""
        for worker in (self._first, self._stating, self._replaying):
            worker.close()


def _text(answer: Answer) -> str:
    text = answer.facts.get("text")
    if not isinstance(text, str):
        raise WorkerError("protocol", "an export without its text")
    return text
