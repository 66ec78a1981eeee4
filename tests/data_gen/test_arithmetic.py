"""Calculations in prose: read exactly, wrong ones found, and what is not surely understood left alone."""

from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from data_gen.arithmetic import calculations, wrong_calculations
from data_gen.formal import proposition
from data_gen.terms import check_term


@pytest.mark.parametrize(
    ("text", "claim", "value"),
    [
        ("48 / 2 = 24", "48 / 2 = 24", 24),
        ("He sold 48/2 = <<48/2=24>>24 clips.", "48 / 2 = 24", 24),
        ("They are 3 × 4 = 12 eggs.", "3 * 4 = 12", 12),
        (r"So $3 \times 4$ is 12.", "3 * 4 = 12", 12),
        (r"\(48 \div 2 = 24\)", "48 / 2 = 24", 24),
        (r"\frac{1}{2} \times 48 = 24", "(1 / 2) * 48 = 24", 24),
        (r"It costs \$1{,}000 \cdot 2 = \$2{,}000", "1000 * 2 = 2000", 2000),
        ("25% of 80 = 20", "(25 / 100) * 80 = 20", 20),
        ("80 * 25% = 20", "80 * (25 / 100) = 20", 20),
        ("100% - 25% = 75%", "(100 / 100) - (25 / 100) = (75 / 100)", Fraction(3, 4)),
        ("1/2 of 48 is 24", "1 / 2 * 48 = 24", 24),
        ("3 x 4 equals 12", "3 * 4 = 12", 12),
        ("$1,234.50 + $.50 = $1,235.00", "1234.50 + 0.50 = 1235.00", 1235),
        ("(2 + 3) * 4 = 20", "(2 + 3) * 4 = 20", 20),
        ("3 − 16 = −13", "3 - 16 = (-13)", -13),
        ("10 / 4 = 2.5", "10 / 4 = 2.5", Fraction(5, 2)),
        ("3 * 4 = 2 * 6 = 12", "3 * 4 = 2 * 6 ∧ 2 * 6 = 12", 12),
        ("(as 3 * 4 = 12)", "3 * 4 = 12", 12),
        ("x = 3 * 4 = 12", "3 * 4 = 12", 12),
        ("a total of 3 * 4 = 12 eggs", "3 * 4 = 12", 12),
        ("48 clips / 2 = 24 clips", "48 / 2 = 24", 24),
        ("There are 111 sticks + 54 sticks + 8 sticks = 173 sticks", "111 + 54 + 8 = 173", 173),
        ("It takes 9 rows * 20 bricks per row = 180 bricks", "9 * 20 = 180", 180),
        ("They weigh (12 red apples + 4 green apples) * 2 = 32 ounces", "(12 + 4) * 2 = 32", 32),
        ("a profit of 70 - 40 = 30 dollars", "70 - 40 = 30", 30),
        ("Castles:88/2 = 44", "88 / 2 = 44", 44),
        ("<<-20+10=-10>>", "(-20) + 10 = (-10)", -10),
        ("<<60/(2/3)=90>>", "60 / (2 / 3) = 90", 90),
    ],
)
def test_read(text: str, claim: str, value: Fraction) -> None:
    assert {(c.claim, c.value, c.holds) for c in calculations(text)} == {(claim, value, True)}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("She sells 16 - 3 - 4 = 10 eggs.", "16 - 3 - 4 = 10"),
        ("That is $18 x 2 = $37.", "$18 x 2 = $37"),
        ("So (2 + 3) * 4 = 21 in all.", "(2 + 3) * 4 = 21"),
        ("Both make 2 * 7 / 2 = 14 / 2 = 9.", "2 * 7 / 2 = 14 / 2 = 9"),
        ("It costs 1,000 + 234 = 1,235.", "1,000 + 234 = 1,235"),
        ("There are 8 – 3 = 4 of them.", "8 – 3 = 4"),
        ("They are 10 ÷ 4 = 2.4 m each.", "10 ÷ 4 = 2.4"),
        ("He is 3 − 16 = −10 short.", "3 − 16 = −10"),
        ("Each has 16 ⁄ 3 = 4 of them.", "16 ⁄ 3 = 4"),
        ("25% of 80 = 25.", "25% of 80 = 25"),
        ("Now 1/2 of 48 is 25.", "1/2 of 48 is 25"),
        ("He sold <<48/2=25>>25 clips.", "<<48/2=25>>"),
        ("Profit = 20 - 5 = 16", "20 - 5 = 16"),
        (r"Hence $3 \times 4 = 13$.", r"$3 \times 4 = 13"),
        ("It is 60 / 3/4 = 81.", "60 / 3/4 = 81"),
        ("He has 30 years - 20 years = 14 years left.", "30 years - 20 years = 14"),
        ("They weigh 5000 pounds * 3755 pounds = 1245 pounds.", "5000 pounds * 3755 pounds = 1245"),
        ("Then 5 apples + 3 = 9 fruit.", "5 apples + 3 = 9"),
        ("They are 12 bottles * $2 per bottle = $32.", "12 bottles * $2 per bottle = $32"),
        # No words of pounds, inches or months, and no share.
        ("That makes 500/.25 = 125 pieces.", "500/.25 = 125"),
        ("She has 4 * 3 = 1 left.", "4 * 3 = 1"),
        ("So 300 * 10 = 30 are left.", "300 * 10 = 30"),
        ("They have 2100/2800 = 4900 spots.", "2100/2800 = 4900"),
        ("He made a profit of 70 - 40 = 20.", "70 - 40 = 20"),
        ("Castles:88+2=44", "88+2=44"),
        # Misprints of GSM8K's own solutions.
        ("She made 52 bracelets but gave 8 away so she had 50-8 = <<52-8=44>>44 left.", "50-8 = 44"),
        ("It costs $.5 per square inch because 1152/ 1,536 = .5", "1152/ 1,536 = .5"),
        ("The team season record is 11,480 because 10 x 1,248 = 11,480", "10 x 1,248 = 11,480"),
    ],
)
def test_wrong(text: str, wrong: str) -> None:
    assert [c.text for c in wrong_calculations(text)] == [wrong]


