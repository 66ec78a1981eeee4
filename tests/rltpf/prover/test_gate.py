"""The text gate: every kind of attack is named, and honest Lean passes."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltpf.prover.gate import Mode, gate
from rltpf.prover.lean_text import blank

T = "theorem target : 2 + 2 = 4 := by decide\n"
CODE = "runs code at elaboration time"
SEARCH = "searches, so its result may change from run to run"
ELABORATORS = "run_cmd run_elab run_meta elab elab_rules initialize builtin_initialize simproc"

ATTACKS = [
    # unproved
    ("theorem target : 1 = 2 := by\n  first | decide | sorry", "`sorry` leaves something unproved"),
    ("theorem target : 1 = 2 := sorryAx _ false", "`sorryAx` leaves something unproved"),
    ("theorem target : 1 = 2 := αsorry", "`sorry` leaves something unproved"),
    ("theorem target : 1 = 1 := by exact?", f"`exact?` {SEARCH}"),
    ("theorem target : 1 = 1 := by apply?", f"`apply?` {SEARCH}"),
    # axioms and logic
    ("axiom cheat : False", "`axiom` assumes without proof"),
    ("opaque hide : Nat", "`opaque` assumes without proof"),
    ("unsafe def target : 1 = 2 := target", "`unsafe` has no logical content"),
    ("partial def f : Nat := f", "`partial` has no logical content"),
    ("@[implemented_by bad] def f := 1", "`implemented_by` has no logical content"),
    ('@[extern "c"] def f := 1', "`extern` has no logical content"),
    ("@[csimp] theorem f : @a = @b := rfl", "`csimp` has no logical content"),
    ("@[export x] def f := 1", "the attribute `export x` is not among those allowed"),
    ("def f : Nat := unsafeCast (-1 : Int)", "`unsafeCast` has no logical content"),
    (
        T.replace("decide", "simp (maxSteps := cond (unsafeIO (.sleep 9)).isOk 1 2)"),
        "`unsafeIO` has no logical content",
    ),
    ("def x := TypeName.unsafeMk", "`unsafeMk` has no logical content"),
    # native evaluation
    ("theorem target : 1 = 1 := by native_decide", f"`native_decide` {CODE}"),
    ("theorem target : 1 = 1 := by bv_decide", f"`bv_decide` {CODE}"),
    ("example := Lean.ofReduceBool a b rfl", "`ofReduceBool` trusts compiled code"),
    # options
    ("set_option debug.skipKernelTC true in\n" + T, "the option `debug.skipKernelTC` is not among those allowed"),
    ("set_option warn.sorry false in\n" + T, "the option `warn.sorry` is not among those allowed"),
    ("set_option pp.all true\n" + T, "the option `pp.all` is not among those allowed"),
    ("set_option maxHeartbeats 0 in\n" + T, "the option `maxHeartbeats` must be between 1 and 1000000"),
    ("set_option maxHeartbeats 1000001 in\n" + T, "the option `maxHeartbeats` must be between 1 and 1000000"),
    ("set_option maxRecDepth 10001 in\n" + T, "the option `maxRecDepth` must be between 1 and 10000"),
    ("set_option maxRecDepth -- 5\n 99999 in\n" + T, "the option `maxRecDepth` must be between 1 and 10000"),
    # code and syntax
    *[(f"{word} x\n{T}", f"`{word}` {CODE}") for word in ELABORATORS.split()],
    (T.replace("decide", "run_tac x"), f"`run_tac` {CODE}"),
    ("theorem target : 1 = 1 := by_elab x", f"`by_elab` {CODE}"),
    ('def s := include_str "/etc/passwd"', f"`include_str` {CODE}"),
    ("def s := eval% 1 + 1", f"`eval%` {CODE}"),
    ('macro "x" : term => 1', "`macro` changes Lean's syntax"),
    ("local macro_rules | x => y", "`macro_rules` changes Lean's syntax"),
    ('syntax "x" : term', "`syntax` changes Lean's syntax"),
    ("declare_syntax_cat x", "`declare_syntax_cat` changes Lean's syntax"),
    ("def x := `(1 + 1)", "``` ` ``` hides names or builds syntax".replace("``` ` ```", "```")),
    ("@[command_elab foo] def f := x", "the attribute `command_elab foo` is not among those allowed"),
    ("@[simp, tactic foo] def f := x", "the attribute `tactic foo` is not among those allowed"),
    ("attribute [local simp, init] f", "the attribute `init` is not among those allowed"),
    ("@[app_unexpander Foo] def f := x", "the attribute `app_unexpander Foo` is not among those allowed"),
    # commands
    *[
        (f"{command} x\n{T}", f"`{command}` is a command")
        for command in ["#eval", "#eval!", "#reduce", "#guard_msgs", "#exit", "#loogle", "#synth", "#check_failure"]
    ],
    # the header and what changes later statements
    *[(f"{word} X\n{T}", f"`{word}` belongs to the header") for word in ["import", "public", "meta"]],
    ("@[default_instance] instance : Foo Unit := x", "`default_instance` changes the statements after it"),
    # programs in the options of tactics
    (T.replace("decide", "decide +«native»"), "`«` hides names or builds syntax"),
    (T.replace("decide", "bv_decide?"), f"`bv_decide?` {CODE}"),
    (T.replace("decide", "conv => run_conv x"), f"`run_conv` {CODE}"),
    (T.replace("decide", "aesop (add safe tactic steps)"), f"an `aesop` rule that is a tactic {CODE}"),
    ("namespace Lean.Grind\n" + T, "`Lean` reaches Lean's own internals"),
    ("@[aesop safe tactic] def f := x", f"an `aesop` rule that is a tactic {CODE}"),
    ("@[to_additive (attr := init)] theorem x : 1 = 1 := rfl", "the attribute `init` is not among those allowed"),
    ("@[simp, «init»] def f := x", "the attribute `«init»` is not among those allowed"),
    (T.replace("decide", "simp (maxSteps := dbgSleep 9 fun _ => 1)"), "`dbgSleep` reaches the host"),
    # the host
    ("def x : IO Unit := pure ()", "`IO` reaches the host"),
    ("def x := IO.sleep 5", "`IO` reaches the host"),
    ("def x := dbgTrace s f", "`dbgTrace` reaches the host"),
    ('def x := Lean.loadDynlib "/x.so"', f"`loadDynlib` {CODE}"),
    ("open Lean in\n" + T, "`Lean` reaches Lean's own internals"),
    ("def x := Lean.mkConst y", "`Lean` reaches Lean's own internals"),
    # what only looks like text
    ('def x := s!"a {run_cmd y} b"', f"`run_cmd` {CODE}"),
    (T.replace("decide", "rw [<--(by run_tac x)]"), "a comment right after `<` is ambiguous"),
    ("theorem x : a ≡ b [MODrun_cmd foo", "`MODrun_cmd` ends in a keyword that runs code or changes the syntax"),
    ('local notation "§x" => 1\n' + T, "the notation symbol `§x` mixes letters and signs, or is like a comment"),
    *[
        (
            f'notation "{symbol}" x:65 => x\n' + T,
            f"the notation symbol `{symbol}` mixes letters and signs, or is like a comment",
        )
        for symbol in (":=-", "=>-", "=>/", "⟩-", ",-", "π-", ";-")
    ],
    ('local notation ")--" => 1\n' + T, "the notation symbol `)--` mixes letters and signs, or is like a comment"),
    # characters
    ("/- \u202e 5 -/ " + T, "the character U+202E is invisible or a control character"),
    ("theorem\u200b target : True := trivial", "the character U+200B is invisible or a control character"),
    ("theorem\ttarget : True := trivial", "the character U+0009 is invisible or a control character"),
    ("theorem\xa0target : True := trivial", "the character U+00A0 is invisible or a control character"),
    ("theorem target : True :=\u3000trivial", "the character U+3000 is invisible or a control character"),
    ("-- x\u200b\n" + T, "the character U+200B is invisible or a control character"),
    ("-- x\rrun_cmd y", "the character U+000D is invisible or a control character"),
    ("-- x\x00", "the character U+0000 is invisible or a control character"),
    ("-- x\u2028run_cmd", "the character U+2028 is invisible or a control character"),
    (T + "-- \ud800", "a lone surrogate cannot be sent to Lean"),
    (T + "<|im_end|>", "`<|im_end|>` is a token of a chat template"),
    ("<｜Assistant｜>" + T, "`<｜Assistant｜>` is a token of a chat template"),
    ("```lean\n" + T + "```", "a Markdown fence is no Lean"),
    ("theorem target : 2 = 2 := «a -- b» rfl", "`«` hides names or builds syntax"),
    ("def «a /-» : Nat := 5 #eval 5 -- -/ b»\n" + T, "`«` hides names or builds syntax"),
    ('def s := s!"{1 /-}" -/} " #eval 5 -- "\n' + T, "a string with `{` may end within code"),
    ("theorem target : 2 = 2 := «a--b»", "`«` hides names or builds syntax"),
    ("theorem target : 2 = 2 := Foo.«sorryAx»", "`sorryAx` leaves something unproved"),
    ("theorem target : 2 = 2 := «Lean».x", "`Lean` reaches Lean's own internals"),
    ("def \u039dat := 5", "`\u039dat` holds letters that look like Latin ones"),
    ("def N\u0430t := 5", "`N\u0430t` holds letters that look like Latin ones"),
    # size
    ("theorem target : 1 = 1 := " + "(" * 201 + ")" * 201, "brackets nest deeper than 200"),
    ("-" * 65537, "65537 bytes are more than 65536"),
]


@pytest.mark.parametrize(("text", "hit"), ATTACKS, ids=[repr(text[:30]) for text, _ in ATTACKS])
def test_attacks_on_files(text: str, hit: str) -> None:
    assert hit in gate(text, "file")


HONEST = [
    T,
    T.replace("\n", "\r\n"),
    "theorem no_sorry_here : 1 = 1 := rfl\n" + T,
    "theorem target (io h_import stopped axioms : Nat) (h : io = 1) : io = 1 := h",
    'local notation "two" => (2 : Nat)\ntheorem aux : two + two = 4 := rfl\n' + T,
    'local infixl:65 " ⊕ " => Nat.add\n' + T,
    "namespace Work\ntheorem aux : 2 + 2 = 4 := by decide\ntheorem _root_.target : 2 + 2 = 4 := aux\nend Work\n",
    "/-- Twice `n`, as in sorry; the variable stops. -/\ndef double (n : Nat) : Nat := n + n\n" + T,
    '/-- The "sum" of both -- as `Nat.add` has it. -/\ndef sum := Nat.add\n' + T,
    "private theorem aux : 1 = 1 := rfl\n" + T + "#print axioms target\n#check target\n",
    "universe u\nvariable {α : Type u} (x : α)\ninclude x in\ntheorem aux : x = x := rfl\nomit x in\n" + T,
    "theorem aux (start stop hint constant : Nat) (h : stop = hint) : hint = stop := by\n  exact h.symm\n" + T,
    'local infix:50 " ≡₇ " => fun a b : Nat => a % 7 = b % 7\nlocal notation "φ" => (2 : Nat)\n' + T,
    'def greet (name : String) : String := s!"Hello, {name}!"\n' + T,
    "def word : Char × String := ('a', \"a\")\n" + T,
    "/-- We initialize the syntax of a macro; 5' 3\" tall. -/\ndef x := 1\n" + T,
    "structure Task where\n  length : Nat\n" + T,
    T.replace("decide", "\n  rw [h, h'] -- use h, then h'\n  exact (f h')-- done"),
    "structure Job where\n  start : Nat\n  native : Bool\n  says : Nat\n" + T,
    "set_option linter.unusedVariables false in\nset_option autoImplicit true in\n" + T,
    "@[simp↓, grind =] theorem aux : 1 = 1 := rfl\n" + T,
    T.replace("decide", "aesop (rule_sets := [Sets, -default]) (add norm h)"),
    "@[aesop unsafe 20% apply] theorem aux : 1 = 1 := rfl\n" + T.replace("decide", "aesop (add unsafe 50% apply aux)"),
    T.replace("decide", "exact foo (splits := n) (config := g x)"),
    "def transform := 1\n" + T,
    T.replace("decide", "exact (-- why\n    ⟨{ x :-- one\n  1 }, [/- two -/ f]⟩) <;>-- both\n    · -- here\n    rfl"),
    T.replace("decide", "--done\n  decide").replace(":= by", ":=-- why\n  by"),
    T.replace("decide", "exact (fun x =>-- why\n  x) h"),
    "/- run_cmd #eval sorry axiom IO /- nested -/ -/\n" + T + "-- import Lean\n",
    'def s := "sorry #eval run_cmd"\n' + T,
    "set_option maxHeartbeats 400000 in\nset_option maxRecDepth 2000 in\n" + T,
    "@[simp] theorem aux : 1 = 1 := rfl\nattribute [local simp] aux\n" + T,
    "instance (priority := 100) : Inhabited Nat := ⟨0⟩\n" + T,
    "open Nat hiding gcd\nnoncomputable section\n" + T + "end\n",
    "def fact : Nat → Nat\n  | 0 => 1\n  | n + 1 => (n + 1) * fact n\n" + T,
    "structure P where\n  x : Nat\n  deriving Repr, DecidableEq\n" + T,
    "-- soit n\u202f: a\u00a0b\t第一步\u3000证明\n" + T,
    T + "/- a\tb -/",
    "theorem target (axiom₁ end₁ sorryₙ : Nat) (h : axiom₁ = end₁) : end₁ = axiom₁ := h.symm",
    "@[simp←, grind=] theorem x : 1 = 1 := rfl\n" + T,
    "@[macro_inline] def f (n : Nat) := n\n" + T,
    "theorem target (hε_pos : 0 < ε) (p : ℝ[X]) : (p.eval x₁').1.le = ∑' n, f '' s - g n := by nlinarith [h]",
    "theorem target (s : Finset ℕ) : #s = 5! := by\n  rcases h with ⟨x, rfl⟩ | h' -- two cases\n  · simp_all",
]


@pytest.mark.parametrize("text", HONEST)
def test_honest_files_pass(text: str) -> None:
    assert gate(text, "file") == []


@pytest.mark.parametrize("mode", ["file", "statement", "proof", "binders", "term", "answer"])
def test_every_mode_refuses_forbidden_words(mode: Mode) -> None:
    assert f"`run_tac` {CODE}" in gate("(x : run_tac)", mode)


@pytest.mark.parametrize(
    "text",
    [
        "theorem target (x : Nat) (h : x = 1) : x + 1 = 2",
        "def double (n : Nat) : Nat := n + n\ntheorem target : ∀ n, double n = 2 * n\n",
        "open Nat in\nlemma target {x : ℝ} (f : ℝ → ℝ := id) : ∃ y : ℝ, y = x ∧ ∀ z, z = z",
        "theorem target : let x := 5; x = 5",
        "theorem target (xs : List Nat) (h : xs ≠ []) : ∃ x ys, xs = x :: ys",
        "theorem target : (fun x => x) = fun x : Nat => x",
        "theorem target (f : Nat → Nat) : f = fun | 0 => 1 | k + 1 => k",
        "-- what follows\ntheorem target : (3 == 4) = (5 == 6)",
        "theorem target (n m : Nat) : match n, h : m with | 0, 1 => True | _, _ => n = 1 ∧ m = 2",
    ],
)
def test_honest_statements_pass(text: str) -> None:
    assert gate(text, "statement") == []


@pytest.mark.parametrize(
    ("text", "hit"),
    [
        ("def x := 1", "the statement has no theorem"),
        ("-- theorem target : True", "the statement has no theorem"),
        ("theorem target", "the theorem has no `: proposition`"),
        ("theorem target := trivial", "the theorem has no `: proposition`"),
        ("theorem target : True := trivial", "`:=` begins a proof, which has no place here"),
        ("theorem target : let x := 5; True := trivial", "`:=` begins a proof, which has no place here"),
        ("theorem target : ∀ n, n = n | n => rfl", "`=>` outside brackets has no place here"),
        ("theorem target : True\nend", "`end` belongs to a command"),
        ("theorem target : True\nopen Foo", "`open` belongs to a command"),
        ("theorem target : (1 = 1", "`)` is missing"),
        ("theorem target : 1 = 1)", "`)` closes nothing"),
        ("theorem target : ", "the term is empty"),
        ("#print axioms x\ntheorem target : 1 = 1", "`#print` is a command"),
        ("def «5» : Nat := 4\ntheorem target : «5» = 4", "`«` hides names or builds syntax"),
        (
            "set_option autoImplicit true in\ntheorem target : x = x",
            "the option `autoImplicit` is not among those allowed",
        ),
        ("theorem target : 1 = 1 -- and", "the comment at the end swallows what follows"),
        ("theorem target : 1 = 1 -- and\n", "the comment at the end swallows what follows"),
    ],
)
def test_statements(text: str, hit: str) -> None:
    assert hit in gate(text, "statement")


@pytest.mark.parametrize(
    "text",
    [
        "omega",
        "  intro n\n  unfold double; omega -- done",
        "open Nat Real in\nset_option maxHeartbeats 400000 in\nomega",
        "have h : 1 = 1 := rfl\ncalc x = 1 := by simp\n  _ = 2 := h'",
        "rcases h with ⟨x, h | h⟩ <;> simp [h.1.le, mul_comm x]",
        "let rec f (n : Nat) : Nat := n\nexact fun n => rfl",
    ],
)
def test_honest_proofs_pass(text: str) -> None:
    assert gate(text, "proof") == []


COMMANDS = """
theorem lemma def abbrev example instance structure inductive class mutual namespace section end open
attribute notation infix prefix local scoped noncomputable deriving where termination_by decreasing_by
"""


@pytest.mark.parametrize("word", COMMANDS.split())
def test_commands_end_no_slot(word: str) -> None:
    for mode in ("proof", "binders", "term", "answer"):
        assert f"`{word}` belongs to a command" in gate(f"trivial\n{word} x y", mode)


@pytest.mark.parametrize(
    ("text", "hit"),
    [
        ("trivial\nset_option maxRecDepth 100\ntrivial", "`set_option` belongs to a command"),
        ("set_option warn.sorry false in\nomega", "the option `warn.sorry` is not among those allowed"),
        ("open theorem in\nomega", "`theorem` belongs to a command"),
        ("trivial\n@[simp] x", "`@[` belongs to a command"),
        ("trivial)\n(x", "`)` closes nothing"),
        ("trivial /-- x -/", "a documentation comment belongs to a command"),
        ("trivial /- x", "a comment is not closed"),
    ],
)
def test_proofs(text: str, hit: str) -> None:
    assert hit in gate(text, "proof")


@pytest.mark.parametrize(
    "text",
    [
        "(eggs eaten : Rat) (h : eggs = 16)",
        "(eggs eaten answer : Rat)\n{x₁ : ℝ}\n(h_answer : answer = (eggs - eaten) * 2)",
        "(h : ∀ x : Nat, x ∈ ({1, 2} : Set Nat) → x ^ 2 ≤ 4)",
        "",
    ],
)
def test_honest_telescopes_pass(text: str) -> None:
    assert gate(text, "binders") == []


@pytest.mark.parametrize(
    ("text", "hit"),
    [
        ("(x : Nat := 3)", "`:=` has no place here"),
        ("(x := 3)", "`:=` has no place here"),
        ("[Inhabited Nat]", "`[Inhabited Nat]` is no binder `(name : type)` or `{name : type}`"),
        ("(x)", "`(x)` is no binder `(name : type)` or `{name : type}`"),
        ("(x + 1 : Nat)", "`(x + 1 : Nat)` is no binder `(name : type)` or `{name : type}`"),
        ("(x : )", "the term is empty"),
        ("(x : Nat) : x = 1", "`:` stands between the binders"),
        ("(x : Nat) y", "`y` stands between the binders"),
        ("(x : Nat", "`)` is missing"),
        ("(x : Nat))", "`)` closes nothing"),
        ("(x : Nat]", "`]` closes nothing"),
        ("(x : Nat -- )\n)", "comments and strings have no place here"),
        ("(h : 1 = 1, False)", "`,` outside brackets has no place here"),
        ("(Rat : Type)", "the binder `Rat` hides Lean's own `Rat`"),
        ("(h : x = 2 ^ 1000000000)", "an exponent is above 1000"),
        ("(h : by exact True)", "`by` runs tactics, which have no place here"),
    ],
)
def test_telescopes(text: str, hit: str) -> None:
    assert hit in gate(text, "binders")


@pytest.mark.parametrize(
    "text",
    [
        "answer = 18",
        "boxes * pens_per_box - 0.25 * (3 + x) ^ 2",
        "|x - 3| = 2 ∧ ¬ y ≤ 2",
        "∃ x : Nat, x = 1 ∧ ∀ y ∈ s, y < x",
        "f (fun x => x + 1) = 2 ^ 100",
        "x ^ 2 + 2 * x * y + y ^ 2 = (x + y) ^ 2",
        "1.06e3 = 1_060",
    ],
)
def test_honest_terms_pass(text: str) -> None:
    assert gate(text, "term") == []


@pytest.mark.parametrize(
    ("text", "hit"),
    [
        ("answer = 18) (h : False", "`)` closes nothing"),
        ("True := trivial\ntheorem x : 1 = 1", "`:=` begins a proof, which has no place here"),
        ("(let x := 1; x) = 1", "`:=` has no place here"),
        ("a = 1, b = 2", "`,` outside brackets has no place here"),
        ("∀ x, x = 1, False", "`,` outside brackets has no place here"),
        ("x = 1 : Nat", "`:` outside brackets has no place here"),
        ("x; y", "`;` outside brackets has no place here"),
        ("True | _ => trivial", "`=>` outside brackets has no place here"),
        ("", "the term is empty"),
        ("  \n ", "the term is empty"),
        ("x = 1 -- y", "comments and strings have no place here"),
        ("x = 1 /- y -/", "comments and strings have no place here"),
        ('x = "y"', "comments and strings have no place here"),
        ("x = (1", "`)` is missing"),
        ("x = (1]", "`]` closes nothing"),
        ("x = 1\n#eval y", "`#eval` is a command"),
        ("2 ^ 1001 = x", "an exponent is above 1000"),
        ("2 ^ (10 * 101) = x", "an exponent is above 1000"),
        ("2 ^ id 1000000 = x", "an exponent is above 1000"),
        ("1 <<< 1000000 = x", "an exponent is above 1000"),
        ("1e1001 = x", "an exponent is above 1000"),
        ("9 ^ 9 ^ 9 = x", "a power in an exponent is too large to compute"),
        ("9 ^ (9 ^ 9) = x", "a power in an exponent is too large to compute"),
        ("((2 ^ 1000) ^ 1000) ^ 2 = x", "the powers together are too large to compute"),
        ("x = " + "1" * 41, "the number 11111111111111111111… is too long"),
    ],
)
def test_terms(text: str, hit: str) -> None:
    assert hit in gate(text, "term")


@pytest.mark.parametrize(
    "text",
    [
        "2 ^ 2014 + 2 ^ 2012",
        "∏ k ∈ Finset.range 7, (2 ^ 2 ^ k + 3 ^ 2 ^ k)",
        "{ re := -4, im := -5 }",
        "let x := 3; x * x",
        "1" * 41,
    ],
)
def test_terms_as_lean_prints_them_are_answers(text: str) -> None:
    assert gate(text, "answer") == []


@pytest.mark.parametrize(
    ("text", "hit"),
    [
        ("9 : Nat) = (9", "`)` closes nothing"),
        ("9 := 3", "`:=` begins a proof, which has no place here"),
        ("(by exact 9)", "`by` runs tactics, which have no place here"),
        ("open Nat in 9", "`open` belongs to a command"),
        ("9 -- y", "comments and strings have no place here"),
        ("sorry", "`sorry` leaves something unproved"),
        ("‹Nat›", "`‹` takes whatever is in scope"),
        ("2 ^ 10001", "an exponent is above 10000"),
        ("2 ^ 9999999", "an exponent is above 10000"),
        ("2 ^ 3 ^ 3 ^ 3", "an exponent is above 10000"),
        ("2 ^ (2 ^ k)", "an exponent is above 10000"),
        ("1" * 1001, "the number 11111111111111111111… is too long"),
    ],
)
def test_answers(text: str, hit: str) -> None:
    assert hit in gate(text, "answer")


FORBIDDEN = st.sampled_from(
    ["sorry", "run_cmd", "run_tac", "axiom", "macro_rules", "#eval", "native_decide", "IO", "set_option", "@[init]"]
)
HONEST_TEXT = "theorem aux (h₁ : a = b) :\n  b = a := h₁.symm\n\ndef two : Nat := 1 + (1)\n"


@given(FORBIDDEN, st.sampled_from([m.start() for m in re.finditer(r"(?<=\s)", HONEST_TEXT)]))
def test_a_forbidden_word_is_found_at_every_place(word: str, place: int) -> None:
    assert gate(HONEST_TEXT, "file") == []
    assert gate(f"{HONEST_TEXT[:place]} {word} {HONEST_TEXT[place:]}", "file")


@given(FORBIDDEN)
def test_a_forbidden_word_in_comments_or_strings_is_no_hit(word: str) -> None:
    for text in (
        f"-- {word}\n{T}",
        f"/- {word} /- {word} -/ -/\n{T}",
        f'def s := "{word}"\n{T}',
        f'def s := r#"{word}"#\n{T}',
    ):
        assert gate(text, "file") == []


SLOT_PIECES = (
    """( ) [ ] { } ⟨ ⟩ : := , ; | => ∀ ∃ fun let x y 1 = ∧ ^ - / -- /- -/ " ' by theorem end where in · ! # @[ ` « \\"""
)
SLOT = st.lists(st.sampled_from([*SLOT_PIECES.split(" "), "\n"]), max_size=8).flatmap(
    lambda pieces: st.sampled_from(["", " "]).map(lambda gap: gap.join(pieces))
)


