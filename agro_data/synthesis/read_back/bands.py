"""Bands of a quantity: CASE over rising or falling bounds, in the one form that is said, from the lowest band up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sqlglot import exp

from agro_data.intent.tree import Case, Column, Comparison, Predicate, Value

LABELS = "ABCDEFGHIJ"  # of the bands of a log, whose own may be any text


def labels_of(tree: exp.Expr) -> Iterator[tuple[exp.Literal, str]]:
    """The texts that the CASEs and IFs of a query give, each with a letter for it in its own: one for equal texts."""
    for case in tree.find_all(exp.Case, exp.If):
        if isinstance(case.parent, exp.Case):
            continue  # a branch of it
        branches = case.args["ifs"] if isinstance(case, exp.Case) else [case]
        results = [branch.args["true"] for branch in branches] + [case.args.get("default"), case.args.get("false")]
        texts = [one for one in results if isinstance(one, exp.Literal) and one.is_string]
        different = dict.fromkeys(text.name for text in texts)
        if len(different) <= len(LABELS):
            letters = dict(zip(different, LABELS, strict=False))
            yield from ((text, letters[text.name]) for text in texts)


def rising(tests: Sequence[tuple[Predicate, Value]], otherwise: Value) -> Case | None:
    """Bands that begin where the one below ends, of tests of one column; None of other tests.

    What is unknown falls into the last of a CASE: the column has to be known.
    """
    compared = [test for test, _ in tests if isinstance(test, Comparison)]
    signs = {test.operator for test in compared}
    bounds = [test.right.value for test in compared if isinstance(test.right, Value)]
    numbers = [one for one in bounds if isinstance(one, int | float) and not isinstance(one, bool)]
    columns = {test.left for test in compared}
    if len(columns) != 1 or not isinstance(compared[0].left, Column) or len(numbers) < len(tests):
        return None
    labels = [label for _, label in tests] + [otherwise]
    if len({label.value for label in labels}) < len(labels):
        return None
    if signs == {"<"} and all(low < high for low, high in pairwise(numbers)):
        return Case(tuple(tests), otherwise)
    if signs == {">="} and all(low > high for low, high in pairwise(numbers)):
        below = [Comparison("<", test.left, test.right) for test in reversed(compared)]
        return Case(tuple(zip(below, reversed(labels[1:]), strict=True)), labels[0])
    return None
