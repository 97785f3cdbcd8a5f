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
        ("except RuntimeError as e:\n    if 'dtype' in str(e):\n        print(e)\n    return 0, 'r'", "RuntimeError"),
        ("except Exception as e:\n    if 'memory' not in str(e):\n        return 0, 'refused'\n    raise", "Exception"),
        ("except Exception:\n    if 'mode' in str(other):\n        raise\n    return 0, 'refused'", "Exception"),
        ("except Exception:\n    if True:\n        return 0, 'refused'\n    return 125, 'unreached'", "Exception"),
        ("except Exception as e:\n    if '' in str(e):\n        return 0, 'refused'\n    raise", "Exception"),
        (
            "except Exception as e:\n    for w in 'ab':\n        if w in str(e):\n            break\n    return 0, 'r'",
            "Exception",
        ),
        ("except Exception as e:\n    try:\n        return 0, str(e)\n    finally:\n        pass", "Exception"),
        (
            "except Exception as e:\n    match str(e):\n        case 'dtype':\n            return 0, 'r'\n        case _:\n            return 0, 'r'",
            "Exception",
        ),
        ("except* RuntimeError as e:\n    ended = 0, str(e)", "RuntimeError"),
        ("except Exception as e:\n    if ' ' in str(e):\n        return 0, 'r'\n    raise", "Exception"),
        (
            "except Exception as e:\n    if any(c in str(e) for c in 'aeiou'):\n        return 0, 'r'\n    raise",
            "Exception",
        ),
        (
            "except Exception as e:\n    if any(w in str(e) for w in ('dtype', '')):\n        return 0, 'r'\n    raise",
            "Exception",
        ),
        ("except Exception as e:\n    if re.search('.', str(e)):\n        return 0, 'r'\n    raise", "Exception"),
        ("except Exception as e:\n    if re.search('dtype|', str(e)):\n        return 0, 'r'\n    raise", "Exception"),
        ("finally:\n    return 0, 'refused'", "finally"),
        ("finally:\n    if True:\n        return 0, 'refused'", "finally"),
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
        "except Exception:\n    torch.clear()\n    raise",
        "except Exception as e:\n    if str(e).lower().startswith('same dtype'):\n        return 0, 'refused'\n    raise",
        "except Exception as e:\n    if re.search('same dtype', e.args[0]):\n        return 0, 'refused'\n    raise",
        "except Exception as e:\n    if re.search('same dtype', str(e)) is None:\n        raise\n    return 0, 'refused'",
        "except Exception as e:\n    said = f'{e}'.strip()\n    if 'same dtype' in said:\n        return 0, 'r'\n    raise",
        "except Exception as e:\n    if 'same dtype' in (said := repr(e)):\n        return 0, said\n    raise",
        "except Exception as e:\n    if not any(w in str(e) for w in ('dtype', 'type')):\n        raise\n    return 0, 'r'",
        "except Exception as e:\n    if 'dtype' not in str(e) and 'type' not in str(e):\n        raise\n    return 0, 'r'",
        "except Exception as e:\n    if 'dtype' in e.args[0] or e.args == ('type',):\n        return 0, 'r'\n    return 125, 'other'",
        "except Exception as e:\n    assert 'same dtype' in str(e)\n    return 0, 'refused'",
        "except Exception as e:\n    self.assertIn('same dtype', '%s' % e)\n    return 0, 'refused'",
        "except Exception as e:\n    with open('x') as f:\n        if 'same dtype' in str(e):\n            return 0, 'r'\n        raise",
        "except Exception as e:\n    match str(e):\n        case 'same dtype':\n            return 0, 'refused'\n    raise",
        "except* RuntimeError as e:\n    if 'same dtype' not in str(e.exceptions[0]):\n        raise",
        "except ZeroDivisionError as e:\n    if not isinstance(e, ZeroDivisionError):\n        raise\n    return 0, 'refused'",
    ],
)
def test_a_handler_that_looks_at_the_message_or_decides_nothing_is_none(handler: str) -> None:
    assert unnamed(handler) == []


@pytest.mark.parametrize(
    ("body", "caught"),
    [
        ("with suppress(Exception):\n    torch.zeros(1)", ["Exception"]),
        ("with contextlib.suppress(RuntimeError, ValueError):\n    torch.zeros(1)", ["RuntimeError, ValueError"]),
        ("with suppress(ImportError):\n    import torch", []),
        ("with raises(Exception):\n    torch.zeros(1)", ["Exception"]),
        ("with self.assertRaises(RuntimeError) as caught:\n    torch.zeros(1)", ["RuntimeError"]),
        ("with pytest.raises(RuntimeError, match='same dtype'):\n    torch.zeros(1)", []),
        ("with self.assertRaisesRegex(RuntimeError, 'same dtype'):\n    torch.zeros(1)", []),
        ("with raises(RuntimeError) as caught:\n    torch.zeros(1)\nassert 'same dtype' in str(caught.value)", []),
    ],
)
def test_a_context_that_swallows_exceptions_is_a_handler(body: str, caught: list[str]) -> None:
    assert [found.caught for found in refusals.unnamed(case_of(body + "\n"))] == caught


def test_a_helper_must_ask_for_type_and_words() -> None:
    handler = "except BaseException as error:\n    raise SystemExit(3 if is_refusal(error) else 6)"
    assert unnamed(handler, "isinstance(error, RuntimeError) and 'same dtype' in str(error)") == []
    assert unnamed(handler, "isinstance(error, RuntimeError)") == ["BaseException"]
    assert unnamed(handler, "'same dtype' in str(error)") == ["BaseException"]


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
