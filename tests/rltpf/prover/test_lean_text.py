"""Lean source as text: comments, strings, numerals, and the block of a reply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltpf.prover.lean_text import LeanBlockError, blank, extract_lean, numerals, scan, words

# Pieces of which hostile text is made; more telling than random characters.
PIECES = st.sampled_from(
    [
        "/-",
        "-/",
        "/--",
        "/-!",
        "--",
        '"',
        "\\",
        "'",
        "r#",
        '"#',
        "s!",
        "{",
        "}",
        "\n",
        " ",
        "x",
        "h'",
        "17",
        "sorry",
        "«",
        "λ",
        "∑'",
        "<-",
    ]
)
HOSTILE = st.lists(PIECES, max_size=30).map("".join)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("a -- sorry\nb", "a         \nb"),
        ("a /- x /- y -/ z -/ b", "a                   b"),
        ("a /- x\n y -/ b", "a     \n      b"),
        ("/-- doc -/ def", "           def"),
        ('a "x -- y" b', 'a "      " b'),
        (r'a "q\"q" b', 'a "    " b'),
        ('a r"q\\" b', 'a r"  " b'),
        ('a r#"q"q"# b', 'a r#"   "# b'),
        ('a s!"x" b', 'a s!" " b'),
        ("f '' s", "f '' s"),
        ("∑' n, h' n -- c", "∑' n, h' n     "),
        ("('a', '\\n')", "('a', '\\n')"),
    ],
)
def test_blank(source: str, code: str) -> None:
    assert blank(source) == code
    assert scan(source).problems == ()


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("x /- y", "a comment is not closed"),
        ("x /- /- y -/", "a comment is not closed"),
        ('x "y', "a string is not closed"),
        ('x r#"y"', "a string is not closed"),
        # Lean reads `<-`, `\/` and `//` first, so what follows is code.
        ("rw [<--x]", "a comment right after `<` is ambiguous"),
        ("a \\/-x -/", "a comment right after `\\` is ambiguous"),
        ("{x //- y -/}", "a comment right after `/` is ambiguous"),
        ("/-/ x -/", "`/-/` and `/--/` are ambiguous"),
        # After an invalid escape Lean goes on inside the string.
        (r'"\q run_cmd"', "a string has an invalid escape"),
        ('s!"{f "run_cmd"}"', "a string with `{` may end within code"),
        ('x"y"', "a string right after `x` is ambiguous"),
        ('xr"y"', "a string right after `r` is ambiguous"),
        ("x" + "r" + "#" * 69 + '"y"', "a string right after `#` is ambiguous"),
        # A character literal that fails may end inside what follows.
        ('∑\' "run_cmd"', "a string or comment so close after `'` is ambiguous"),
        ('∑\' r#"run_cmd\\"#', "a string or comment so close after `'` is ambiguous"),
        ("∑' -- x", "a string or comment so close after `'` is ambiguous"),
        ("'\"' x", "a string right after `'` is ambiguous"),
        ("x 'ab", "a `'` that closes nothing is ambiguous"),
        ("0xrun_cmd", "the number `0` runs into a word"),
        ("0xabrun_cmd", "the number `0xab` runs into a word"),
        ("'--' x", "a string or comment so close after `'` is ambiguous"),
        ("x «-- y", "a comment right after `«` is ambiguous"),
    ],
)
def test_ambiguities_are_problems(source: str, problem: str) -> None:
    assert problem in scan(source).problems


@pytest.mark.parametrize(
    "source",
    [
        "rw [h, h'] -- use h'",
        "exact (f h')-- done",
        "('a', \"a\")",
        "x₁' -- y",
        "0 -- y",
        "/-- 5' 3\" -- x -/ def x := 1",
        "a_very_long_name_that_is_longer_than_what_is_looked_at_because_it_goes_on_and_on_and_on' -- x",
    ],
)
def test_what_lean_reads_in_one_way_only_is_no_problem(source: str) -> None:
    assert scan(source).problems == ()


def test_of_an_interpolated_string_the_code_stays() -> None:
    assert scan('s!"sorry {n + 1} sorry{m}"').code == 's!"      {n + 1}      {m}"'


def test_parts_of_a_scan() -> None:
    parts = scan('/-- one -/ def a := "two" -- three\n/-! four -/')
    assert parts.docs == (" one ", " four ")
    assert parts.strings == ("two",)


@given(HOSTILE | st.text(max_size=60))
def test_blank_keeps_length_and_newlines(source: str) -> None:
    code = blank(source)
    assert len(code) == len(source)
    assert [i for i, c in enumerate(code) if c == "\n"] == [i for i, c in enumerate(source) if c == "\n"]


@given(HOSTILE)
def test_blank_only_ever_blanks(source: str) -> None:
    assert all(new in (old, " ") for new, old in zip(blank(source), source, strict=True))


@given(st.text(alphabet="ab -/\"'{\\\n", max_size=30))
def test_a_closed_comment_is_blank_whatever_it_holds(inner: str) -> None:
    inner = inner.replace("/-", "").replace("-/", "").replace("/-", "").strip("-/")
    if "/-" not in inner and "-/" not in inner:
        assert blank(f"a /- {inner} -/ b").split() == ["a", "b"]


def test_words_are_components() -> None:
    assert words("Nat.gcd h₁ x' αsorry rw? _root_.target 1x") == [
        "Nat",
        "gcd",
        "h₁",
        "x'",
        "sorry",
        "rw?",
        "_root_",
        "target",
        "x",
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("h17 = 170 + 0.25", ["170", "0.25"]),
        ("x₁ + 2 -- 3", ["2"]),
        ("1_000 * 2e10 + 0xFF", ["1_000", "2e10", "0xFF"]),
        ("h.1.le", ["1"]),
        ('"5" /- 6 -/', []),
    ],
)
def test_numerals(source: str, expected: list[str]) -> None:
    assert numerals(source) == expected


class TestExtraction:
    def test_the_last_block_byte_for_byte(self) -> None:
        reply = "First:\n```lean\nold\n```\nBetter:\n```lean4\n  new  \n\n-- ``\n```\nDone."
        assert extract_lean(reply) == "  new  \n\n-- ``\n"

    def test_other_blocks_are_passed_over(self) -> None:
        assert extract_lean("```lean\nx\n```\n```python\ny\n```\n```\nz\n```") == "x\n"

    def test_a_lean_fence_inside_another_block_opens_nothing(self) -> None:
        with pytest.raises(LeanBlockError, match="has no"):
            extract_lean("````markdown\n```lean\nx\n```\n````")

    @pytest.mark.parametrize("reply", ["", "theorem t : True := trivial", "```\nx\n```", "```leanish\nx\n```"])
    def test_no_block(self, reply: str) -> None:
        with pytest.raises(LeanBlockError, match="has no"):
            extract_lean(reply)

    def test_the_last_block_is_not_closed(self) -> None:
        with pytest.raises(ValueError, match="not closed"):
            extract_lean("```lean\nx\n```\n```lean\ny")
