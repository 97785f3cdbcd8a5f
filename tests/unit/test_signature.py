"""Signatures: declared, seen, compared."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers import signature
from torch_embers.signature import (
    KINDS,
    SIGNALS,
    Signature,
    SignatureError,
    any_matches,
    from_traceback,
    matches,
    normalise,
    parse,
    parse_family,
    signal_name,
)

TRACEBACK = """some output
Traceback (most recent call last):
  File "/home/someone/first.py", line 3, in <module>
    f()
  File "/home/someone/second.py", line 30, in f
    torch.add(a, b)
RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0
Exception raised from infer_size at ../aten/src/ATen/ExpandUtils.cpp:31
frame #0: c10::Error
"""


def test_numbers_addresses_and_paths_are_taken_out_of_messages() -> None:
    assert normalise("bad 3.5e-3 at 0x7ffee1 in /usr/lib/python3/x.py\n  twice") == "bad N at 0xADDR in PATH twice"
    assert normalise("in /0//0/0") == "in PATH", "also with a slash twice"
    assert normalise("shapes cannot be multiplied (1x10 and 100x50)") == "shapes cannot be multiplied (NxN and NxN)"


@given(st.text(max_size=500) | st.text("0xADRN 1./e", max_size=60))
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert len(once) <= signature.LONGEST_MESSAGE


@pytest.mark.parametrize("text", [*KINDS, *SIGNALS, "RuntimeError", "IndexError: out of range"])
def test_every_declaration_is_read_and_matches_itself(text: str) -> None:
    assert matches(parse(text), parse(text))


def test_a_declaration_without_meaning_is_refused() -> None:
    texts = ["", "  ", "wrong", "SIGSEGV: with a message", "lower case", "Runtime Error", "1Error"]
    others: list[Any] = [[3], 3, [], None, ["SIGSEGV", 1], {"a": 1}]
    for declared in (*texts, *others):
        with pytest.raises(SignatureError):
            parse_family(declared)


def test_the_last_traceback_tells_exception_message_and_place() -> None:
    seen = from_traceback(TRACEBACK)
    assert seen is not None
    assert (seen.kind, seen.type, seen.place) == ("exception", "RuntimeError", "second.py:f")
    assert seen.message.startswith("The size of tensor a (N) must match")
    assert "ExpandUtils" not in seen.message
    chained = "Traceback (most recent call last):\nKeyError: 'a'\n\nTraceback (most recent call last):\nm.CustomError: second\n"
    assert from_traceback(chained) == Signature("exception", "CustomError", "second")


def test_of_odd_outputs_the_signature_is_read_all_the_same() -> None:
    long = "got RuntimeError('a" + "\\n#" * 9000
    seen = from_traceback(f"Traceback (most recent call last):\nx.TorchRuntimeError: {long}")
    assert (seen.type, seen.message[:18]) == ("TorchRuntimeError", "got RuntimeError('")  # type: ignore[union-attr]
    unreadable = '  File "x.py", line 1\n    >>> import torch\n    ^^\nSyntaxError: invalid syntax\n'
    assert from_traceback(unreadable) == Signature("exception", "SyntaxError", "invalid syntax")
    assert from_traceback("RuntimeError: only printed") is None
    assert from_traceback("x" * 1_000_000 + "\n" + TRACEBACK) == from_traceback(TRACEBACK)


def test_a_message_with_other_numbers_is_the_same_failure() -> None:
    declared = parse_family("RuntimeError: size of tensor a (7) must match")
    assert any_matches(declared, from_traceback(TRACEBACK))
    assert not any_matches(parse_family("RuntimeError: another message"), from_traceback(TRACEBACK))
    assert not any_matches(parse_family("IndexError"), from_traceback(TRACEBACK))


def test_a_family_takes_any_of_its_members_and_nothing_else() -> None:
    family = parse_family(["mismatch", "SIGSEGV", "SIGABRT"])
    assert any_matches(family, Signature("signal", "SIGABRT"))
    assert not any_matches(family, Signature("signal", "SIGFPE"))
    assert not any_matches(family, None)
    assert matches(parse("signal"), Signature("signal", "SIGFPE"))
    assert (parse("AssertionError").kind, parse("OutOfMemoryError").kind) == ("assertion", "memory")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("numpy._core._exceptions._ArrayMemoryError", "Unable to allocate 298. GiB for an array with shape (2, 2)"),
        ("RuntimeError", "[enforce fail] DefaultCPUAllocator: can't allocate memory"),
        ("RuntimeError", "Invalid buffer size: 298.02 GiB"),
        ("RuntimeError", "could not allocate 4096 bytes"),
        ("RuntimeError", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        ("RuntimeError", "std::bad_array_new_length"),
    ],
)
def test_a_refused_allocation_is_exhausted_memory_whoever_says_so(name: str, said: str) -> None:
    seen = from_traceback(f"Traceback (most recent call last):\n{name}: {said}\n")
    assert seen is not None
    assert seen.kind == "memory"


@given(st.text(max_size=2000))
def test_any_output_can_be_looked_at(text: str) -> None:
    from_traceback(text)
    from_traceback("Traceback (most recent call last):\n" + text)


@given(st.integers(1, 64), st.sampled_from(["linux", "darwin"]))
def test_every_signal_has_a_name(number: int, platform: str) -> None:
    assert signal_name(number, platform).startswith("SIG")
