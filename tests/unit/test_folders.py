"""Folders that are made as a whole: what a killed process left is cleared, what a living one makes stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers import folders

if TYPE_CHECKING:
    from pathlib import Path


def test_the_next_one_clears_what_a_killed_process_left_and_nothing_of_a_living_one(tmp_path: Path) -> None:
    place = tmp_path / "site"
    (tmp_path / ".site.killed.part" / "new").mkdir(parents=True)
    (tmp_path / ".site.link.part").symlink_to(tmp_path)
    with folders.replaced(place) as first:
        with folders.replaced(place) as second:
            (second / "page").write_text("second")
        (first / "page").write_text("first")
    assert (place / "page").read_text() == "first"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".site.link.part", "site"]
