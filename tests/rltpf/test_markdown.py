from rltpf import markdown as md


def test_table() -> None:
    rows = [("x", 1, "-"), ("2", "+3.0 %", "y")]
    assert md.table(("a", "b", "c"), rows) == ("| a | b | c |\n| :-- | --: | :-- |\n| x | 1 | - |\n| 2 | +3.0 % | y |")


def test_text_is_one_line_without_markup() -> None:
    assert md.text("a | b\n<b>*c*") == "a \\| b \\<b\\>\\*c\\*"


def test_code_holds_pipes_and_backticks() -> None:
    assert md.code("a ∣ b || c") == "`a ∣ b \\|\\| c`"
    assert md.code("a `b` c") == "`` a `b` c ``"


def test_block_cannot_be_closed_from_inside() -> None:
    assert md.block("x\n```\n# Not a heading", "lean") == "````lean\nx\n```\n# Not a heading\n````"


def test_share() -> None:
    assert md.share(2, 3) == "66.7 %"
    assert md.share(0, 0) == "-"
