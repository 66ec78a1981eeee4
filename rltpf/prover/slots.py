"""The places that model text is spliced into, and how a text could leave them.

Every function takes blanked code (see `lean_text.scan`) and returns hits as `gate` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from rltpf.prover.lean_text import numerals, words

MAX_NESTING = 200
MAX_DIGITS = 40
MAX_EXPONENT = 1_000
MAX_EXPONENT_PRODUCT = 1_000_000
# Of terms that Lean printed. They are worked out under the limits of every proof, and a process that a number is too
# large for is replaced; what is below these is never too large.
MAX_PRINTED_DIGITS = 1_000
MAX_PRINTED_EXPONENT = 10_000
MAX_TOWER = 4


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Each begins, ends or extends a command, so none has a place in a slot.
_COMMANDS = names(
    """theorem lemma def abbrev example instance structure inductive coinductive class mutual namespace section end
    open set_option attribute notation notation3 infix infixl infixr prefix postfix local scoped protected
    noncomputable nonrec deriving where termination_by decreasing_by alias irreducible_def
    initialize_simps_projections grind_pattern add_decl_doc library_note seal unseal suppress_compilation variable
    include omit universe private export compile_inductive recommended_spelling init_quot count_heartbeats assert_exists
    assert_not_exists"""
)
# `open … in` and `set_option … in` are tactics too.
_SCOPED_TACTIC = re.compile(r"\b(?:open(?: +scoped)?|set_option)(?P<names>(?: +[A-Za-z0-9_][\w.']*){1,20}?) +in\b")

_BRACKETS = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "⦃": "⦄", "⌊": "⌋", "⌈": "⌉", "⟦": "⟧", "⟪": "⟫"}
_CLOSERS = frozenset(_BRACKETS.values())
_TOKEN = re.compile(r":=|::|=>|↦|<<<|[^\W\d][\w'!?]*|[0-9]\w*|\S")
_ATOM = re.compile(r"[\w.]")
_BINDER_NAME = re.compile(r"[^\W\d][\w'!?]*")
_QUANTIFIERS = names("∀ ∃ ∑ ∏ λ Σ Π ⋃ ⋂ ⨆ ⨅ ∫ fun forall exists")
_CONSTANTS = names("Nat Int Rat Real True False Not And Or Eq Ne Iff Exists")


def command_hits(code: str, tactics: bool) -> list[str]:
    """Commands in a slot; where `tactics` are expected, `open … in` and `set_option … in` are none."""
    if tactics:
        code = _SCOPED_TACTIC.sub(r" \g<names> ", code)
    hits = [f"`{word}` belongs to a command" for word in dict.fromkeys(words(code)) if word in _COMMANDS]
    return [*hits, "`@[` belongs to a command"] if "@[" in code else hits


def nesting_hits(code: str) -> list[str]:
    """Brackets that nest so deep that Lean's parser would overflow its stack."""
    depth = deepest = 0
    for character in code:
        depth = max(0, depth + (character in _BRACKETS) - (character in _CLOSERS))
        deepest = max(deepest, depth)
    return [f"brackets nest deeper than {MAX_NESTING}"] if deepest > MAX_NESTING else []


def bracket_hits(code: str) -> list[str]:
    """Brackets without a partner: a closing one would close what stands around the slot."""
    expected: list[str] = []
    for character in code:
        if character in _BRACKETS:
            expected.append(_BRACKETS[character])
        elif character in _CLOSERS and (not expected or expected.pop() != character):
            return [f"`{character}` closes nothing"]
    return [f"`{expected[-1]}` is missing"] if expected else []


def _outside_brackets(code: str) -> Iterator[re.Match[str]]:
    depth = 0
    for token in _TOKEN.finditer(code):
        depth += token.group() in _BRACKETS
        if depth == 0:
            yield token
        depth -= token.group() in _CLOSERS


def _expression_hits(code: str, matches: bool) -> list[str]:
    """Commas, colons, arrows and `:=` outside brackets that no quantifier, `let` or allowed `match` asks for."""
    binders = lets = bodies = 0
    matching = arms = False
    before = ""
    for token in (match.group() for match in _outside_brackets(code)):
        arms, before = arms or (before in ("fun", "λ") and token == "|" and matches), token
        if token == "match" and matches:
            matching = True
        elif token == "with" and matching:
            matching, arms = False, True
        elif matching and token in (",", ":"):
            continue
        elif arms and token in (",", "=>"):
            # What follows is an arm of the `match` or `fun`, as Lean reads on until the expression ends.
            continue
        elif token in _QUANTIFIERS:
            binders += 1
        elif token in ("let", "have"):
            lets += 1
        elif token == ":=" and lets:
            lets, bodies = lets - 1, bodies + 1
        elif token == ":=":
            return ["`:=` begins a proof, which has no place here"]
        elif token == ";" and bodies:
            bodies -= 1
        elif token in (",", "=>", "↦") and binders:
            binders -= 1
        elif token in (",", "=>", "↦", ";") or (token == ":" and not binders + lets):
            return [f"`{token}` outside brackets has no place here"]
    return []


def header_hits(code: str) -> list[str]:
    """A statement ends with the header of a theorem, `theorem name (binders) : proposition`, and nothing after it."""
    starts = [match.end() for match in re.finditer(r"(?<![\w.'])(?:theorem|lemma)(?![\w'!?])", code)]
    if not starts:
        return ["the statement has no theorem"]
    header = code[starts[-1] :]
    colon = next((token for token in _outside_brackets(header) if token.group() in (":", ":=")), None)
    if colon is None or colon.group() == ":=":
        return ["the theorem has no `: proposition`"]
    return command_hits(header, tactics=False) + bracket_hits(header) + term_hits(header[colon.end() :], lets=True)