@pytest.mark.parametrize(
    "text",
    [
        # Rounded, before or after.
        "Each gets 10 / 3 = 3.33 dollars.",
        "Each gets 10 / 3 = 20 / 6 = 3.33 dollars.",
        "That is 1.33 * 300 = 400.",
        "The half is 7 / 2 = 3 teams.",
        "It is 182 / 211 * 100 = 86%.",
        "Each gets about 10 / 4 = 3 dollars.",
        "It is ⌊17 / 5⌋ = 3, and 17 / 5 = 2.",
        "17 / 5 = 2 remainder 7.",
        "17 / 5 = 2, with a remainder of 7.",
        "He fills 17 / 5 = 2 full boxes.",
        # Words and units that take a number for themselves, or make another of the result.
        "Half of 10 + 4 = 9 is theirs.",
        "Half of the 10 + 4 = 9 is theirs.",
        "Week 1 + 2 = 35.",
        "Weeks 1-2 = 96 - 70 = 26.",
        "Find 2 hours + 30 minutes = 150 minutes.",
        "Find $5 + 25 cents coins = $5.25.",
        "Then 4 packs + 3 pens = 43 pens.",
        "Then 5 apples and 3 pears - 2 pears = 6.",
        "She adds 20 + 10 cards to the 29 + 24 cards there = 83.",
        "Then 3 dozen + 5 = 41.",
        "He buys two 5 pound bags + 3 pounds = 13 pounds.",
        "She has 3 bags holding 5 pears + 2 pears = 17 pears.",
        "That is 1 hour - 15 = 45 minutes.",
        "That is 5 days a week * 2 = 70 days.",
        "Therefore X = 9 because - 18/-2 = 9",
        "The share is 4/15 = 20.",
        "It is 10 years - 3 = 84 months.",
        "At 7:30 + 15 = 44.",
        "The gap is $2.50 - $2.24 = 26 cents.",
        "That is 30 + 30 = 1 hour.",
        "They lose 5 * 3 = $15,000.",
        "One is 50 / 200 = 25.",
        "It is 48 * 3 = 12 feet.",
        "It costs 25 * 4 = $1.",
        "One is 20 / 80 = 25 percent.",
        "The price falls: 200 - 25% = 150.",
        "That leaves 3/3 - 2/3 = 1/3 of $150.",
        "So 1/4 = 8 apples.",
        "It ends at 10 + 4 = 2 pm.",
        "Then 3 * 4 is 2 more than 10.",
        "He is 5 - 8 = 3 short.",
        # Not said, or taken back.
        "It is not 3 * 4 = 13.",
        "It can't be that 3 * 4 = 13, which is wrong.",
        "Is it 3 * 4 = 13?",
        "Wait, 3 * 4 = 13 forgets one.",
        # Other notations.
        "He eats 1 1/2 = 5/2 pies.",
        "8 x 1 1/2 = 13 rolls.",
        "7:30 + 15 = 7:46.",
        "He leaves at 0900-0130 = 0730 hours.",
        "They read because 14, 400 / 80 = 180.",
        "We get 114 - 4 = 3x.",
        "We get 302-296=2 d.",
        "The side is √(144) = 13.",
        "2 ^ 3 + 1 = 10.",
        r"2^{3} \cdot 5 \cdot 7=280",
        r"\log_{2} 3+5=-1+5=4",
        r"\frac{255}{512}=\frac{1}{4}\left(2\right)",
        "0.9x(2) = 72",
        "2x - 3 = 7",
        "- 3 * 4 = 12",
        "560//10=57",
        "5 / 0 = 0.",
        "He says 3 * 4 == 13, 3 * 4 != 13, 3 * 4 => 13.",
        # Readings that make it right.
        "It is 60 / 3/4 = 80.",
        "They meet in 50/12+13 = 50/25 hours.",
        "So 5 + 5 = 10 + 2 = 12.",
        "He has 8 - 2 * 4 = 8 of them.",
        "There are 3 * 4 = 12 - 5 of which are red.",
    ],
)
def test_left_alone(text: str) -> None:
    assert wrong_calculations(text) == []
    assert all(bool(c.claim) != bool(c.reason) for c in calculations(text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<<560//10=56>>", "not arithmetic alone"),
        ("<<6=6>>", "nothing is calculated"),
        ("<<5/0=0>>", "divided by zero"),
        ("<<10/3=3.33>>", "rounded"),
        ("About <<3*4=12>>12", "rounding word"),
        ("<<2 3=6>>", "not one expression on each side"),
        ("<<" + "(" * 5000 + "1=1>>", "too long"),
        ("<<" + "9" * 5000 + "+1=1>>", "too long"),
    ],
)
def test_an_annotation_is_read_or_left_alone_with_a_reason(text: str, reason: str) -> None:
    assert [(c.claim, c.holds, c.reason) for c in calculations(text)] == [("", None, reason)]


