from fractions import Fraction

import pytest

from eval.extraction import final_number, lenient, normalise, number, same, strict

# (reply, strict, lenient): the answers as extracted, before normalisation.
REPLIES = [
    ("9 * 2 = 18.\nThe answer is 18.", "18", "18"),
    ("9 * 2 = 18.\nThe answer is 18", "18", "18"),
    ("The answer is: 18...", "18", "18"),
    ("The final answer is $18.00.", "$18.00", "$18.00"),
    ("The answer is 18 dollars.", "18 dollars", "18 dollars"),
    ("The answer is **$1,234**.", "$1,234", "$1,234"),
    ("The answer is $18$.", "18", "18"),
    ("The answer is -3.5.", "-3.5", "-3.5"),
    ("The answer is \\(\\frac{3}{4}\\).", "\\frac{3}{4}", "\\frac{3}{4}"),
    ("The answer is x = 5.", "x = 5", "x = 5"),
    ("The correct answer is (D).", "(D)", "(D)"),
    ("16 - 3 - 4 = <<16-3-4=9>>9\n9 * 2 = <<9*2=18>>18\n#### 18", "18", "18"),
    ("####18", "18", "18"),
    ("#### $1,234.00", "$1,234.00", "$1,234.00"),
    ("So she makes $\\boxed{18}$ dollars.", "18", "18"),
    ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}", "\\frac{1}{2}"),
    ("\\boxed{\\{1, \\frac{2}{3}\\}}", "\\{1, \\frac{2}{3}\\}", "\\{1, \\frac{2}{3}\\}"),
    ("\\fbox{7}", "7", "7"),
    ("The answer is \\boxed{016}.", "016", "016"),
    # The last of several, whatever its form.
    ("First \\boxed{3}. No: \\boxed{4}.", "4", "4"),
    ("We get \\boxed{3}.\nI made a mistake. The answer is 20.", "20", "20"),
    ("The answer is 20. Wait.\n#### 21", "21", "21"),
    ("#### 3\nThe answer is 4.", "4", "4"),
    # Only the last sentence is the agreed place; a reader still sees the answer.
    ("The answer is 18. I hope this helps you!", None, "18"),
    ("The answer is 18. There are 3 geese left.", None, "18"),
    ("Answer: 18", None, "18"),
    ("**Answer:** 18", None, "18"),
    ("**Final Answer**: $18", None, "$18"),
    ("Answer: D", None, "D"),
    ("Answer:\n18 eggs", None, "18 eggs"),
    ("The answer is that she makes 9 * 2 = 18 dollars a day.", None, "18"),
    ("The answer is 18, because 3 eggs are eaten.", None, "18"),
    ("The answer is therefore 18.", None, "18"),
    # No mark at all: the last number.
    ("She has 16 - 3 = 13 eggs and makes $1,234.50 a day.", None, "$1,234.50"),
    ("In total 16-3", None, "3"),
    ("It falls to -7 degrees.", None, "-7"),
    ("They ate 3/4 of it.", None, "3/4"),
    ("She is 18 on her 2nd visit.", None, "18"),
    ("Room h17 is empty.", None, None),
    # Headings are not answers, nor is a mark with nothing in it.
    ("#### Step 3: Total\nThe total is 18.", None, "18"),
    ("#### 2. Total\nThe total is 18.", None, "18"),
    ("#### Conclusion\nIt is 18.", None, "18"),
    ("It is 18.\n####", None, "18"),
    ("It costs 18 in all. The answer is", None, "18"),
    ("First \\boxed{3}, so 5. Then \\boxed{1", None, "1"),
    ("", None, None),
    ("I cannot say.", None, None),
    # A later number or letter of a choice overrules a box; later words do not.
    ("\\boxed{40}\n\nAnswer: D", "40", "D"),
    ("\\boxed{40}\n**Answer:** (D) 40", "40", "(D) 40"),
    ("Answer: 7\nSo \\boxed{8}.", "8", "8"),
    ("**Final Answer:** \\boxed{5}", "5", "5"),
    ("\\boxed{5}\nThe answer is in dollars, as asked.", None, "5"),
    ("The correct option is **B**.", None, "B"),
    ("The answer is $\\$18.90$.", "\\$18.90", "\\$18.90"),
    # Expressions have spaces, too.
    ("The answer is 11 \\sqrt{5} + 11.", "11 \\sqrt{5} + 11", "11 \\sqrt{5} + 11"),
    ("The answer is $8n^2 + 4n + 1$.", "8n^2 + 4n + 1", "8n^2 + 4n + 1"),
    ("#### (-\\infty, 2) \\cup (3, \\infty)", "(-\\infty, 2) \\cup (3, \\infty)", "(-\\infty, 2) \\cup (3, \\infty)"),
    ("The answer is 11,\\! 111.", "11,\\! 111", "11,\\! 111"),
    ("Answer: \\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}", None, "\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}"),
    # Left open, or two quantities: none of the numbers is the answer.
    ("The answer is 3 or 4.", None, "3 or 4"),
    ("The answer is not 5.", None, "not 5"),
    ("So the answer is more than 5 dollars, surely.", None, "more than 5 dollars, surely"),
    ("The answer is 7 days and 3 hours.", None, "7 days and 3 hours"),
    ("The answer is 5 dollars and 50 cents.", None, "5 dollars and 50 cents"),
    ("The answer is 18, and 3 eggs are eaten.", None, "18"),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "by_strict", "by_lenient"), REPLIES)
