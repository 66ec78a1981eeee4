"""The Lean text that makes a server's Lean run our judge, and what is read from its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rltpf.prover.answer import Answer, WorkerError, answer_to, parsed

Request = tuple[str, Mapping[str, object]]
"""A command of the judge's protocol, and its arguments."""

# The judge limits every declaration itself, hence no limit around it. `served` is evaluated by its name: this command
# is compiled before there is a judge.
JUDGE = """set_option maxHeartbeats 0 in
#eval show Lean.Elab.Command.CommandElabM Unit from do
  let text := %s
  let input : Lean.Parser.InputContext :=
    { inputString := text, fileName := "Judge.lean", fileMap := Lean.FileMap.ofString text,
      endPos := text.rawEndPos, endPos_valid := by simp }
  let (_, parser, messages) ← Lean.Parser.parseHeader input
  let judge ← Lean.Elab.IO.processCommands input parser (Lean.Elab.Command.mkState (← get).env messages {})
  match Lean.mkAttributeImplOfConstant judge.commandState.env {} `served with
    | .error _ => modify fun s => { s with messages := judge.commandState.messages }
    | .ok served =>
      let core ← IO.mkRef { env := (← get).env : Lean.Core.State }
      (served.erase (.mkSimple %s) { fileName := "", fileMap := input.fileMap } core : EIO Lean.Exception Unit)
      let after ← core.get
      modify fun s => { s with messages := after.messages }
"""
# The digest is of all that the imports declare, but of proofs: servers whose libraries differ have different ones.
# Plain recursion, for the reason that is given in the judge.
VERSION = """#eval show Lean.Elab.Command.CommandElabM Unit from do
  let rec digestOf (constants : Array Lean.ConstantInfo) : Nat → UInt64 → UInt64
    | 0, digest => digest
    | i + 1, digest => digestOf constants i <| match constants[i]? with
      | some c =>
        let value := match c with | .defnInfo v => v.value | _ => c.type
        mixHash digest (mixHash (hash c.name) (mixHash (hash c.type) (hash value)))
      | none => digest
  let rec digestOfAll (modules : Array Lean.ModuleData) : Nat → UInt64 → UInt64
    | 0, digest => digest
    | i + 1, digest => digestOfAll modules i <| match modules[i]? with
      | some m => digestOf m.constants m.constants.size digest
      | none => digest
  let modules := (← get).env.header.moduleData
  IO.println s!"%s {Lean.versionString} {modules.size} {digestOfAll modules modules.size 0}"
"""
_IMPORT = re.compile(r"import [\w.]+")
# Whatever some program takes for the end of a line, and what a literal cannot hold.
_ESCAPED = re.compile('[\x00-\x1f\x7f\x85\u2028\u2029"\\\\]')


def imports_of(header: str) -> tuple[str, ...]:
    """The import lines for a header: its own, of which the server makes its imports, and the one the judge needs.

    What the header imports in another way is missing in Lean, and refused there.
    """
    imports = ["import Lean"]
    for line in map(str.strip, header.splitlines()):
        if _IMPORT.fullmatch(line) and line not in imports:
            imports.append(line)
        elif line and line not in imports:
            break
    return tuple(imports)


def literal(text: str) -> str:
    """A string literal of Lean, of one line however the server splits lines."""
    return '"' + _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + '"'


def judge_snippet(
    imports: Sequence[str],
    judge: str,
    requests: Sequence[Request],
    token: str,
    nonces: Sequence[str],
    milliseconds: int,
) -> str:
    """The text that asks the judge, a Lean text, all requests; its answer repeats `token` and the nonces.

    After so many milliseconds no further request is begun, nor answered.
    """
    batch = [{"nonce": nonce, command: args} for nonce, (command, args) in zip(nonces, requests, strict=True)]
    block = json.dumps({"nonce": token, "batch": batch, "milliseconds": milliseconds})
    return "\n".join([*imports, JUDGE % (literal(judge), literal(block))])


def version_snippet(imports: Sequence[str], token: str) -> str:
    """The text that asks for the version of Lean and what is imported; its answer begins with `token`."""
    return "\n".join([*imports, VERSION % token])


def told(reply: Any, identity: str, token: str) -> str:
    """The text of the one message of the snippet that repeats the token; raises `WorkerError` where there is none.

    A message elsewhere is a linter's at best, but an error means that not all of the snippet was understood.
    """
    try:
        (result,) = reply["results"]
        if result["id"] != identity:
            raise ValueError("the result of another snippet")
        if error := result.get("error"):
            # Not the header's: time for the imports is the server's own affair, and says nothing about a submission.
            timed_out = error.startswith("Lean REPL command timed out")
            raise WorkerError("timeout" if timed_out else "crash", f"the server's Lean: {error[:200]}")
        messages = result["response"].get("messages") or []
        found = [message for message in messages if token in message["data"]]
        errors = [message["data"] for message in messages if message["severity"] == "error"]
        if errors or len(found) != 1 or found[0]["severity"] != "info":
            said = errors[0][:200] if errors else json.dumps(result)[:200]
            raise WorkerError("protocol", f"the snippet was not answered by the judge alone: {said}")
        return str(found[0]["data"])
    except (AttributeError, KeyError, TypeError, ValueError):
        raise WorkerError("protocol", f"unexpected reply {json.dumps(reply)[:200]}") from None


def answers(text: str, token: str, nonces: Sequence[str]) -> list[Answer | WorkerError]:
    """What the judge's text says to the requests that it began, which are the first ones; raises `WorkerError` where
    that is not plain."""
    reply = parsed(text.encode(errors="replace"))
    replies = reply.get("replies") if type(reply) is dict and reply.get("nonce") == token else None
    if type(replies) is not list or not 0 < len(replies) <= len(nonces):
        raise WorkerError("protocol", f"the reply does not repeat its number and the requests: {text[:200]}")
    return [_answer(reply, nonce) for reply, nonce in zip(replies, nonces, strict=False)]


def _answer(reply: Any, nonce: str) -> Answer | WorkerError:
    try:
        return answer_to(nonce, reply)
    except WorkerError as error:
        return error
