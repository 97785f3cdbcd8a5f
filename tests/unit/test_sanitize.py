"""`embers sanitize`: an unchanged script, its findings by line, JSON, SARIF, cases and exit codes."""

import sys

import pytest

pytest.importorskip("torch")


from torch_embers.errors import InputError
from torch_embers.hunt import sanitize
from torch_embers.oracles import attach
from torch_embers.oracles.finding import Finding


def test_places_that_cannot_be_written_are_refused_before_the_script_runs(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    sanitize.check_places(tmp_path / "out.sarif", tmp_path / "cases")
    with pytest.raises(InputError, match="--sarif"):
        sanitize.check_places(tmp_path / "none" / "out.sarif", None)
    with pytest.raises(InputError, match="--cases"):
        sanitize.check_places(None, tmp_path / "file")
    with pytest.raises(InputError, match="cannot start"):
        sanitize.sanitize(tmp_path / "file", python=tmp_path / "python")


def test_a_full_disk_does_not_end_a_training(tmp_path, capsys, monkeypatch):
    (tmp_path / "script.py").write_text("print('trained')", encoding="utf-8")
    options = {"script": str(tmp_path / "script.py"), "arguments": [], "report": str(tmp_path / "none" / "report")}
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    with pytest.raises(SystemExit) as ended:
        attach.main({**options, "oracles": [], "rules": {}, "every": 1, "ops": []})
    assert ended.value.code == 0
    said = capsys.readouterr()
    assert said.out == "trained\n"
    assert "findings cannot be kept" in said.err


def test_a_missing_script_and_an_unknown_oracle_are_refused(tmp_path):
    with pytest.raises(InputError, match="no script"):
        sanitize.sanitize(tmp_path / "none.py")
    (tmp_path / "script.py").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="no oracle 'odd'"):
        sanitize.sanitize(tmp_path / "script.py", oracles="odd")


@pytest.mark.parametrize(
    ("name", "instead"),
    [("compiled", "CompiledOracle"), ("device", "DeviceOracle"), ("timing", "embers research perf")],
)
def test_an_oracle_that_compares_two_runs_is_refused_with_what_to_use_instead(tmp_path, name, instead):
    (tmp_path / "script.py").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=f"under the oracle '{name}': .*{instead}"):
        sanitize.sanitize(tmp_path / "script.py", oracles=f"layout,{name}")


def test_sarif_has_the_level_of_the_severity():
    found = Finding("layout", "aten.add", "out", "broken_promise", "strides changed", line="a.py:3")
    (result,) = sanitize.sarif([found])["runs"][0]["results"]
    assert (result["level"], result["ruleId"]) == ("warning", "layout/broken_promise")


def test_an_interpreter_without_torch_is_one_line_that_says_what_to_install(tmp_path, monkeypatch, capfd):
    (tmp_path / "torch.py").write_text("raise ImportError('libtorch.so:\\nno such file')", encoding="utf-8")
    (tmp_path / "script.py").write_text("print('started')", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(InputError) as refused:
        sanitize.sanitize(tmp_path / "script.py")
    said = str(refused.value)
    assert "libtorch.so: no such file" in said
    assert "pip install torch" in said
    assert "\n" not in said
    assert capfd.readouterr() == ("", "")
