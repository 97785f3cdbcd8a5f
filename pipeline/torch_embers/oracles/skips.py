"""The skip ledger inside a build: which tests PyTorch excuses its operators from, and whether they fail today.

``torch.testing._internal`` of an installed build lists for each operator the tests that are expected to fail or are
skipped. ``entries`` prints that list, ``main`` decides entries of the tests of ``TESTS``.
"""

from __future__ import annotations

import random
import signal
import unittest
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import torch

from torch_embers.oracles import chance, skip_list, skip_tests
from torch_embers.oracles.cells import pack
from torch_embers.oracles.oracle_rules import OracleRules
from torch_embers.oracles.repeat import tensors_in
from torch_embers.oracles.skip_list import FAILS, NOTHING, PASSES, UNDECIDED
from torch_embers.oracles.skip_tests import DIFFERS, RIGHT, Given
from torch_embers.oracles.sweep import LARGEST

FLOATS = ("float32", "float64", "complex64", "int64", "bool")
WHOLE = ("bool", "uint8", "int8", "int16", "int32", "int64")
EVERY = (*WHOLE, "float16", "bfloat16", "float32", "float64", "complex64", "complex128")


class Test(NamedTuple):
    """How a test is asked.

    Attributes:
        ask: the oracle.
        dtypes: of the samples.
        one: only the first of them that the operator has.
        gradient: whether samples want gradients.
        reference: whether PyTorch's larger set of samples is taken, with float64 as the default dtype.
    """

    ask: Callable[[Any, Given], Optional[str]]
    dtypes: Tuple[str, ...]
    one: bool = False
    gradient: bool = False
    reference: bool = False


_NUMPY = Test(skip_tests.numpy_ref, ("float64", "int64", "complex128"), reference=True)
TESTS = {
    "test_noncontiguous_samples": Test(
        skip_tests.noncontiguous_samples, ("float32", "int64", "complex64"), gradient=True
    ),
    "test_out": Test(skip_tests.out, FLOATS, one=True),
    "test_out_warning": Test(skip_tests.out_warning, FLOATS, one=True),
    "test_variant_consistency_eager": Test(
        skip_tests.variant_consistency_eager, ("float32", "complex64"), gradient=True
    ),
    "test_neg_view": Test(skip_tests.math_view, ("float64",), gradient=True),
    "test_conj_view": Test(skip_tests.math_view, ("complex64",), gradient=True),
    "test_numpy_ref": _NUMPY,
    "test_numpy_refs": _NUMPY,  # the same test by another name
    "test_dtypes": Test(skip_tests.works, EVERY),
}
"""The tests whose oracle is written anew; entries of all others cannot be decided."""
UNWRITTEN = ("test_dtypes", "test_out_warning")
"""Tests that do not compare values: an operator that leaves memory as it was can be asked."""


def ledger(op_db: Sequence[Any], issues: Mapping[skip_list.Key, Sequence[int]]) -> List[Dict[str, Any]]:
    """The unique expected failures and skips that reach the CPU.

    Args:
        op_db: records of operators; ``decorators`` of each contains its skips.
        issues: cited by operator, test and kind.

    Returns:
        rows with op, test, kind, dtypes (empty: all), issues, and asked: whether an oracle was written. A test without
        a name is ``CLASS.*``.
    """
    found: Dict[Tuple[str, ...], Dict[str, Any]] = {}
    for op in op_db:
        name = skip_list.full_name(op.name, op.variant_test_name)
        if any(getattr(one, "__name__", "") == "onlyCUDA" for one in op.decorators):
            continue  # none of its tests reaches the CPU
        for info in op.decorators:
            if getattr(info, "device_type", "none") not in (None, "cpu") or info.active_if is False:
                continue
            dtypes = sorted(str(dtype).replace("torch.", "") for dtype in info.dtypes or ())
            test = info.test_name or "%s.*" % (info.cls_name or "")
            for kind in filter(None, map(kind_of, info.decorators)):
                cited = issues.get((name, info.test_name or "", kind), ())
                row = {"op": name, "test": test, "kind": kind, "dtypes": dtypes, "issues": list(cited)}
                row["asked"] = test in TESTS
                found.setdefault((name, test, kind, *dtypes), row)
    return list(found.values())


def kind_of(decorator: Any) -> str:
    """Whether a decorator expects a failure or skips; empty where it does neither on a CPU."""
    name = getattr(decorator, "__qualname__", "")
    return skip_list.FAILURE if name == skip_list.FAILURE else skip_list.SKIP if name == _SKIP else ""


_SKIP = unittest.skip("").__qualname__
"""What ``unittest.skip`` and a ``skipIf`` that holds return."""


def entries(_options: Mapping[str, Any]) -> None:
    """Print the ledger of this build."""
    from torch.testing._internal import common_methods_invocations as database

    files = sorted(Path(database.__file__).parent.rglob("*.py"))
    found = skip_list.merged(
        [skip_list.cited(text) for text in (path.read_text("utf-8") for path in files) if "DecorateInfo(" in text]
    )
    print(pack(ledger(database.op_db, found)), flush=True)  # noqa: T201 - the way out of the sandbox


