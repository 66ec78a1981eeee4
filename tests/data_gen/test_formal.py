"""Guards between prose and Lean: what may be claimed, defined and declared."""

from fractions import Fraction

import pytest

from data_gen.formal import (
    Definition,
    FormalStep,
    Refusal,
    atoms,
    binder_groups,
    check_definitions,
    check_final,
    check_step,
    check_telescope,
    divisors,
    other_reading,
    premise_terms,
    proposition,
    quantities,
    step_binders,
    step_terms,
    theorem,
    unstated,
    variables,
)

TELESCOPE = "(eggs eaten answer : Rat)\n(h_eggs : eggs = 16)\n(h_answer : answer = eggs - eaten)"


def refused(reason: str, function, *arguments) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(Refusal) as caught:
        function(*arguments)
    assert caught.value.reason == reason


def test_variables() -> None:
    assert variables(TELESCOPE) == {"eggs", "eaten", "answer", "h_eggs", "h_answer"}


def test_telescope_needs_an_answer_slot() -> None:
    check_telescope(TELESCOPE)
    refused("no_answer_slot", check_telescope, "(eggs : Rat) (h : eggs = 16)")


@pytest.mark.parametrize(
    "telescope",
    [
        "theorem question (answer : Rat) : answer = answer",
        "(answer : Rat) : answer = 3 := by sorry",
        "(answer : Rat) (h : answer = 3",
        "(answer : Rat := 3)",
        "(answer : Rat) import Lean",
    ],
)
def test_telescope_is_binders_alone(telescope: str) -> None:
    refused("gate", check_telescope, telescope)


def test_premises_are_relations_between_rationals() -> None:
    telescope = "(hours answer : Rat) (h : hours = 3 ∧ hours > 0) (h_answer : answer = 90 / hours / (hours - 1))"
    assert list(binder_groups(telescope)) == [
        (["hours", "answer"], "Rat"),
        (["h"], "hours = 3 ∧ hours > 0"),
        (["h_answer"], "answer = 90 / hours / (hours - 1)"),
    ]
    assert quantities(telescope) == {"hours", "answer"}
    terms = premise_terms(telescope)
    assert terms == ["hours", "3", "hours", "0", "answer", "90 / hours / (hours - 1)"]
    assert divisors([*terms, "1 / hours"]) == ["hours", "( hours - 1 )"]


@pytest.mark.parametrize(
    ("telescope", "reason"),
    [
        ("(answer : Nat)", "type"),
        ("(answer : Rat) (n : Int)", "type"),
        ("(answer : Rat) (h : ∀ x : Rat, x = answer)", "foreign_term"),
        ("(answer : Rat) (h : False → answer = 3)", "foreign_term"),
        ("(answer : Rat) (h : answer = Nat.sub 3 5)", "foreign_term"),
        ("(answer : Rat) (h : answer = 2 ^ (1 / 2))", "foreign_term"),
    ],
)
def test_other_premises_are_refused(telescope: str, reason: str) -> None:
    refused(reason, premise_terms, telescope)


class TestDefinitions:
    def test_may_use_earlier_names(self) -> None:
        known = {"eggs"}
        check_definitions([Definition("left", "eggs - 3"), Definition("sold", "left * 2")], known)
        assert known == {"eggs", "left", "left_def", "sold", "sold_def"}

    @pytest.mark.parametrize(
        ("definition", "reason"),
        [
            (Definition("left", "left + 1"), "definition"),  # assumes a falsehood
            (Definition("eggs", "3"), "definition"),  # assumes a second value
            (Definition("h eggs", "3"), "definition"),
            (Definition("x) (h", "3"), "definition"),
            (Definition("left", "eggs - sold"), "definition"),
            (Definition("left", "3", type="Empty"), "type"),
            (Definition("left", "3", type="Nat"), "type"),
            (Definition("left", "3) (h : False"), "gate"),
        ],
    )
    def test_refused(self, definition: Definition, reason: str) -> None:
        definitions = [definition, Definition("sold", "1")]
        refused(reason, check_definitions, definitions, {"eggs"})