def term_hits(code: str, lets: bool = False) -> list[str]:
    """A term ends where its slot ends. Only a theorem's proposition may have `let x := …; …`, or a bare `match`."""
    if not code.strip():
        return ["the term is empty"]
    hits = _expression_hits(code, matches=lets)
    if not lets and ":=" in code:
        hits.append("`:=` has no place here")
    return hits if lets else hits + _tactic_hits(code)


def _tactic_hits(code: str) -> list[str]:
    return ["`by` runs tactics, which have no place here"] if "by" in words(code) else []


def printed_term_hits(code: str) -> list[str]:
    """As `term_hits` and `number_hits`, for terms as Lean prints them: structure instances, `let`, powers of powers."""
    hits = term_hits(code, lets=True) + _tactic_hits(code)
    # `‹Nat›` would be the answer itself where that is in scope, without its name.
    hits += ["`‹` takes whatever is in scope"] if "‹" in code else []
    literals = numerals(code)
    hits += [f"the number {literal[:20]}… is too long" for literal in literals if len(literal) > MAX_PRINTED_DIGITS]
    tokens = _TOKEN.findall(code)
    exponents = [_tower(tokens, index + 1) for index, token in enumerate(tokens) if token in ("^", "<<<")]
    if max([*exponents, *map(_exponent, literals)], default=0) > MAX_PRINTED_EXPONENT:
        hits.append(f"an exponent is above {MAX_PRINTED_EXPONENT}")
    return hits


def _tower(tokens: list[str], start: int, height: int = 1) -> int:
    """A bound of the exponent that begins at `start`, powers in it worked out: 16 for `2 ^ 4`; names count as 1."""
    operand = _operand(tokens, start)
    end = start + len(operand)
    if {"^", "<<<"} & {*operand} or height > MAX_TOWER:
        return MAX_PRINTED_EXPONENT + 1
    bound = prod(max(1, _value(token)) for token in operand if token[0] in "0123456789")
    if tokens[end : end + 1] in (["^"], ["<<<"]):
        # Two to the fourteenth is above the limit, and no larger power need be computed.
        bound = max(bound, 2) ** min(_tower(tokens, end + 1, height + 1), 14)
    return min(bound, MAX_PRINTED_EXPONENT + 1)


def telescope_hits(code: str) -> list[str]:
    """A telescope is groups `(names : type)` or `{names : type}` and nothing between them."""
    hits = ["`:=` has no place here"] if ":=" in code else []
    depth = start = 0
    for index, character in enumerate(code):
        if character in _BRACKETS:
            start = index if depth == 0 else start
            depth += 1
        elif character in _CLOSERS:
            depth -= 1
            if depth == 0:
                hits += _group_hits(code[start : index + 1])
        elif depth == 0 and not character.isspace():
            return [*hits, f"`{character}` stands between the binders"]
    return hits


def _group_hits(group: str) -> list[str]:
    bound, colon, type_ = group[1:-1].partition(":")
    if group[0] not in "({" or not colon or not bound.split() or not all(map(_BINDER_NAME.fullmatch, bound.split())):
        return [f"`{' '.join(group.split())}` is no binder `(name : type)` or `{{name : type}}`"]
    hits = [f"the binder `{name}` hides Lean's own `{name}`" for name in bound.split() if name in _CONSTANTS]
    return hits + term_hits(type_)


def number_hits(code: str) -> list[str]:
    """Numbers too large to compute with: long literals, and powers such as `9 ^ 9 ^ 9`."""
    literals = numerals(code)
    hits = [f"the number {literal[:20]}… is too long" for literal in literals if len(literal) > MAX_DIGITS]
    tokens = _TOKEN.findall(code)
    exponents = [_exponent(literal) for literal in literals]
    for index, token in enumerate(tokens):
        if token in ("^", "<<<"):
            operand = _operand(tokens, index + 1)
            end = index + 1 + len(operand)
            if {"^", "<<<"} & {*operand, *tokens[end : end + 1]}:
                hits.append("a power in an exponent is too large to compute")
            exponents.append(prod(_value(t) for t in operand if t[0] in "0123456789"))
    if any(exponent > MAX_EXPONENT for exponent in exponents):
        hits.append(f"an exponent is above {MAX_EXPONENT}")
    elif prod(max(1, exponent) for exponent in exponents) > MAX_EXPONENT_PRODUCT:
        # The product bounds powers of powers, whatever the nesting.
        hits.append("the powers together are too large to compute")
    return hits


def _operand(tokens: list[str], start: int) -> list[str]:
    """The tokens of the exponent that begins at `start`: signs, then atoms and groups side by side (`f 1000`)."""
    end = start
    while end < len(tokens) and tokens[end] in ("-", "+", "↑"):
        end += 1
    depth = 0
    while end < len(tokens) and (depth > 0 or tokens[end] in _BRACKETS or _ATOM.match(tokens[end])):
        depth += (tokens[end] in _BRACKETS) - (tokens[end] in _CLOSERS)
        end += 1
    return tokens[start:end]


def _value(numeral: str) -> int:
    """A decimal literal's value, or more than any exponent may be where it is long or not decimal."""
    digits = numeral.replace("_", "")
    return int(digits) if re.fullmatch("[0-9]{1,6}", digits) else 1_000_000


def _exponent(literal: str) -> int:
    """The decimal exponent of a literal without its sign: 3 for `2e-3`, 0 where it has none."""
    match = re.fullmatch(r"[0-9_.]+[eE][+-]?([0-9]+)", literal)
    return _value(match[1]) if match else 0
