"""Which part of PyTorch: the longest path wins, labels in any case, words only where they are the subject."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers import resources, toml_models
from torch_embers.errors import InputError
from torch_embers.link import components
from torch_embers.link.components import Component, Components

SHIPPED = Components.load()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("c10/core/TensorImpl.h", ("data_path", "c10_core", True)),
        ("c10/cuda/CUDACachingAllocator.cpp", ("data_path", "c10", False)),
        ("torch/utils/hooks.py", ("data_path", "torch_utils", True)),
        ("torch/utils/data/dataloader.py", ("data_path", "data_loading", True)),
        ("torch/backends/cuda/__init__.py", ("data_path", "backends", True)),
        ("torch/sparse/_triton_ops.py", ("data_path", "sparse", True)),
        ("torch/nested/_internal/nested_tensor.py", ("data_path", "nested", True)),
        ("torch/distributed/tensor/_api.py", ("data_path", "dtensor", True)),
        ("torch/distributed/pipelining/stage.py", ("data_path", "pipelining", True)),
        ("aten/src/ATen/native/TensorIterator.cpp", ("data_path", "aten_core", False)),
        ("aten/src/ATen/native/TensorCompare.cpp", ("data_path", "native_cpu", False)),
        ("aten/src/ATen/native/mps/operations/Pow.mm", ("data_path", "native_mps", False)),
        ("aten/src/ATen/native/nested/cuda/x.cu", ("data_path", "nested", False)),
        ("torch/storage.py", ("data_path", "storage", False)),
        ("torch/csrc/autograd/python_variable_indexing.cpp", ("data_path", "indexing", False)),
        ("torch/csrc/autograd/engine.cpp", ("computation", "autograd_engine", False)),
        ("torch/autograd/function.py", ("computation", "autograd", False)),
        ("torch/nn/modules/conv.py", ("computation", "nn", False)),
        ("torch/optim/adam.py", ("computation", "optim", False)),
    ],
)
def test_the_longest_path_decides(path: str, expected: tuple[str, str, bool]) -> None:
    assert SHIPPED.by_path(path) == Component(*expected)


def test_other_paths_are_no_part() -> None:
    others = ("", "/", "README.md", "torch/utilsx/a.py", "xtorch/utils/a.py", "docs/c10/core/a.md")
    assert [path for path in others if SHIPPED.by_path(path)] == []


def test_labels_match_in_any_case_and_others_say_nothing() -> None:
    assert SHIPPED.by_label("Module: Sparse") == Component("data_path", "sparse", strict=True)
    assert SHIPPED.by_label("module: memory format") == Component("data_path", "memory_layout", strict=False)
    assert SHIPPED.by_label("module: optimizer") == Component("computation", "optim", strict=False)
    assert SHIPPED.by_label("triaged") is None


@pytest.mark.parametrize(
    ("title", "body", "sub"),
    [
        ("op is wrong", "only for non-contiguous input", "memory_layout"),
        ("op is wrong with strided input", "", "memory_layout"),
        ("conv is wrong", "x.to(memory_format=torch.channels_last)", "memory_layout"),
        ("op dies", "Segmentation fault (core dumped)", "memory_safety"),
        ("op dies", "RuntimeError: CUDA error: an illegal memory access was encountered", "memory_safety"),
        ("DataLoader hangs", "", "data_loading"),
        ("training stops", "RuntimeError: DataLoader worker (pid 12) is killed by signal", "data_loading"),
        ("pin_memory fails", "", "device_memory"),
        ("op is wrong", "a.to_sparse_csr()", "sparse"),
        ("op is wrong", "for nested tensors", "nested"),
        ("op is wrong", "index beyond 2**31", "indexing"),
        ("[MPS] op is wrong", "", "native_mps"),
        ("torch.load fails", "", "serialization"),
    ],
)
def test_words_of_a_report_name_a_part_of_the_data_path(title: str, body: str, sub: str) -> None:
    found = {hit.component.subcomponent for hit in SHIPPED.by_text(title, body)}
    assert sub in found


def test_words_in_passing_name_nothing() -> None:
    code = "nn.Conv2d(1, 2, 3, stride=1); DataLoader(d, num_workers=2, pin_memory=True)"
    words = "discontiguous words, besegfaulted, indexes of stock, .cuda() and torch.save(x)"
    for title, body in (("the docs are unclear", code), ("a question", words), (None, None)):
        assert SHIPPED.by_text(title, body) == [], title


def test_needed_words_never_hide_a_match() -> None:
    # a word that `needs` forgets would silence its own pattern: try every literal alternative of each pattern
    for part in resources.load_toml("components.toml")["part"]:
        for rule in part.get("text", ()):
            literals = re.findall(r"(?<![\w\\\[(?:.{])[a-z][a-z_. ]{3,}(?![\w\[(?{])", rule["pattern"])
            for literal in literals:
                text = f" {literal} "
                if re.search(rule["pattern"], text) and "needs" in rule:
                    assert any(word in text for word in rule["needs"]), (part["name"], literal)


@given(st.text(max_size=60), st.text(max_size=200))
def test_any_text_gives_each_component_at_most_once(title: str, body: str) -> None:
    parts = [hit.component for hit in SHIPPED.by_text(title, body)]
    assert len(parts) == len(set(parts))


PART = {"name": "a", "component": "data_path", "meaning": "m", "paths": ["x"]}
OTHER = PART | {"name": "b"}


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ([PART | {"component": "y"}], "part \"a\": component: Input should be 'data_path' or 'computation'"),
        ([{"name": "a", "component": "data_path"}], 'part "a": meaning: Field required'),
        ([PART | {"path": ["y"]}], 'part "a": path: Extra inputs are not permitted'),
        ([PART, PART | {"paths": []}], "part 'a': more than one entry"),
        ([PART, OTHER], "path 'x': more than one entry"),
        ([PART | {"strict_paths": ["x"]}], "path 'x': more than one entry"),
        ([PART | {"labels": ["A", "a"]}], "label 'a': more than one entry"),
        (
            [PART | {"text": [{"in": "any", "pattern": "x+"}]}],
            'part "a": text number 1: pattern: every repetition needs an upper bound: x+',
        ),
        (
            [PART | {"text": [{"in": "any", "pattern": "("}]}],
            'part "a": text number 1: pattern: missing ), unterminated subpattern at position 0: (',
        ),
    ],
)
def test_a_bad_table_is_refused_with_file_entry_and_key(parts: list[dict[str, Any]], complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        toml_models.validate(Components, {"part": parts}, components.FILE)
    assert str(caught.value) == f"data/components.toml: {complaint}"
