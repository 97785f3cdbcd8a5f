"""The taxonomy file: its classes are those of the guide, malformed entries are named, and the catalog uses nothing else."""

from __future__ import annotations

import contextlib
import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.taxonomy import Taxonomy, TaxonomyError, parse

SHIPPED = Taxonomy.load()
CATALOG = [json.loads(line) for line in resources.data_file("catalog.jsonl").read_text(encoding="utf-8").splitlines()]


def raw() -> dict[str, Any]:
    return copy.deepcopy(resources.load_toml("taxonomy.toml"))


def scheme(data: dict[str, Any], name: str) -> dict[str, Any]:
    return next(entry for entry in data["scheme"] if entry["name"] == name)


def test_the_schemes_of_the_study_are_there_with_parents_first() -> None:
    assert list(SHIPPED.schemes) == ["bug_type", "memory_type", "memory_subtype", "consequence", "backend"]
    assert SHIPPED.scheme("memory_type").parent == ("bug_type", "memory")
    assert SHIPPED.scheme("memory_subtype").parent == ("memory_type", "*")
    assert [s.name for s in SHIPPED.schemes.values() if not s.exclusive] == ["backend"]
    assert SHIPPED.problems([("backend", "cpu"), ("backend", "mps")]) == []
    classes = SHIPPED.scheme("bug_type").classes
    assert {entry.name for entry in classes if entry.paper_name is None} == {"other", "not_a_bug"}
    worst_first = ("crash", "silent_correctness", "nan_inf", "runtime_error", "hang", "performance", "other")
    assert SHIPPED.scheme("consequence").names() == worst_first


def test_each_memory_type_has_the_subtypes_of_table_two() -> None:
    table = {
        "non_contiguous": "cuda_limitation information_loss input_tensor_management channel_management",
        "segment_fault": "memory_access_violation invalid_memory_address memory_corruption programming",
        "indexing": "overflow data_type invalid_class_type invalid_memory_access",
        "memory_format": "channel_management stride_calculation_manually",
        "logic": "order",
        "pin_memory": "input_tensor_management programming",
        "concurrency": "miss_lock",
        "nested_tensor_layout": "storage_format_mismatch",
        "memory_overflow": "programming",
        "checking": "input_checking",
        "initialization": "order",
    }
    assert table.keys() <= {*SHIPPED.scheme("memory_type").names()}
    under = SHIPPED.scheme("memory_subtype").under
    assert {name: {entry.name for entry in under(name)} for name in table} == {
        k: {*v.split()} for k, v in table.items()
    }


def test_numbers_of_the_study_stand_with_their_section() -> None:
    shares = {
        "bug_type": {"memory": "48.4%", "data_type": "10.8%", "logical": "22.6%"},
        "memory_type": {
            "non_contiguous": "30.2%",
            "segment_fault": "20.9%",
            "indexing": "14%",
            "memory_format": "11.6%",
        },
        "consequence": {"crash": "46.5%", "silent_correctness": "32.6%", "runtime_error": "20.9%"},
    }
    shares["memory_type"] |= dict.fromkeys(("concurrency", "pin_memory", "logic"), "4.7%")
    for name in SHIPPED.schemes:
        found = {entry.name: entry for entry in SHIPPED.scheme(name).classes if entry.paper_share or entry.paper_count}
        assert {value: entry.paper_share for value, entry in found.items()} == shares.get(name, {})
        assert all("section" in entry.source for entry in found.values())
    counts = {entry.name: entry.paper_count for entry in SHIPPED.scheme("memory_type").classes if entry.paper_count}
    assert counts == {"non_contiguous": 13, "segment_fault": 9}


def test_a_value_under_several_parents_needs_its_parent() -> None:
    subtypes = SHIPPED.scheme("memory_subtype")
    assert subtypes.find("programming", "pin_memory").parent_class == "pin_memory"
    assert subtypes.find("miss_lock").parent_class == "concurrency"
    with pytest.raises(TaxonomyError, match="stands under several classes"):
        subtypes.find("programming")
    with pytest.raises(TaxonomyError, match="under 'logic' \\(known: order\\)"):
        subtypes.find("programming", "logic")


def test_a_scheme_applies_only_below_its_parent() -> None:
    assert SHIPPED.applies("consequence", {})
    assert SHIPPED.applies("memory_type", {"bug_type": "memory"})
    assert not SHIPPED.applies("memory_type", {"bug_type": "onnx"})
    assert not SHIPPED.applies("memory_subtype", {"bug_type": "memory"})
    assert SHIPPED.applies("memory_subtype", {"bug_type": "memory", "memory_type": "logic"})
    with pytest.raises(TaxonomyError, match="no scheme 'colour'"):
        SHIPPED.applies("colour", {})