class TestClaims:
    def test_atoms(self) -> None:
        assert atoms("left = 9 ∧ (left < eggs)") == [("left", "=", "9"), ("left", "<", "eggs")]
        assert atoms("((a + b) * 2 ≥ 4)") == [("(a + b) * 2", "≥", "4")]

    @pytest.mark.parametrize(
        "claim",
        [
            "left = 9 ∨ True",
            "False → left = 9",
            "∀ x : Rat, x = x",
            "left = 9 = 9",
            "left",
            "¬ left = 8",
            "left = 9 ∧ True",
            "(fun x => x) 9 = 9",
            "(left = 9 ∧ sold = 2) = True",
            "let y := 9; left = y",
        ],
    )
    def test_only_relations_joined_by_and(self, claim: str) -> None:
        with pytest.raises(Refusal) as caught:
            step_terms(FormalStep((), claim), {"left", "sold"})
        assert caught.value.reason in {"claim_form", "gate", "foreign_term"}

    @pytest.mark.parametrize("value", ["if 1 < 2 then 3 else 4", "eggs = 3", "1 ∧ False", "Nat.sub 3 5", "later"])
    def test_only_arithmetic_is_defined(self, value: str) -> None:
        refused("foreign_term", step_terms, FormalStep((Definition("left", value),), "left = 3"), {"eggs"})

    def test_terms(self) -> None:
        step = FormalStep((Definition("left", "eggs / 2"),), "left = 9 ∧ eggs > left")
        assert step_terms(step, {"eggs"}) == ["eggs / 2", "left", "9", "eggs", "left"]

    def test_mere_numerals_are_rationals(self) -> None:
        """7 / 2 = 3 holds over Lean's naturals."""
        assert proposition("7 / 2 = 3 ∧ left = 3") == "(7 / 2 : Rat) = 3 ∧ left = 3"

    def test_slot_cannot_be_left(self) -> None:
        refused("gate", atoms, "left = 9) (h : left = 8")

    def test_claim_of_the_step(self) -> None:
        check_step("She has 16 - 3 - 4 = 9 eggs left.", FormalStep((), "left = 9"), "")
        check_step("She has 16 - 3 - 4 = 9 eggs left.", FormalStep((), "16 - 3 - 4 = 9 ∧ left = 9"), "")
        check_step("A quarter of it, 0.25 * 80 = 20.", FormalStep((Definition("part", "full / 4"),), "part = 20"), "")
        check_step("That is 25% of 80 = 20.", FormalStep((), "25 / 100 * 80 = 20"), "")
        check_step("So she plans the next day.", FormalStep(), "")

    @pytest.mark.parametrize(
        ("step", "claim", "reason"),
        [
            ("She has 16 - 3 - 4 = 10 eggs left.", "left = 9", "drift"),  # argued into a true claim
            ("She has 16 - 3 - 4 = 10 eggs left.", "left < 10", "drift"),
            ("She has 16 - 3 - 4 = 10 eggs left.", "left ≤ 10 ∧ 10 = 10 + left - left", "drift"),
            ("She has 16 - 3 = 13 and 13 - 4 = 10.", "a = 13", "drift"),
            ("She has 16 - 3 - 4 = 10 eggs left.", "left = 10 - 1", "drift"),
            ("She has 16 - 3 - 4 = 10 eggs left.", None, "hidden_claim"),
            ("So 9 eggs are left.", "left = left", "drift"),
            ("She sells the 9 eggs.", "left = 8", "drift"),
            ("So 10 eggs are left.", "left < 10", "drift"),  # 9 are
            ("So 9 eggs are left.", "left ≠ 9", "drift"),  # would be refuted, and the step is right
            ("Zero eggs are left.", None, "hidden_claim"),
            ("She is short by 3 - 16 = −10 eggs.", "3 < 16", "drift"),
            ("She is short by 3 - 16 = −10 eggs.", "left = 16", "drift"),
        ],
    )
    def test_other_claims_are_refused(self, step: str, claim: str | None, reason: str) -> None:
        refused(reason, check_step, step, FormalStep((), claim), "")

    def test_what_a_step_concludes_is_claimed(self) -> None:
        """A claim about the numbers of the question alone would verify any conclusion."""
        step, question = "So 10 of the 16 eggs are left, after 7 are eaten or baked.", "Ducks lay 16 eggs, 3 and 4 go."
        refused("drift", check_step, step, FormalStep((), "eggs = 16"), question)
        check_step(step, FormalStep((), "left = 10"), question)
        check_step("So 25% of the 16 are left.", FormalStep((), "share = 1 / 4"), question)

    def test_comparisons_are_claimed_where_the_step_compares(self) -> None:
        check_step("So more than 8 eggs are left.", FormalStep((), "left > 8"), "")

    def test_definitions_take_their_numbers_from_the_step_too(self) -> None:
        formal = FormalStep((Definition("left", "eggs - 6"),), "left = 10")
        refused("drift", check_step, "She has 16 - 3 - 4 = 10 eggs left.", formal, "")

    def test_numbers_of_the_question_may_be_used(self) -> None:
        formal = FormalStep((), "left = 20 - 11 ∧ left = 9")
        refused("drift", check_step, "Then 9 are left.", formal, "")
        check_step("Then 9 are left.", formal, "She had 20 and lost 11.")