NUMBERS = st.builds(Fraction, st.integers(1, 99_999), st.sampled_from([1, 1, 1, 10, 100]))


def written(number: Fraction) -> str:
    """A finite decimal, exactly, with separators."""
    whole, rest = divmod(abs(number), 1)
    sign = "-" if number < 0 else ""
    digits = f"{float(rest):.6f}".rstrip("0")[1:].rstrip(".") if rest else ""
    return f"{sign}{int(whole):,}{digits}"


@st.composite
def equations(draw: st.DrawFn) -> tuple[str, Fraction]:
    """A sum of products, as prose may write it, and its value."""
    texts, value = [], Fraction(0)
    for index in range(draw(st.integers(1, 3))):
        one, other = draw(NUMBERS), draw(st.integers(2, 99))
        sign = draw(st.sampled_from("+-")) if index else ""
        operator = draw(st.sampled_from([" * ", "*", " × ", " x ", r" \times ", " · "]))
        texts.append(f"{sign} {draw(st.sampled_from(['', '$']))}{written(one)}{operator}{other}".strip())
        value += one * other * (-1 if sign == "-" else 1)
    return " ".join(texts), value


WRAPPED = st.sampled_from(["{}", "So it is {}.", "<<{}>>", "She has {} eggs left, and no more", r"\({}\)"])


@given(equations(), WRAPPED)
def test_a_true_equation_holds(equation: tuple[str, Fraction], around: str) -> None:
    text, value = equation
    (found,) = calculations(around.format(f"{text} = {written(value)}"))
    assert (found.holds, found.value) == (True, value)
    left, right = found.claim.split(" = ")
    check_term(left, set())
    check_term(right, set())
    assert proposition(found.claim) == f"({left} : Rat) = {right}"


@given(equations(), WRAPPED, st.integers(1, 10**6))
@example(("16 - 3", Fraction(13)), "{}", 1)
def test_a_changed_result_is_refuted(equation: tuple[str, Fraction], around: str, change: int) -> None:
    text, value = equation
    wrong = value + change
    # These are what rounding, a unit or a lost sign would make of it.
    assume(value and wrong and abs(change) > abs(value) / 100 and abs(change) >= 1 and wrong != -value)
    assume(not any((wrong / value).limit_denominator() in (n, Fraction(1, n)) for n in (7, 12, 16, 24, 36, 52, 60)))
    assume(max(wrong / value, value / wrong) < 60)
    found = calculations(around.format(f"{text} = {written(wrong)}"))
    assert [(c.holds, c.value) for c in found if c.reason != "a dash or a minus"] in ([(False, value)], [])


@given(equations(), st.sampled_from(["about", "Roughly", "rounded up", "approximately", "≈", "nearest"]), st.integers())
def test_a_rounding_word_leaves_all_alone(equation: tuple[str, Fraction], word: str, result: int) -> None:
    found = calculations(f"{equation[0]} = {result}, {word} that")
    assert [(c.claim, c.reason) for c in found if c.claim] == []


@given(st.text() | st.text("0123456789+-*/()=%.,$x <>\\of is{}", max_size=300))
@example("(" * 3000 + "1 = 1")
@example("-" * 3000 + "1 = 1")
@example("<<" * 50)
@example("1+" * 3000 + "1 = 1")
@example("=" + " " * 30_000 + "x")
@example("1 $" + " " * 30_000 + "x")
@example("1 + 1 = 2" + " " * 30_000 + "x")
@example("1 " + "ab " * 10_000 + "= 2")
@example("1 ab + " * 5000 + "1 = 2")
def test_any_text_is_read_without_an_exception(text: str) -> None:
    for calculation in calculations(text):
        assert bool(calculation.claim) != bool(calculation.reason)
        assert (calculation.holds is None) == (calculation.value is None) == (not calculation.claim)
        if calculation.claim:
            proposition(calculation.claim)