def test_both_extractors(reply: str, by_strict: str | None, by_lenient: str | None) -> None:
    assert strict(reply) == by_strict
    assert lenient(reply) == by_lenient


@pytest.mark.parametrize(
    ("reply", "by_strict", "by_lenient"),
    [
        ("So 9 * 2 = 18.\n#### 1", None, "18"),  # may have become 180
        ("The answer is 18", None, None),
        ("The answer is 18. She", "18", "18"),
        ("It is \\boxed{18}", "18", "18"),
        ("#### 18\n", "18", "18"),
        ("16 eggs, and 12", None, "16"),
    ],
)
def test_what_touches_the_end_of_a_cut_reply_is_not_read(
    reply: str, by_strict: str | None, by_lenient: str | None
) -> None:
    assert strict(reply, cut=True) == by_strict
    assert lenient(reply, cut=True) == by_lenient


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18", 18), ("18.", 18), ("18.00", 18), ("$18.00", 18), ("18 dollars", 18), ("18$", 18), ("\\$18", 18),
        ("016", 16), ("1,234", 1234), ("1{,}234", 1234), ("1,234,567.5", Fraction(2469135, 2)), (".5", Fraction(1, 2)),
        ("-5", -5), ("−5", -5), ("-$5", -5), ("$-5", -5), ("- 5", -5),
        ("3/4", Fraction(3, 4)), ("\\frac{3}{4}", Fraction(3, 4)), ("-\\dfrac{3}{4}", Fraction(-3, 4)),
        ("\\frac34", Fraction(3, 4)), ("3/4 cup", Fraction(3, 4)),
        ("2 1/2", Fraction(5, 2)), ("2\\frac{1}{2}", Fraction(5, 2)), ("-2 1/2", Fraction(-5, 2)),
        ("25%", 25), ("25\\%", 25), ("25 percent", 25),
        ("18 cm^2", 18), ("18 cm²", 18), ("18\\text{ cm}", 18), ("60 miles/hour", 60), ("90^\\circ", 90),
        ("18 (dollars)", 18), ("2 million dollars", 2_000_000), ("2.5 thousand", 2500), ("3 dozen", 3),
        ("1.5e3", 1500), ("1.5 \\times 10^3", 1500), ("1.5 x 10^{-3}", Fraction(3, 2000)), ("10\\,000", 10_000),
        ("m + n = 113", 113), ("f(2) = 7", 7), ("x_1 = 7", 7), ("\\text{Total} = 9", 9),
        ("x = 5", 5), ("16 - 3 - 4 = 9", 9), ("$x = \\frac{1}{2}$", Fraction(1, 2)),
    ],
)  # fmt: skip
def test_number(text: str, value: Fraction | int) -> None:
    assert number(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "5:30", "3:4", "5 and 6", "1,2", "12,34", "(1, 2]", "18x", "5k", "3\\sqrt{2}", "5\\pi", "2 pi", "2 + 3",
        "2 - x", "5!", "10^5", "3/0", "1.2.3", "D", "", "2. Total", "\\frac{\\pi}{2}", "that she makes 9 * 2 = 18",
        "9" * 5000, "3^2", "-3^2", "3²", "x <= 2", "x >= 2", "x != 3",
        # Equations of more than a name and its value, and several of them.
        "5x - 7y + 11z + 4 = 0", "x + y + 2z = 0", "2x - y = -1", "x = 3, y = 4", "2x = 10", "x^2 = 9",
        "|x| = 5", "x/2 = 3", "1 2", "1\\,2",
    ],
)  # fmt: skip
def test_what_is_not_surely_one_number_is_none(text: str) -> None:
    assert number(text) is None


