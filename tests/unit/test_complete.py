"""Completion: what a report leaves out is added and recorded, what cannot be known is a reason."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import example_count
from torch_embers import toml_models
from torch_embers.errors import InputError
from torch_embers.repro import rules
from torch_embers.repro.complete import Completed, complete, from_session
from torch_embers.repro.sessions import Chunk
from torch_embers.resources import load_toml

MPS = "x = torch.ones(2, device='mps')\nprint(x)"


def actions(found: Completed) -> list[str]:
    return [edit.action for edit in found.edits]


def script(code: str, title: str = "", evidence: str = "") -> str:
    found = complete(code, title=title, evidence=evidence)
    assert found.runnable, (found.reason, found.detail)
    ast.parse(found.script)
    return found.script


def refused(code: str) -> tuple[str, str]:
    found = complete(code)
    assert not found.runnable, found.script
    return found.reason, found.detail


# ---- names ---------------------------------------------------------------------------------------------------------


def test_forgotten_imports_are_added() -> None:
    found = complete("x = Variable(torch.ones(2))\ny = F.relu(nn.Linear(2, 2)(x))\nprint(np.array(y.data), math.pi)")
    for line in (
        "import torch\n",
        "import torch.nn as nn",
        "functional as F",
        "import numpy as np",
        "import math",
        "Variable",
    ):
        assert line in found.script
    assert found.requires == ("package:numpy",)
    assert actions(found).count("import_added") == 6


def test_a_name_is_imported_only_where_its_use_fits() -> None:
    assert refused("print(torch.ones(time))") == ("fragment", "time")
    assert "import time" in script("print(torch.ones(2), time.time())")


def test_typical_sizes_get_a_default_and_tensors_do_not() -> None:
    found = complete("import torch\nx = torch.zeros(batch_size, hidden_size, device=device)\nprint(x)")
    assert "batch_size = 2\n" in found.script
    assert "hidden_size = 16\n" in found.script
    assert actions(found).count("default_added") == 3
    assert refused("print(torch.relu(inputs), model(targets))") == ("fragment", "inputs, model, targets")


def test_names_of_functions_comprehensions_and_classes_are_no_undefined_names() -> None:
    code = """
import torch
class M(torch.nn.Module):
    size = 3
    def forward(self, x, *rest, **more):
        global made
        made = [y for y in x if (z := y) is not None]
        return lambda a: a + len(rest) + len(more) + __class__.size
with torch.no_grad() as g:
    print(M()(torch.ones(2)), g, __file__)
try:
    print(made)
except Exception as e:
    print(e)
