"""The text gate: what Lean must never see from a model.

Between a model's text and a verdict stand, in this order:

1. `lean_text.extract_lean`: one code block of the reply, and what is labelled is byte for byte what is checked.
2. The gate, here and in `slots`: microseconds, text only. It is no soundness boundary for proofs.
3. `lean/Judge.lean`: only commands on a list are elaborated, and no option of a tactic that is more than a literal; the
   statement where no submission has run, then the submission, and a verdict from the environment: the name, the type,
   the constants of the statement, the axioms, and a replay through the kernel.
4. `worker` and the sandbox: a process that may loop, crash or flood without harm to the host or to another's verdict.

The gate's job is what the judge cannot see: code that runs while Lean elaborates (it could touch the host, or forge the
judge's answers), commands that change the syntax (the gate itself would misread what follows), and text that leaves the
slot it is spliced into. What only changes the meaning of a statement is left to the judge, which compares types: so
`variable`, `private`, an instance for `+` and the tactic `admit` pass. The gate looks at identifier components outside
comments and strings.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import Literal

from rltpf.prover import slots
from rltpf.prover.lean_text import Scan, blank, scan, words

Mode = Literal["file", "statement", "proof", "binders", "term", "answer"]
"""What a text is: a whole submission; definitions and a theorem header without proof; a tactic block after `:= by`; a
telescope such as `(eggs eaten : Rat) (h : eggs = 16)`; one proposition or expression; one as Lean prints it, which may
hold structure instances and larger numbers."""

MAX_BYTES = 64 * 1024
MAX_ATTRIBUTES = 4096
OPTION_LIMITS = {
    "maxHeartbeats": 1_000_000,
    "maxRecDepth": 10_000,
    "synthInstance.maxHeartbeats": 1_000_000,
    "synthInstance.maxSize": 10_000,
    "exponentiation.threshold": 4_096,
}
_SWITCH = re.compile(r"linter\.[A-Za-z.]+|(?P<implicit>autoImplicit|relaxedAutoImplicit)")


def _reasons(reason: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


# Looked for at the end of words too: with a token such as `[MOD`, Lean reads `[MODrun_cmd` as two.
_RUNS_CODE = _reasons(
    "runs code at elaboration time",
    """run_cmd run_tac run_tacq run_conv run_elab run_meta by_elab by_elabq elab elab_rules initialize
    builtin_initialize simproc simproc_decl native_decide bv_decide bv_decide? bv_check include_str include_bytes
    loadDynlib load_dynlib polyrith register_option register_builtin_option register_simp_attr register_label_attr
    register_tag_attr register_parser_alias register_tactic_tag declare_config_elab declare_command_config_elab
    declare_aesop_rule_sets add_aesop_rules compile_time_search_path show_panel_widgets with_panel_widgets
    set_library_suggestions set_premise_selector test_extern""",
) | _reasons(
    "changes Lean's syntax", "macro macro_rules syntax declare_syntax_cat declare_simp_like_tactic binder_predicate"
)

_FORBIDDEN = (
    _RUNS_CODE
    | _reasons("leaves something unproved", "sorry sorryAx mkSorry proof_wanted")
    | _reasons("assumes without proof", "axiom opaque")
    | _reasons("has no logical content", "unsafe partial implemented_by extern csimp unsafeCast lcProof lcUnreachable")
    | _reasons("trusts compiled code", "ofReduceBool ofReduceNat reduceBool reduceNat trustCompiler")
    | _reasons("switches the kernel off", "skipKernelTC")
    | _reasons("belongs to the header", "import public meta")
    | _reasons("changes the statements after it", "default_instance unif_hint")
    | _reasons("reaches the host", "IO BaseIO EIO FilePath sleep_heartbeats")
    # Programs of tactics (rules of `aesop`, preprocessors of `linarith`) can only be written with the names in these.
    | _reasons(
        "reaches Lean's own internals",
        """Elab Meta MetaM Tactic TacticM TermElabM CommandElabM CoreM Aesop Linarith Polyrith Plausible ProofWidgets Qq
        decl_name""",
    )
    | _reasons(
        "searches, so its result may change from run to run",
        """exact? exact?? apply? rw? rw?? rw_search simp? simp_all? dsimp? aesop? norm_num? grind? try? have? observe?
        observe??""",
    )
)

_AESOP_TACTIC = re.compile(r"\(\s*add\b[^()]*\btactic\b")
# `aesop (add unsafe 50% apply h)`: a rule that may lead astray, which makes no proof unsafe.
_AESOP_PHASE = re.compile(r"(\badd|\baesop) unsafe(?= [0-9]{1,3}%)")

# Attributes that a submission may use; any other could register code that a tactic runs later.
_ATTRIBUTES = slots.names(
    """simp grind ext instance reducible irreducible semireducible inline noinline always_inline specialize
    class coe macro_inline nospecialize expose match_pattern elab_as_elim induction_eliminator cases_eliminator
    inherit_doc deprecated nolint simps to_additive mk_iff norm_cast push_cast refl symm trans congr gcongr mono
    bound fun_prop aesop pp_nodot"""
)
_ATTRIBUTE_LIST = re.compile(r"(?:@|attribute\s*)\[|\(\s*attr\s*:=")

_NOTATIONS = slots.names("notation notation3 infix infixl infixr prefix postfix")
# A `-` or `/` inside a symbol makes one token of what the scan takes for a comment: `:=--5` is `:=-` and `-5`.
_NOTATION_SYMBOL = re.compile(r"""\s*(?:[A-Za-z_][\w']*|[^A-Za-z0-9_\s'"`][^A-Za-z0-9_\s'"`/-]*)\s*""")

_OPTION = re.compile(r"set_option\b\s*(\S*)\s*(\S*)")
_HASH_COMMAND = re.compile(r"#[A-Za-z_]{2,}[!?]?")
# Such as `#print axioms target`, with which many proofs end: they elaborate and print.
_PRINTING = slots.names("#check #print")
_LEAN_NAMESPACE = re.compile(r"(?<![\w'!?])Lean\b")
_CHAT_TOKEN = re.compile(r"<\|[A-Za-z_▁]+\|>|<｜[^｜>]*｜>|\[/?INST\]|</?s>|<(?:start|end)_of_turn>")
_FOREIGN_SCRIPTS = slots.names("CYRILLIC ARMENIAN FULLWIDTH CHEROKEE COPTIC")


def gate(text: str, mode: Mode) -> list[str]:
    """Why a text must not reach Lean, in short readable strings; empty when it passes.

    Not a soundness boundary for proofs: a text that passes may prove nothing, or something else (see the module).
    """
    if hits := _character_hits(text):
        return hits
    parts = scan(text)
    code = parts.code
    if hits := _invisible_hits({*code} - {"\r"}) + slots.nesting_hits(code):
        return hits
    hits = [*parts.problems, *_word_hits(parts, mode), *_option_hits(code, mode), *_confusable_hits(code)]
    if mode in ("file", "statement"):
        hits += _notation_hits(parts)
    else:
        hits += slots.command_hits(code, tactics=mode == "proof") + slots.bracket_hits(code)
        if parts.docs:
            hits.append("a documentation comment belongs to a command")
    if mode == "statement":
        hits += slots.header_hits(code)
        if not blank(text.rstrip() + " x").endswith(" x"):
            hits.append("the comment at the end swallows what follows")
    elif mode in ("binders", "term", "answer"):
        if parts.strings or re.search("--|/-", text):
            hits.append("comments and strings have no place here")
        if mode == "answer":
            hits += slots.printed_term_hits(code)
        else:
            hits += slots.telescope_hits(code) if mode == "binders" else slots.term_hits(code)
            hits += slots.number_hits(code)
    return list(dict.fromkeys(hits))


def _character_hits(text: str) -> list[str]:
    """Characters that show one text and mean another, or that cannot be sent at all."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return ["a lone surrogate cannot be sent to Lean"]
    hits = [f"{size} bytes are more than {MAX_BYTES}"] if size > MAX_BYTES else []
    # In comments and strings, other spaces are as good as any: French and Chinese prose has them.
    hits += _invisible_hits({c for c in text.replace("\r\n", "\n") if c != "\t" and unicodedata.category(c) != "Zs"})
    if token := _CHAT_TOKEN.search(text):
        hits.append(f"`{token.group()}` is a token of a chat template")
    if "```" in text:
        hits.append("a Markdown fence is no Lean")
    return hits


def _invisible_hits(characters: set[str]) -> list[str]:
    # Lean's lexer stops at tabs and lone carriage returns, and `str.splitlines` breaks lines where Lean does not.
    hidden = [c for c in sorted(characters - {"\n", " "}) if unicodedata.category(c)[0] in "CZ"]
    return [f"the character U+{ord(c):04X} is invisible or a control character" for c in hidden]


def _word_hits(parts: Scan, mode: Mode) -> list[str]:
    """Forbidden words, commands with `#`, attributes, quotations."""
    hits = []
    for word in dict.fromkeys(words(_AESOP_PHASE.sub(r"\1", parts.code))):
        if word in _FORBIDDEN:
            hits.append(f"`{word}` {_FORBIDDEN[word]}")
        elif "unsafe" in word.lower():
            # Tactics evaluate their options: `simp (maxSteps := … unsafeIO …)` would run IO.
            hits.append(f"`{word}` has no logical content")
        elif word.startswith("dbg"):
            # `dbgSleep` and its kin act on the host as pure functions, so in such an option too.
            hits.append(f"`{word}` reaches the host")
        elif word.endswith(tuple(_RUNS_CODE)):
            hits.append(f"`{word}` ends in a keyword that runs code or changes the syntax")
    commands = dict.fromkeys(_HASH_COMMAND.findall(parts.code))
    hits += [f"`{c}` is a command" for c in commands if mode != "file" or c not in _PRINTING]
    hits += _attribute_hits(parts.code)
    if "eval%" in parts.code:
        hits.append("`eval%` runs code at elaboration time")
    if _AESOP_TACTIC.search(parts.code):
        hits.append("an `aesop` rule that is a tactic runs code at elaboration time")
    if _LEAN_NAMESPACE.search(parts.code):
        hits.append("`Lean` reaches Lean's own internals")
    # French quotes hide the signs of comments: in `«a /-» …` the scan sees a comment where Lean reads on.
    hits += [f"`{sign}` hides names or builds syntax" for sign in "«»`" if sign in parts.code]
    return hits


def _attribute_hits(text: str) -> list[str]:
    """Attributes that are not allowed, those too that another one passes on: `to_additive (attr := …)`."""
    hits = []
    for opening in _ATTRIBUTE_LIST.finditer(text):
        for attribute in _split(text, opening.end()):
            words_ = re.findall(r"[^\s↓↑←→=]+", re.sub(r"^\s*(?:local\b|scoped\b|-)", "", attribute))
            if not words_ or words_[0] not in _ATTRIBUTES:
                hits.append(f"the attribute `{attribute.strip()}` is not among those allowed")
            elif words_[0] == "aesop" and "tactic" in words_:
                hits.append("an `aesop` rule that is a tactic runs code at elaboration time")
    return hits


def _split(text: str, start: int) -> list[str]:
    """The parts between commas from `start` to the bracket that closes there; commas within brackets part nothing."""
    depth, parts = 0, [start]
    # A list without end, of which a text may hold thousands, is not read to the end of the text.
    for index in range(start, min(len(text), start + MAX_ATTRIBUTES)):
        character = text[index]
        depth += (character in "([{⟨") - (character in ")]}⟩")
        if depth < 0 or (depth == 0 and character == ","):
            parts.append(index + 1)
            if depth < 0:
                break
    else:
        parts.append(min(len(text), start + MAX_ATTRIBUTES) + 1)
    return [text[first : after - 1] for first, after in pairwise(parts)]


def _option_hits(code: str, mode: Mode) -> list[str]:
    hits = []
    for name, value in _OPTION.findall(code):
        limit, switch = OPTION_LIMITS.get(name), _SWITCH.fullmatch(name)
        # In a statement, an unknown name that becomes a variable makes another statement of it.
        if limit is None and (switch is None or (switch["implicit"] and mode != "file")):
            hits.append(f"the option `{name}` is not among those allowed")
        elif limit is None and value not in ("true", "false"):
            hits.append(f"the option `{name}` must be true or false")
        elif limit is not None and (not re.fullmatch("[0-9]{1,9}", value) or not 1 <= int(value) <= limit):
            hits.append(f"the option `{name}` must be between 1 and {limit}")
    return hits


def _confusable_hits(code: str) -> list[str]:
    """Names with letters that look like others: a Greek capital Nu makes `Νat` a new name."""
    hits = []
    for word in dict.fromkeys(word for word in re.findall(r"\w+", code) if not word.isascii()):
        scripts = {unicodedata.name(character, "").split(" ")[0] for character in word}
        if scripts & _FOREIGN_SCRIPTS or re.search("[ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο]", word):
            hits.append(f"`{word}` holds letters that look like Latin ones")
    return hits


def _notation_hits(parts: Scan) -> list[str]:
    """Symbols of letters and signs, as Lean would read `§xrun_cmd` as `§x` and `run_cmd`; and those like comments."""
    if not _NOTATIONS & set(words(parts.code)):
        return []
    mixed = [symbol for symbol in parts.strings if not _NOTATION_SYMBOL.fullmatch(symbol)]
    return [f"the notation symbol `{symbol}` mixes letters and signs, or is like a comment" for symbol in mixed]