@pytest.mark.parametrize(
    ("labels", "complaint"),
    [
        ([("colour", "red")], "no scheme 'colour'"),
        ([("bug_type", "red")], "'red' is no class of bug_type"),
        ([("bug_type", "onnx"), ("memory_type", "logic")], "memory_type 'logic' applies only under bug_type 'memory'"),
        ([("memory_subtype", "programming")], "stands under several"),
        ([("memory_subtype", "miss_lock")], "applies only under memory_type 'concurrency'"),
        ([("bug_type", "onnx"), ("bug_type", "other")], "bug_type is given twice"),
    ],
)
def test_wrong_labels_are_said_to_be_wrong(labels: list[tuple[str, str]], complaint: str) -> None:
    assert any(complaint in problem for problem in SHIPPED.problems(labels))


def test_every_label_of_the_catalog_is_a_class_of_the_taxonomy() -> None:
    wrong: list[str] = []
    for entry in CATALOG:
        by_annotator: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for label in entry["taxonomy"]:
            annotator = label["annotator_kind"], label["annotator"]
            by_annotator.setdefault(annotator, []).append((label["scheme"], label["value"]))
        for (kind, _), labels in by_annotator.items():
            if kind == "paper" and "bug_type" not in dict(
                labels
            ):  # the study names a memory type and leaves it at that
                labels.insert(0, ("bug_type", "memory"))
            wrong += [f"{entry['number']}: {problem}" for problem in SHIPPED.problems(labels)]
        backends = [("backend", backend) for backend in entry["backends"]]
        wrong += [f"{entry['number']}: {problem}" for problem in SHIPPED.problems(backends)]
    assert wrong == []


@pytest.mark.parametrize(
    ("of_class", "where", "change", "complaint"),
    [
        (False, "bug_type", {"exclusive": "yes"}, 'scheme "bug_type": exclusive: '),
        (False, "bug_type", {"colour": 1}, 'scheme "bug_type": colour: Extra inputs are not permitted'),
        (False, "bug_type", {"class": []}, 'scheme "bug_type": class: Tuple should have at least 1 item'),
        (False, "consequence", {"name": "backend"}, "scheme 'backend' stands twice"),
        (False, "memory_type", {"parent": ["bug_type", "red"]}, "scheme memory_type: parent 'red'"),
        (False, "memory_type", {"parent": ["backend", "cpu"]}, "scheme memory_type: parent must be"),
        (False, "memory_subtype", {"parent": ["memory_type", "logic"]}, "parent_class needs parent"),
        (True, "bug_type", {"precedence": True}, 'scheme "bug_type": class "not_a_bug": precedence: '),
        (True, "bug_type", {"precedence": 2}, "must be 1 to 13"),
        (True, "bug_type", {"name": "onnx"}, "class 'onnx' stands twice"),
        (True, "bug_type", {"paper_count": 1}, "needs paper_name"),
        (True, "bug_type", {"paper_share": "half"}, 'class "not_a_bug": paper_share: '),
        (True, "bug_type", {"parent_class": "memory"}, "parent_class needs parent"),
        (True, "memory_subtype", {"parent_class": "red"}, "'red' is no class of memory_type"),
        (True, "memory_subtype", {"parent_class": None}, "class cuda_limitation: parent_class is missing"),
    ],
)
def test_a_malformed_entry_is_named(where: str, change: dict[str, Any], complaint: str, *, of_class: bool) -> None:
    data = raw()
    target = scheme(data, where)
    (target["class"][0] if of_class else target).update(change)
    with pytest.raises(InputError, match=r"data/taxonomy\.toml") as caught:
        parse(data)
    assert complaint in str(caught.value)


def test_another_version_is_refused_as_an_input_error() -> None:
    with pytest.raises(InputError, match="version: Input should be 1"):
        parse({**raw(), "version": 2})
    with pytest.raises(InputError, match="scheme: Field required"):
        parse({"version": 1})


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(["bug_type", "memory_type", "memory_subtype"]), st.text(max_size=12), JUNK, st.booleans())
def test_any_damage_is_an_input_error_or_harmless(where: str, key: str, value: Any, in_class: bool) -> None:
    data = raw()
    target = scheme(data, where)
    target = target["class"][-1] if in_class else target
    keys = sorted(target)
    target[keys[len(key) % len(keys)] if len(key) > 1 else key] = value
    with contextlib.suppress(InputError):
        parse(data)


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), max_size=4))
def test_problems_never_raises(labels: list[tuple[str, str]]) -> None:
    assert len(SHIPPED.problems(labels)) == len(labels)