"""
    script(code)


def test_a_name_read_before_it_is_set_and_a_call_left_open_are_fragments() -> None:
    assert refused("y.add_(torch.ones(2))\ny = torch.add(y, 1)") == ("fragment", "y (before it is set)")
    assert refused("import torch\nx = torch.ones(...)\n") == ("fragment", "arguments left out")
    script("import torch\nfor i in range(2):\n    if i:\n        print(x)\n    x = torch.ones(2)\n")


def test_star_imports_of_torch_may_bring_a_name() -> None:
    script("from torch.nn import *\nprint(Linear(2, 2), SomethingNew())")


def test_names_of_python2_become_present_ones() -> None:
    found = complete("for i in xrange(3):\n    print torch.ones(i)")
    assert "range(3)" in found.script
    assert "python2" in actions(found)


# ---- devices -------------------------------------------------------------------------------------------------------


def test_cuda_becomes_any_device_where_the_bug_is_not_about_it() -> None:
    found = complete(
        "x = torch.ones(2, device='cuda:0').cuda(non_blocking=True)\ntorch.cuda.synchronize()\nprint(x.cuda())"
    )
    assert 'embers_device = "cuda" if torch.cuda.is_available() else "cpu"' in found.script
    assert "torch.ones(2, device=embers_device).to(embers_device)" in found.script
    assert "(torch.cuda.is_available() and torch.cuda.synchronize())" in found.script
    assert found.requires == ()


@pytest.mark.parametrize(
    ("title", "evidence", "code"),
    [
        ("softmax is wrong on GPU", "", "print(torch.ones(2).cuda())"),
        ("softmax is wrong", "CUDA error: device-side assert triggered", "print(torch.ones(2).cuda())"),
        ("", "", "x = torch.ones(2, device='cuda')\nprint(torch.cuda.memory_allocated())"),
        ("", "", "print(torch.ones(2, device='cuda:1'))"),
        ("", "", "print(torch.ones(2, device='cuda') == torch.ones(2, device='cpu').cuda())"),
        ("", "", "if not torch.cuda.is_available():\n    raise SystemExit\nprint(torch.ones(2).cuda())"),
        ("", "", "print(torch.ones(2).pin_memory())"),
        ("", "", "assert torch.cuda.is_available()\nprint(torch.ones(2).cuda())"),
    ],
)
def test_cuda_stays_where_the_bug_is_about_it(title: str, evidence: str, code: str) -> None:
    found = complete(code, title=title, evidence=evidence)
    assert found.requires == ("cuda",)
    assert "device_agnostic" not in actions(found)


def test_a_script_that_chooses_its_device_is_left_alone() -> None:
    code = "import torch\nd = 'cuda' if torch.cuda.is_available() else 'cpu'\nprint(torch.ones(2, device=d))\n"
    assert script(code) == code


def test_mps_is_required_and_unknown_devices_are_refused() -> None:
    assert complete(MPS).requires == ("mps",)
    assert refused("print(torch.ones(2, device='xpu'))") == ("other_device", "xpu")


def test_half_precision_is_widened_only_with_a_device_that_went() -> None:
    assert "x.float()" in script("x = torch.ones(2).cuda()\nprint(x.half())")
    assert "x.half()" in script("x = torch.ones(2)\nprint(x.half())")
    assert "half()" in script("x = torch.ones(2).cuda()\nprint(x.half())", title="wrong sum in fp16")


def test_torchscript_gets_a_constant_device() -> None:
    assert 'device="cpu"' in script("@torch.jit.script\ndef f():\n    return torch.ones(2, device='cuda')\nprint(f())")


# ---- drift ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("torch.symeig(a, eigenvectors=True)", "torch.linalg.eigh(a)"),
        ("a.symeig(eigenvectors=True)", "torch.linalg.eigh(a)"),
        ("torch.gesv(b, a)", "torch.linalg.solve(a, b)"),
        ("Variable(a, volatile=True)", "Variable(a)"),
        ("loss.data[0]", "loss.item()"),
        ("a.sum().data[0]", "a.sum().item()"),
        ("{}.iteritems()", "{}.items()"),
        ("np.float(a)", "float(a)"),
    ],
)
def test_old_apis_are_replaced(old: str, new: str) -> None:
    head = "import torch\nimport numpy as np\nfrom torch.autograd import Variable\na = b = loss = torch.ones(2, 2)\n"
    found = complete(f"{head}print({old})\n")
    assert f"print({new})" in found.script
    assert set(actions(found)) <= {"api_drift", "python2"}
    assert actions(found)


def test_an_api_without_a_successor_asks_for_an_old_torch() -> None:
    assert complete("print(torch.rfft(torch.ones(2), 1))").requires == ("torch<1.8",)


def test_an_alias_of_torch_is_understood() -> None:
    assert "torch.linalg.eigh(th.ones(2, 2))" in script("import torch as th\nprint(th.symeig(th.ones(2, 2)))")


# ---- what cannot run -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "reason", "detail"),
    [
        (
            "import torchvision\nm = torchvision.models.resnet18()\nprint(m(torch.ones(1)))",
            "model_zoo",
            "torchvision.models",
        ),
        ("from transformers import AutoModel\nprint(AutoModel(torch.ones(1)))", "model_zoo", "transformers"),
        ("import torch\nm = torch.hub.load('a', 'b')", "model_zoo", "torch.hub"),
        ("from my_project import net\nprint(net(torch.ones(1)))", "external_package", "my_project"),
        ("from .net import net\nprint(net(torch.ones(1)))", "external_package", "relative"),
        ("print(torch.load('weights.pth'))", "external_data", "weights.pth"),
        ("print(torch.ones(1), open(folder + '/x').read())\nfolder = 'a'", "external_data", "?"),
        (
            "import torch.distributed as dist\ndist.init_process_group('nccl')",
            "distributed_cluster",
            "init_process_group",
        ),
        ("x = torch.ones(1)\ndist.all_reduce(x)", "distributed_cluster", "all_reduce"),
        ("plt.plot(torch.ones(1))\nm = models.resnet18()", "model_zoo", "torchvision.models"),
        ("from torch.utils.cpp_extension import load_inline\nload_inline('x')", "cpp_extension", "cpp_extension"),
        ("print(torch.ones(int(input())))", "interactive", "input"),
        ("import sys, torch\nprint(torch.ones(int(sys.argv[1])))", "interactive", "sys.argv"),
        ("import triton\n@triton.jit\ndef f(): pass\nprint(torch.ones(1))", "other_device", "triton"),
        ("import torch\nprint(torch.__version__)", "install_or_build", "imports"),
        ("import torch\nclass M(torch.nn.Module):\n    pass", "fragment", "only definitions"),
        ("return torch.ones(2)", "fragment", "outside of a function"),
        ("print(1)\nx = len([2])", "fragment", "nothing of torch"),
        ("x = = torch.ones(2)", "syntax", "line 1"),
        ("import torch\n" + "x = torch.ones(2)\n" * 1300, "too_large", "lines"),
    ],
)
def test_what_no_run_here_can_serve_has_one_reason(code: str, reason: str, detail: str) -> None:
    found = refused(code)
    assert found[0] == reason
    assert detail in found[1]
    assert reason in rules.load().reasons


def test_a_file_that_the_script_writes_is_no_missing_data() -> None:
    script("torch.save(torch.ones(2), 'x.pt')\nprint(torch.load('x.pt'))")
    script("import io\nb = io.BytesIO()\ntorch.save(torch.ones(2), b)\nb.seek(0)\nprint(torch.load(b))")


def test_a_fake_process_group_talks_to_nobody() -> None:
    script(
        "import torch.distributed as dist\ndist.init_process_group(backend='fake', rank=0, world_size=2)\nprint(torch.ones(1))"
    )


def test_packages_that_are_not_used_go() -> None:
    found = complete("import torch, torchvision\nfrom PIL import Image\nprint(torch.ones(2))")
    assert found.script == "import torch\npass\nprint(torch.ones(2))\n"
    assert "import_removed" in actions(found)


def test_progress_bars_plots_and_debuggers_go() -> None:
    found = complete(
        "import torch, pdb\nfrom tqdm import tqdm\nimport matplotlib.pyplot as plt\n"
        "for i in tqdm(range(2)):\n    pdb.set_trace()\n    x = torch.ones(i)\nfig, ax = plt.subplots()\nax.plot(x)\nplt.show()"
    )
    assert found.runnable
    assert {"shim_added", "plot_removed", "debugger_removed", "import_removed"} <= set(actions(found))
    assert "plt" not in found.script


def test_a_package_that_a_build_may_have_is_a_requirement() -> None:
    assert complete("import scipy.linalg\nprint(scipy.linalg.svd(torch.ones(2, 2)))").requires == ("package:scipy",)


# ---- running, and running the same ---------------------------------------------------------------------------------


def test_random_inputs_are_seeded_after_the_imports() -> None:
    found = complete("import torch\nimport numpy as np\nprint(torch.randn(2), np.random.rand(2))")
    assert found.script.startswith("import torch\nimport numpy as np\ntorch.manual_seed(0)\nnp.random.seed(0)\n")


def test_a_late_import_does_not_mislead_the_seed() -> None:
    code = script("import torch\nx = 1\nimport random\nprint(torch.ones(random.randint(1, 2)))")
    assert code.index("import random") < code.index("random.seed(0)")


@pytest.mark.parametrize(
    ("title", "code"),
    [
        ("", "import torch\ntorch.manual_seed(3)\nprint(torch.randn(2))"),
        ("Generator ignores its seed", "import torch\nprint(torch.randn(2))"),
        ("", "import torch\nprint(torch.ones(2))"),
    ],
)
def test_no_seed_where_one_is_there_or_the_bug_is_about_it_or_nothing_is_random(title: str, code: str) -> None:
    assert script(code, title=title) == code + "\n"


def test_functions_that_nobody_calls_are_called() -> None:
    assert script("import torch\ndef test_it():\n    print(torch.ones(2))").endswith("\ntest_it()\n")
    assert "unittest.main()" in script(
        "import torch, unittest\nclass T(unittest.TestCase):\n    def test(self): torch.ones(2)"
    )


def test_docstring_and_future_imports_stay_first() -> None:
    code = script('"""Why."""\nfrom __future__ import annotations\nprint(torch.randn(2).cuda())')
    assert code.startswith('"""Why."""\nfrom __future__ import annotations\n')


def test_printed_values_between_lines_become_comments_and_bare_values_are_printed() -> None:
    found = complete("import torch\nx = torch.ones(2)\nx\ntensor([1., 1.])\nx.sum()")
    assert "print(x)\n# tensor([1., 1.])\n" in found.script


def test_a_session_prints_what_it_showed_and_leaves_slips_out() -> None:
    slip = "Traceback (most recent call last):\n  File\nNameError: name 'y' is not defined"
    fails = "Traceback (most recent call last):\n  File\nRuntimeError: no"
    chunks = [
        Chunk("import torch", ""),
        Chunk("print(torch.ones(1))", "tensor([1.])"),
        Chunk("y", slip),
        Chunk("y = torch.ones(2)", ""),
        Chunk("y.sum()", "tensor(2.)"),
        Chunk("y[5]", fails),
    ]
    code, edits = from_session(chunks)
    assert code == "import torch\nprint(torch.ones(1))\ny = torch.ones(2)\nprint(y.sum())\ny[5]\n"
    assert [edit.action for edit in edits] == ["failed_statement_removed", "expression_printed"]


# ---- rules ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["a+", "a*", "a{3,}", "(", "[a-z]+x"])
def test_patterns_without_an_upper_bound_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"upper bound|unterminated"):
        rules.pattern(text)


def test_a_file_of_another_version_is_refused() -> None:
    shipped = load_toml(rules.FILE)
    for changed, message in (
        (shipped | {"version": 2}, "data/extraction.toml: version: "),
        ({key: value for key, value in shipped.items() if key != "limits"}, "data/extraction.toml: limits: "),
        (
            shipped | {"reason": [e for e in shipped["reason"] if e["id"] != "model_zoo"]},
            "no reason is called 'model_zoo'",
        ),
        (shipped | {"line": [shipped["line"][0] | {"pattern": "a+"}]}, 'line "diff": pattern: every repetition'),
        (shipped | {"device": shipped["device"] | {"title_reason": ""}}, 'device: key "title" has no reason'),
    ):
        with pytest.raises(InputError) as caught:
            toml_models.validate(rules.Rules, changed, rules.FILE)
        assert message in str(caught.value)


@settings(max_examples=example_count(60))
@given(
    st.lists(
        st.sampled_from(
            [
                "import torch",
                "x = torch.randn(2).cuda()",
                "    y = x.half()",
                "for i in xrange(3):",
                "if x: pass",
                "print x",
                "w, v = torch.symeig(x, eigenvectors=True)",
                "from tqdm import tqdm",
                "import torchvision",
                "x",
                "def main():",
                "    print(f'{x.cuda()}')",
                "s = '\u00e9'; z = x.cuda()",
                "x = (torch.ones(2,",
                "   device='cuda'))",
                "lambda: x.cuda().cuda()",
                "# RuntimeError: no",
                "tensor([1.])",
                "y = torch.ones(B, device=device)",
                "async def f(): await g()",
                "match x:",
                "    case [a, *b]: pass",
            ]
        ),
        max_size=14,
    )
)
def test_a_runnable_script_parses_and_defines_all_it_uses(lines: list[str]) -> None:
    found = complete("\n".join(lines))
    assert bool(found.reason) != found.runnable
    if found.runnable:
        ast.parse(found.script)
        again = complete(found.script)
        assert again.runnable
        assert not {"import_added", "default_added", "python2", "api_drift"} & set(actions(again))
