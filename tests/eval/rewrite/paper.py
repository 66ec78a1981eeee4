"""The paper's four retained cases (appendix G): question, statement, proof text, answer."""

from typing import NamedTuple


class Case(NamedTuple):
    question: str
    statement: str
    proof: str
    answer: str

    @property
    def lean(self) -> str:
        return f"{self.statement} := by\n{self.proof}"


UNIT_CONVERSION = Case(
    "A student purchases 4 sketchbooks, each containing 80 sheets of paper, for a total of $16. What is the cost per "
    "sheet in cents?",
    """theorem cost_per_sheet :
  let total_cost_cents : Rat := 16 * 100
  let total_sheets : Rat := 4 * 80
  total_cost_cents / total_sheets = 5""",
    "  decide +kernel",
    "5",
)
INVERSE_FUNCTION = Case(
    "Let g(x) = 5x - 12. If g^(-1) denotes the inverse function of g, determine all real numbers x such that "
    "g(x) = g^(-1)(x).",
    """theorem g_inverse :
  let g : ℝ → ℝ := fun x => 5 * x - 12
  let g_inv : ℝ → ℝ := fun x => (x + 12) / 5
  {x : ℝ | g x = g_inv x} = ({3} : Set ℝ)""",
    "  ext x\n  constructor <;> intro h <;> simp_all <;> linarith",
    "3",
)
FACTORIZATION = Case(
    "Factor 81 - 9y^2 completely.",
    "theorem factor_81_minus_9y2 (y : ℝ) :\n  81 - 9 * y^2 = 9 * (3 - y) * (3 + y)",
    "  ring",
    "9 * (3 - y) * (3 + y)",
)
MINIMUM = Case(
    "Two identical square plots of land each measure 1873 meters on a side. One plot is expanded by adding y meters to "
    "both its length and width, while the other is reduced by subtracting y meters from both. What is the smallest "
    "positive value of y such that the absolute difference in area is at least equal to the area of one original plot?",
    """theorem minimum_area_difference :
  let original_side : ℝ := 1873
  let expanded_area : ℝ → ℝ :=
    fun y => (original_side + y)^2
  let reduced_area : ℝ → ℝ :=
    fun y => (original_side - y)^2
  let original_area : ℝ := original_side^2
  let area_difference : ℝ → ℝ :=
    fun y => abs (expanded_area y - reduced_area y)
  let condition : ℝ → Prop :=
    fun y => y > 0 ∧ original_area ≤ area_difference y
  ∃ y : ℝ, y = original_side / 4 ∧ condition y ∧ ∀ z : ℝ, condition z → y ≤ z""",
    "  intros\n  refine ⟨1873/4, by norm_num, ?_, ?_⟩\n  all_goals sorry_free",
    "1873/4",
)
CASES = (UNIT_CONVERSION, INVERSE_FUNCTION, FACTORIZATION, MINIMUM)
