"""The text gate: what Lean must never see from a model.

The gate is not a soundness boundary for proofs; the judge is, which compares types and axioms and replays constants.
The gate's job is what the judge cannot see: code that runs while Lean elaborates (it could touch the host or forge the
judge's answers), commands that change the syntax, and text that leaves the slot it is spliced into. It looks at
identifier components outside comments and strings.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from rltpf.prover import slots
from rltpf.prover.lean_text import Scan, blank, scan, words

Mode = Literal["file", "statement", "proof", "binders", "term"]
"""What a text is: a whole submission; definitions and a theorem header without proof; a tactic block after `:= by`; a
telescope such as `(eggs eaten : Rat) (h : eggs = 16)`; one proposition or expression."""

MAX_BYTES = 64 * 1024
OPTION_LIMITS = {"maxHeartbeats": 1_000_000, "maxRecDepth": 10_000}


def _reasons(reason: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


# Looked for at the end of words and in documentation comments too: after a syntax error Lean may resume within either.
_RUNS_CODE = _reasons(
    "runs code at elaboration time",
    """run_cmd run_tac run_elab run_meta by_elab elab elab_rules initialize builtin_initialize simproc simproc_decl
    native_decide bv_decide bv_check include_str include_bytes loadDynlib load_dynlib polyrith register_option
    register_builtin_option register_simp_attr register_label_attr register_tag_attr register_parser_alias
    register_tactic_tag declare_config_elab declare_command_config_elab declare_aesop_rule_sets add_aesop_rules
    compile_time_search_path show_panel_widgets with_panel_widgets""",
) | _reasons(
    "changes Lean's syntax", "macro macro_rules syntax declare_syntax_cat declare_simp_like_tactic binder_predicate"
)

_FORBIDDEN = (
    _RUNS_CODE
    | _reasons("leaves something unproved", "sorry sorryAx mkSorry admit stop proof_wanted")
    | _reasons("assumes without proof", "axiom constant opaque")
    | _reasons(
        "has no logical content", "unsafe partial implemented_by extern csimp export unsafeCast lcProof lcUnreachable"
    )
    | _reasons("trusts compiled code", "native ofReduceBool ofReduceNat reduceBool reduceNat trustCompiler")
    | _reasons("switches the kernel off", "skipKernelTC")
    | _reasons("belongs to the header", "import prelude module public meta")
    | _reasons("hides names from the judge", "private")
    | _reasons("changes the statements after it", "variable include omit universe default_instance unif_hint")
    | _reasons("reaches the host", "IO BaseIO EIO FilePath dbg_trace dbgTrace sleep_heartbeats")
    | _reasons("reaches Lean's own internals", "Elab MetaM TacticM TermElabM CommandElabM CoreM decl_name")
    | _reasons(
        "searches, so its result may change from run to run",
        """exact? exact?? apply? rw? rw?? rw_search simp? simp_all? dsimp? aesop? norm_num? grind? try? have? observe?
        observe?? says hint show_term extract_goal propose plausible slim_check""",
    )
)

# Attributes that a submission may use; any other could register code that a tactic runs later.
_ATTRIBUTES = slots.names(
    """simp grind ext instance reducible irreducible semireducible inline noinline specialize class coe match_pattern
    elab_as_elim induction_eliminator cases_eliminator inherit_doc deprecated nolint simps to_additive mk_iff
    norm_cast push_cast refl symm trans congr gcongr mono bound fun_prop aesop pp_nodot"""
)
_ATTRIBUTE_LIST = re.compile(r"(?:@|attribute\s*)\[([^\]]*)")

_NOTATIONS = slots.names("notation notation3 infix infixl infixr prefix postfix")
_NOTATION_SYMBOL = re.compile(r"""\s*(?:[A-Za-z_][\w']*|[^\w\s'"`]+)\s*""")

_OPTION = re.compile(r"set_option\b\s*(\S*)\s*(\S*)")
_HASH_COMMAND = re.compile(r"#[A-Za-z_]{2,}[!?]?")
_LEAN_NAMESPACE = re.compile(r"(?<![\w'!?])Lean\b(?!\.Grind\b)")
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
    if hits := slots.nesting_hits(code):
        return hits
    hits = [*parts.problems, *_word_hits(parts), *_option_hits(code), *_confusable_hits(code)]
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
    elif mode in ("binders", "term"):
        if parts.strings or re.search("--|/-", text):
            hits.append("comments and strings have no place here")
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
    # Lean's lexer stops at tabs and lone carriage returns, and `str.splitlines` breaks lines where Lean does not.
    for character in sorted(set(text.replace("\r\n", "\n")) - {"\n", " "}):
        if unicodedata.category(character)[0] in "CZ":
            hits.append(f"the character U+{ord(character):04X} is invisible or a control character")
    if token := _CHAT_TOKEN.search(text):
        hits.append(f"`{token.group()}` is a token of a chat template")
    if "```" in text:
        hits.append("a Markdown fence is no Lean")
    return hits


def _word_hits(parts: Scan) -> list[str]:
    """Forbidden words, commands with `#`, attributes, quotations."""
    hits = []
    for word in dict.fromkeys(words(parts.code)):
        if word in _FORBIDDEN:
            hits.append(f"`{word}` {_FORBIDDEN[word]}")
        elif "unsafe" in word.lower():
            # Tactics evaluate their options: `simp (maxSteps := … unsafeIO …)` would run IO.
            hits.append(f"`{word}` has no logical content")
        elif word.endswith(tuple(_RUNS_CODE)):
            hits.append(f"`{word}` ends in a keyword that runs code or changes the syntax")
    for word in dict.fromkeys(word for doc in parts.docs for word in words(doc)):
        if word.endswith(tuple(_RUNS_CODE)):
            hits.append(f"`{word}` in a documentation comment becomes a command after a syntax error")
    for text in (parts.code, *parts.docs):
        hits += [f"`{command}` is a command" for command in _HASH_COMMAND.findall(text)]
        hits += _attribute_hits(text)
    if "eval%" in parts.code:
        hits.append("`eval%` runs code at elaboration time")
    if _LEAN_NAMESPACE.search(parts.code):
        hits.append("`Lean` reaches Lean's own internals")
    hits += [f"`{sign}` hides names or builds syntax" for sign in "«»`" if sign in parts.code]
    return hits


def _attribute_hits(text: str) -> list[str]:
    hits = []
    for attributes in _ATTRIBUTE_LIST.findall(text):
        for attribute in re.sub(r"\([^()]*\)", "", attributes).split(","):
            words_ = re.sub(r"^\s*(?:local\b|scoped\b|-)", "", attribute).split()
            if not words_ or words_[0] not in _ATTRIBUTES:
                hits.append(f"the attribute `{attribute.strip()}` is not among those allowed")
    return hits


def _option_hits(code: str) -> list[str]:
    hits = []
    for name, value in _OPTION.findall(code):
        limit = OPTION_LIMITS.get(name)
        if limit is None:
            hits.append(f"the option `{name}` is not among those allowed")
        elif not re.fullmatch("[0-9]{1,9}", value) or not 1 <= int(value) <= limit:
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
    """Symbols of letters and signs: with a symbol `§x`, Lean would read `§xrun_cmd` as `§x` and `run_cmd`."""
    if not _NOTATIONS & set(words(parts.code)):
        return []
    mixed = [symbol for symbol in parts.strings if not _NOTATION_SYMBOL.fullmatch(symbol)]
    return [f"the notation symbol `{symbol}` mixes letters and signs" for symbol in mixed]