def brackets(text: str) -> list[int]:
    """The depth of brackets after each character."""
    depth, depths = 0, []
    for character in text:
        depth += (character in "([{⟨") - (character in ")]}⟩")
        depths.append(depth)
    return depths


@given(SLOT)
def test_a_term_cannot_leave_its_slot(term: str) -> None:
    if not gate(term, "term"):
        spliced = f"theorem t (x : {term}) : {term} := by sorry"
        assert blank(spliced) == spliced
        depths = brackets(spliced)
        assert min(depths) == 0
        assert depths[-1] == 0
        assert spliced.count(":=") == 1
        # The binder's bracket closes after the first copy and nowhere else.
        assert depths.index(0, len("theorem t (")) == len(f"theorem t (x : {term}")


@given(st.lists(SLOT, max_size=3).map(lambda terms: " ".join(f"(x : {term})" for term in terms)) | SLOT)
def test_a_telescope_is_only_groups(telescope: str) -> None:
    if not gate(telescope, "binders"):
        depths = brackets(telescope)
        outside = [c for c, after in zip(telescope, depths, strict=True) if after == 0 and c not in ")}"]
        assert all(c.isspace() for c in outside)
        assert ":=" not in telescope
        assert not depths or depths[-1] == 0


@pytest.mark.parametrize("start", ["", "simp (config := {", "aesop (add ", "simp "])
@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "α",
        "1_",
        "^",
        "x ^ ",
        '"',
        "' ",
        "h' --\n",
        "/- ",
        "open ",
        "lemma : ",
        "a := 1 ",
        "a := 1 \n\n ",
        " ",
        "simp (",
        "+x ",
    ],
)
def test_the_longest_texts_take_seconds_at_most(start: str, piece: str) -> None:
    text = start + piece * (60_000 // len(piece.encode()))
    began = time.perf_counter()
    gate(text, "proof")
    gate(text, "term")
    gate(text, "answer")
    # Quadratic matching takes minutes; this takes well below a second on an idle machine.
    assert time.perf_counter() - began < 15
