"""A refusal counts as right behaviour only with the expected type and message."""

from __future__ import annotations

import pytest

from support import case_of
from torch_embers.errors import InputError
from torch_embers.repro import case as cases
from torch_embers.repro.checks import refusals

CALL = "import torch\n\n\ndef main():\n    try:\n        torch.zeros(1)\n    {handler}\n    return 1, 'accepted'\n"
HELPER = "\n\ndef is_refusal(error):\n    return {test}\n"


def unnamed(handler: str, helper: str = "") -> list[str]:
    code = CALL.format(handler=handler.replace("\n", "\n    ")) + (HELPER.format(test=helper) if helper else "")
    return [found.caught for found in refusals.unnamed(case_of(code))]


@pytest.mark.parametrize(
    ("handler", "caught"),
    [
        ("except RuntimeError:\n    return 0, 'refused'", "RuntimeError"),
        ("except RuntimeError as error:\n    return 0, 'refused: %s' % str(error)", "RuntimeError"),
        ("except (RuntimeError, ValueError):\n    pass", "(RuntimeError, ValueError)"),
        ("except BaseException:\n    raise SystemExit(3)", "BaseException"),
        ("except:\n    return 0, 'refused'", ""),
    ],
)
def test_a_handler_that_takes_any_message_is_named(handler: str, caught: str) -> None:
    assert unnamed(handler) == [caught]


@pytest.mark.parametrize(
    "handler",
    [
        "except RuntimeError as error:\n    if 'same dtype' not in str(error):\n        raise\n    return 0, 'refused'",
        "except RuntimeError as error:\n    if 'same dtype' in str(error):\n        return 1, 'seen'\n    raise",
        "except Exception as error:\n    return 125, 'cannot be tested here: %s' % error",
        "except NotImplementedError:\n    return 125, 'no such product'",
        "except ImportError:\n    from torch import other",
        "except ValueError:\n    raise",
    ],
)
def test_a_handler_that_looks_at_the_message_or_decides_nothing_is_none(handler: str) -> None:
    assert unnamed(handler) == []


def test_a_helper_must_ask_for_type_and_words() -> None:
    handler = "except BaseException as error:\n    raise SystemExit(3 if is_refusal(error) else 6)"
    assert unnamed(handler, "isinstance(error, RuntimeError) and 'same dtype' in str(error)") == []
    assert unnamed(handler, "isinstance(error, RuntimeError)") == ["BaseException"]
    assert unnamed(handler, "'same dtype' in str(error)") == ["BaseException"]


def test_every_shipped_case_names_its_refusals_or_has_a_reason() -> None:
    assert refusals.check(cases.shipped()) == []


def test_an_entry_without_a_handler_is_an_error() -> None:
    with pytest.raises(InputError, match=r"refusals.toml: pt.* has no unnamed `except"):
        refusals.check([])


def test_no_case_takes_a_refused_allocation_for_a_refusal() -> None:
    allocator = (
        "[enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: can't allocate memory: you tried to allocate "
    )
    spoken = (
        allocator + "8796093022208 bytes. Error code 12 (Cannot allocate memory)",
        "std::bad_alloc",
        "out of memory",
    )
    for case in cases.shipped():
        if "def is_refusal(" in case.code:
            namespace: dict[str, object] = {"__name__": case.name}
            exec(case.code.split("\ndef main(")[0], namespace)
            is_refusal = namespace["is_refusal"]
            assert callable(is_refusal)
            for text in spoken:
                assert not is_refusal(RuntimeError(text)), (case.name, text)
                assert not is_refusal(MemoryError(text)), (case.name, text)
