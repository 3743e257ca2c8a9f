"""A thought may link what the schema has, letter by letter, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from train.tiny import make_tiny_model

from agro_data.databases.quoting import folded
from agro_data.sql.identifiers import spelled
from agro_train.language_model.loading import load
from agro_train.naming.levels import Names
from agro_train.naming.links import may_link
from agro_train.naming.writing import NamesOnly
from agro_train.sampling.token_mask import Held

SCHEMA = {
    "singer": {"Singer_ID": "int", "Name": "text"},
    "cars_data": {"Id": "int", "free meals (%)": "int", 'a"b': "int"},
    "Straße": {"Ärger": "int"},
}
NAMES = Names.of(SCHEMA, "sqlite")
STANDS = [
    "Give the names. singer( Name, Singer_ID), cars_data( Id)",
    "SINGER(name)",
    "Give the number of cars. cars_data, singer(Name)",
    'Give what is free. cars_data("free meals (%)", "a""b"), Straße(Ärger)',
    "Give the highest. MAX(Id) of cars. cars_data(Id)",
    "Cars (of any kind) with a meal(s). Then: the number of cars",
    "singer(Name) has what is asked(it seems)",
    "Give the number of singers. singer</think>",
    "Give the names. singer(Name), cars_data</think>",
    "There is one. Done</think>",
    "Give car_parts. cars_data",
]
FALLS = [
    "Give the names. singers(Name)",
    "singer(Nom)",
    "singer(Name, Id)",
    "singer(Name), cars(Id)",
    "cars_data, singers(",
    "singer()",
    "singer(Name Singer_ID)",
    "singer(*)",
    "Give the number of cars. car_parts",
    "Give the number of cars. cars_data, car_",
    'cars_data("free meals")',
    'cars_data("free meals (%)" ',
    "Straße(ärger)",
]


@pytest.mark.parametrize("thought", STANDS)
def test_what_is_there_is_linked_letter_by_letter(thought: str) -> None:
    assert all(may_link(thought[:end], NAMES) for end in range(len(thought) + 1))


@pytest.mark.parametrize("thought", FALLS)
def test_what_is_not_there_is_not(thought: str) -> None:
    assert not may_link(f"{thought})", NAMES)


names = (
    st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), min_size=1, max_size=8)
    .map(folded)
    .filter(lambda name: name.strip() == name and not {".", ":", ";", "?", "!"} & {*name})
)


@given(st.dictionaries(names, st.dictionaries(names, st.just("text"), min_size=1, max_size=3), min_size=1, max_size=3))
def test_links_of_any_schema_can_be_written(schema: dict[str, dict[str, str]]) -> None:
    links = ", ".join(f"{spelled(table)}( {', '.join(map(spelled, columns))})" for table, columns in schema.items())
    thought = f"Give them. {links}"
    assert all(may_link(thought[:end], Names.of(schema, "sqlite")) for end in range(len(thought) + 1))


@given(st.text(max_size=30) | st.text('sc(,) "', max_size=12))
def test_prose_is_free(thought: str) -> None:
    assert may_link(thought, NAMES) or "(" in thought or "_" in thought


def test_a_model_is_held_to_links_while_it_thinks(tmp_path: Path) -> None:
    tokenizer = load(str(make_tiny_model(tmp_path / "tiny")), Path("unused")).tokenizer
    held, turn = Held(tokenizer), NamesOnly(NAMES)
    assert not turn.active
    turn.go_on("<think>Give the names. singer")
    assert turn.active
    assert all(map(turn.allows, ["(", "( ", "( Na", "</think>\n<sql>SELECT Name FROM singer"]))
    assert not any(map(turn.allows, ["s(", "( Nom", "( Name, Id)</think>"]))
    turn.go_on("<think>Give them. Stra")
    [first, *_] = tokenizer("ß", add_special_tokens=False)["input_ids"]
    assert held.allows(turn, first)
    assert not held.allows(turn, tokenizer.eos_token_id)  # a thought ends with its tag
    turn.go_on("<think>Give the names. singer(Name)</think>\n")
    assert not turn.active