@pytest.mark.parametrize(
    ("answer", "normal"),
    [
        ("$18.00", "18"),
        ("0.75", "3/4"),
        ("(d)", "D"),
        ("( 1 , 2 ]", "(1,2]"),
        ("$\\left(1,2\\right]$", "(1,2]"),
        ("\\text{even}", "even"),
        ("\\text{Evelyn}", "evelyn"),
        ("10 000", "10000"),
        ("1 2", "1 2"),
        ("1\\,2", "1 2"),
        ("3\\text{ }4", "3 4"),
        ("\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}", "\\begin{pmatrix}1\\\\2\\end{pmatrix}"),
        ("\\frac{90^\\circ}{7}", "90/7"),
    ],
)
def test_normalise(answer: str, normal: str) -> None:
    assert normalise(answer) == normal


def test_same_is_exact() -> None:
    assert same("18", "$18.00")
    assert same("16", "016")
    assert same("0.5", "\\frac{1}{2}")
    assert not same("0.333", "1/3")
    assert not same("18", "-18")
    assert not same("18", "180")
    assert not same("18", None)


@pytest.mark.parametrize(
    "answer", ["B", "(B)", "b", "B.", "B) 17", "(B) 17", "B: 17", "option B", "the choice (B)", "\\textbf{(B) }17"]
)
def test_a_choice_is_its_letter_where_the_gold_answer_is_one(answer: str) -> None:
    assert same("B", answer)
    assert not same("C", answer)
    assert not same("17", answer)


@pytest.mark.parametrize("answer", ["A, B", "B and C", "A) 5, B) 6", "Bob", "B + C", "17", "BC"])
def test_what_names_no_choice_or_several_is_none(answer: str) -> None:
    assert not any(same(gold, answer) for gold in "ABC")


def test_equations_are_not_their_right_sides() -> None:
    assert not same("5x - 7y + 11z + 4 = 0", "5x + 7y + 11z + 4 = 0")
    assert not same("5x - 7y + 11z + 4 = 0", "0")
    assert same("5x - 7y + 11z + 4 = 0", "$5x-7y+11z+4=0$")
    assert not same("4", "x = 3, y = 4")
    assert not same("x = 5", "y = 5")
    assert same("x = 5", "5")
    assert same("113", "m+n = 113")


def test_final_number() -> None:
    assert final_number("Step 1: 9 * 2 = 18.\nThe answer is $18.50.") == Fraction(37, 2)
    assert final_number("She makes 18 dollars.") is None
    assert final_number("The answer is D.") is None