def main(options: Mapping[str, Any]) -> None:
    """Decide entries, one line of output each, in order.

    Args:
        options: ``entries`` as rows of the ledger; ``rules``, the parsed data/oracles.toml; ``limits`` with
            ``samples``, ``seeds`` and ``seconds``.
    """
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    torch.set_warn_always(True)
    warnings.simplefilter("ignore")
    ops = {skip_list.full_name(op.name, op.variant_test_name): op for op in op_db}
    rules = OracleRules(options["rules"])
    for number, entry in enumerate(options["entries"]):
        signal.setitimer(signal.ITIMER_PROF, options["limits"]["seconds"])  # ends what does not come back
        row = decide(ops[entry["op"]], entry, rules, options["limits"])
        print(pack({"at": number, **row}), flush=True)  # noqa: T201 - the way out of the sandbox
    signal.setitimer(signal.ITIMER_PROF, 0)


def decide(op: Any, entry: Mapping[str, Any], rules: OracleRules, limits: Mapping[str, Any]) -> Dict[str, Any]:
    """The state of an entry: state, k right of n answers, and what the first wrong one was."""
    test = TESTS[entry["test"]]
    rule = rules.skip("aten." + op.name)
    if rule is not None and rule.kind == "undefined" and entry["test"] not in UNWRITTEN:
        return state([], "memory is not initialised")
    dtypes = asked(test, op.supported_dtypes("cpu"), entry["dtypes"])
    if not dtypes:
        return {**state([]), "what": "its dtypes are not in the test"}
    default = torch.get_default_dtype()
    try:
        if test.reference:
            torch.set_default_dtype(torch.float64)
        claims = entry["test"] == "test_dtypes"
        return state(list(claimed(op, limits) if claims else answers(op, test, dtypes, limits, rules)))
    except (ImportError, unittest.SkipTest) as error:
        return state([], "needs what the build lacks: %s" % type(error).__name__)
    finally:
        torch.set_default_dtype(default)


def asked(test: Test, supported: Sequence[Any], wanted: Sequence[str]) -> List[Any]:
    """The dtypes in which a test is asked: those of the test that the operator has and the entry names."""
    found = [getattr(torch, name) for name in test.dtypes if not wanted or name in wanted]
    found = [dtype for dtype in found if dtype in supported]
    return found[:1] if test.one else found


def state(said: Sequence[str], undecided: str = "") -> Dict[str, Any]:
    """The state that answers come to.

    Args:
        said: an answer per sample; ``RIGHT`` or what is wrong.
        undecided: why nothing could be asked.
    """
    wrong = [one for one in said if one != RIGHT]
    reached = UNDECIDED if undecided else FAILS if wrong else PASSES if said else NOTHING
    what = undecided or (wrong[0] if wrong else "")
    return {"state": reached, "k": len(said) - len(wrong), "n": len(said), "what": what[:80]}


def answers(op: Any, test: Test, dtypes: Sequence[Any], limits: Mapping[str, Any], rules: OracleRules) -> Iterator[str]:
    """What an oracle says of the samples of an operator, seed by seed."""
    for dtype in dtypes:
        gradient = test.gradient and op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
        for seed in range(1 if test.reference else limits["seeds"]):  # their values are mostly fixed
            for given in samples(op, dtype, gradient, seed, limits["samples"], test.reference):
                said = _said(test.ask, op, given)
                if said == DIFFERS and chance.draws(op, given.args, given.kwargs, rules):
                    said = "drawn numbers differ"
                if said is not None:
                    yield said


def samples(op: Any, dtype: Any, gradient: bool, seed: int, most: int, reference: bool = False) -> List[Given]:
    """Samples of an operator without large tensors: all, or ``most`` that are spread evenly."""
    random.seed(seed)
    torch.manual_seed(seed)
    make = op.reference_inputs if reference else op.sample_inputs
    made = map(Given.of, make("cpu", dtype, requires_grad=gradient))
    found = [one for one in made if all(t.numel() <= LARGEST for t in tensors_in([one.args, one.kwargs]))]
    return [found[at * len(found) // most] for at in range(most)] if len(found) > most else found


def _said(ask: Callable[[Any, Given], Optional[str]], op: Any, given: Given) -> Optional[str]:
    try:
        return ask(op, given)
    except (ImportError, unittest.SkipTest):
        raise
    except Exception as error:  # noqa: BLE001 - the operator is foreign code; what it raises is the answer
        return type(error).__name__


def claimed(op: Any, limits: Mapping[str, Any]) -> Iterator[str]:
    """For each dtype whether the operator works in it exactly where it claims to, forward and backward."""
    ways = [(False, op.supported_dtypes("cpu"))]
    if op.supports_autograd:
        ways.append((True, op.supported_backward_dtypes("cpu")))
    for gradient, claims in ways:
        for name in EVERY:
            dtype = getattr(torch, name)
            if gradient and not (dtype.is_floating_point or dtype.is_complex):
                continue
            try:
                given = samples(op, dtype, gradient, 0, limits["samples"])
                fine = bool(given) and all(_said(skip_tests.works, op, one) == RIGHT for one in given)
            except (ImportError, unittest.SkipTest):
                raise
            except Exception:  # noqa: BLE001 - samples that cannot be made are of a dtype without support
                fine = False
            said = "works though not claimed" if fine else "claimed and fails"
            yield RIGHT if fine == (dtype in claims) else "%s %s%s" % (name, said, " (gradient)" if gradient else "")