class TestFinal:
    @pytest.mark.parametrize(
        ("claim", "final"), [("answer = 18", "18"), ("answer = 1234", "1,234"), ("answer = (3/4)", "0.75")]
    )
    def test_same_number(self, claim: str, final: str) -> None:
        check_final(claim, final)

    @pytest.mark.parametrize(
        ("claim", "final"),
        [
            ("answer = 18", "19"),
            ("left = 18", "18"),
            ("answer = 9 + 9", "18"),
            ("answer ≤ 18", "18"),
            ("answer = 18 ∧ answer = 18", "18"),
            (None, "18"),
            ("answer = 18", "18 eggs"),
        ],
    )
    def test_anything_else_is_a_mismatch(self, claim: str | None, final: str) -> None:
        refused("answer_mismatch", check_final, claim, final)


def test_step_binders_take_proved_claims_only() -> None:
    earlier = [FormalStep((Definition("left", "eggs - 3"),), "left = 13"), FormalStep((), "left = 12")]
    binders = step_binders(
        "(eggs : Rat)", earlier, [True, False], FormalStep((Definition("sold", "left"),), "sold = 1")
    )
    assert theorem("step_3", binders, "sold = 1") == (
        "theorem step_3\n"
        "    (eggs : Rat)\n"
        "    (left : Rat) (left_def : left = eggs - 3)\n"
        "    (step_1 : left = 13)\n"
        "    (sold : Rat) (sold_def : sold = left) :\n"
        "    sold = 1"
    )


class TestResultsAreNotDefined:
    """A definition that is the result proves nothing of the step."""

    def test_result_as_definition(self) -> None:
        formal = FormalStep((Definition("fruit", "11"),), "fruit = 11")
        refused("drift", check_step, "Together they have 7 + 3 = 11 pieces.", formal, "")
        refused("drift", check_step, "Together they have 11 pieces.", formal, "")

    def test_result_through_another_definition(self) -> None:
        formal = FormalStep((Definition("fruit", "11"), Definition("pieces", "fruit")), "pieces = 11")
        refused("drift", check_step, "Together they have 7 + 3 = 11 pieces.", formal, "")

    def test_calculation_as_definition(self) -> None:
        formal = FormalStep((Definition("fruit", "7 + 3"),), "fruit = 10")
        check_step("Together they have 7 + 3 = 10 pieces.", formal, "")


@pytest.mark.parametrize("step", ["Apples and pears together make 11.", "That leaves fourteen cards."])
def test_a_step_with_a_number_has_a_claim(step: str) -> None:
    refused("hidden_claim", check_step, step, FormalStep(), "")


def test_percentages_are_read_both_ways() -> None:
    step = "The share grows to 100% + 20% = 120%."
    assert other_reading(step, "share = 120") == "share = (6/5)"
    assert other_reading(step, "share = 6 / 5") == "share = (120)"
    assert other_reading("It grows to 100 + 20 = 120.", "share = 120") is None


class TestNumbersFromNowhere:
    STEP = "So he runs 9 * 60 = 540 meters."
    QUESTION = "James runs 3 sprints 3 times a week. Each is 60 meters."

    def entry(self, value: str, claim: str) -> FormalStep:
        return FormalStep((Definition("run", value),), claim)

    def test_a_number_that_the_entry_passes_over(self) -> None:
        assert unstated(self.STEP, self.entry("sprints * times * meters", "run = 540"), self.QUESTION) == {9}

    @pytest.mark.parametrize(
        ("value", "claim"),
        [("sprints * times * meters", "sprints * times = 9 ∧ run = 540"), ("9 * meters", "run = 540")],
    )
    def test_one_that_it_claims_or_uses(self, value: str, claim: str) -> None:
        assert unstated(self.STEP, self.entry(value, claim), self.QUESTION) == set()

    def test_one_that_an_earlier_step_or_calculation_gives(self) -> None:
        run = self.entry("sprints * times * meters", "run = 540")
        assert unstated(self.STEP, run, f"{self.QUESTION} That is 3 * 3 = 9 sprints.") == set()
        assert unstated("With 3 * 3 = 9 sprints he runs 9 * 60 = 540 meters.", run, self.QUESTION) == set()

    def test_percentages_may_be_fractions(self) -> None:
        share = FormalStep((Definition("share", "0.35 * whole"),), "share = 28")
        assert unstated("The share is 35% * 80 = 28.", share, "Of 80 in all") == set()
        assert unstated("The share is 45% * 80 = 36.", share, "Of 80 in all") == {Fraction(45)}
