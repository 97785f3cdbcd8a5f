"""A second opinion says what runs show of an item, and no more than they show."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from torch_embers.run import shipped
from torch_embers.run.second_opinion import of_item
from torch_embers.store.store import Store


def test_the_database_says_the_newest_release_and_which_bisections_are_of_the_text_of_now(tmp_path: Any) -> None:
    store = Store(tmp_path / "e.duckdb")
    with store.writer("test", create=True) as writer:
        shipped.load(writer)
        with writer.transaction() as connection:
            name, saved = connection.execute(
                "SELECT name, saved_at FROM cases JOIN case_items USING (case_hash) WHERE number = 83149 AND current"
            ).fetchall()[0]
            for number, text, days in ((0, "Of now.", 1), (1, "Of an older text.", -1)):
                began = saved + timedelta(days=days)
                connection.execute(
                    "INSERT INTO bisections VALUES ('s', ?, ?, 0, ?, ?, 'fixed', 1, ?, '2.2.2', '2.3.1', 'tags', 700)",
                    [number, name, began, began + timedelta(days=9 * number), text],
                )
            connection.execute(
                "INSERT INTO bisection_commits VALUES ('s', 0, 0, 'aa', '', 'Mend', 9, [83149], [], ['a.cpp'], true)"
            )
    made = of_item(store, "pytorch/pytorch", 83149)
    found = made.cases[0].bisected
    assert found is not None
    assert (made.conclusion, found.text, found.between, found.total) == (
        "no longer seen",
        "Of now.",
        ("2.2.2", "2.3.1"),
        700,
    )
    assert [(one["pull"], one["files"]) for one in found.naming] == [(9, ["a.cpp"])]
    with store.writer("test") as writer, writer.transaction() as connection:
        newest = "(SELECT build FROM builds WHERE version LIKE '2.15.0%')"
        connection.execute(
            f"DELETE FROM verdicts WHERE build IN {newest} AND case_hash IN "
            "(SELECT case_hash FROM cases WHERE name = ?)",
            [name],
        )
    assert of_item(store, "pytorch/pytorch", 83149).conclusion == "cannot be concluded"
