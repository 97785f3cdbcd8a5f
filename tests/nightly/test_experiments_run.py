"""The script that measures figures 8 and 9: one tiny run, interrupted and gone on with; the operations of the chain."""

from __future__ import annotations

import colorsys
import csv
import importlib.util
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import draw_figures_8_and_9 as drawn
import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "analysis" / "results"
TINY = ("--count", "3", "--batches", "1", "2", "--pairs", "2", "--sides", "3", "4", "--rounds", "2")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script as a module; PyTorch is imported with it."""
    pytest.importorskip("torch")
    spec = importlib.util.spec_from_file_location("figures_8_and_9", ROOT / "analysis" / "figures_8_and_9.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(path: Path) -> list[dict[str, str]]:
    """A table of a run."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_run_that_was_interrupted_goes_on(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, append = tmp_path / "out", script.Measuring.append

    def interrupted(measuring: Any, figure: int, series: str, repeat: int, *rest: Any) -> None:
        if (series, repeat) == ("d = 3", 1):
            raise KeyboardInterrupt
        append(measuring, figure, series, repeat, *rest)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(script.Measuring, "append", interrupted)
        script.main(["--out", str(out), *TINY])
    kept = (out / "figure_8_raw.csv").read_bytes()
    assert {row["repeat"] for row in rows(out / "figure_9_raw.csv")} == {"0"}
    assert script.main(["--out", str(out), *TINY]) == 0
    assert (out / "figure_8_raw.csv").read_bytes() == kept
    assert "d = 3: 1 of 2 rounds are there" in capsys.readouterr().out
    assert {row["repeats"] for row in rows(out / "figure_9.csv")} == {"2"}
    assert len(rows(out / "figure_9.csv")) == 125 + 4 + 5 * script.PER_PLACE
    assert {row["pairs"] for row in rows(out / "figure_8.csv")} == {"2"}
    for name in ("figure_8", "figure_9"):
        with (ROOT / "analysis" / "results" / f"{name}_raw.csv").open(encoding="utf-8") as shipped:
            assert next(shipped) == (out / f"{name}_raw.csv").read_text(encoding="utf-8").splitlines(keepends=True)[0]
    facts = json.loads((out / drawn.FACTS).read_text(encoding="utf-8"))
    assert facts.keys() == drawn.read(RESULTS).facts.keys()
    assert max(facts["arms_differ_by"].values()) <= 1e-5  # both arms do the same work


def test_another_machine_s_folder_is_left_alone(script: ModuleType, tmp_path: Path, monkeypatch: Any) -> None:
    known = {"machine": {"processor": "another"}, "images": "x"}
    (tmp_path / drawn.FACTS).write_text(json.dumps(known), encoding="utf-8")
    assert script.main(["--out", str(tmp_path), *TINY]) == 3
    assert [path.name for path in tmp_path.iterdir()] == [drawn.FACTS]


def test_the_committed_pictures_are_drawn_from_the_committed_times(tmp_path: Path) -> None:
    for name in ("figure_8_raw.csv", "figure_9_raw.csv", drawn.FACTS):
        shutil.copy(RESULTS / name, tmp_path)
    drawn.write(tmp_path)
    for path in (*tmp_path.glob("*.[cj]s*"), *tmp_path.glob("*.svg")):
        assert path.read_bytes() == (RESULTS / path.name).read_bytes(), path.name
    pictures = {f"figure_{n}.{kind}" for n in (8, 9) for kind in ("svg", "png", "csv")}
    assert pictures <= {path.name for path in tmp_path.iterdir()}


def test_the_chain_begins_channels_last_and_the_aware_arm_is_contiguous_behind_each_step(script: ModuleType) -> None:
    import torch

    x, _ = script.images(5, None)
    steps = script.chain(torch.Generator().manual_seed(1), "cpu")
    fed, y = {}, x
    for name, step in steps:
        fed[name] = y.is_contiguous()
        y = step(y)
    assert y.shape == (5, 3, script.SECOND, script.SECOND)
    assert {name for name, contiguous in fed.items() if contiguous} >= set(drawn.ALIKE)
    assert dict(steps)["to tensor"](x).is_contiguous(memory_format=torch.channels_last)
    seen: list[bool] = []
    watched = [(name, lambda x, step=step: (seen.append(x.is_contiguous()), step(x))[1]) for name, step in steps]
    assert torch.equal(script.through(x, watched, aware=True), y)
    assert seen == [True] * len(steps)


def test_operations_of_the_chain(script: ModuleType) -> None:
    import torch

    x = torch.rand(2, 3, 6, 6)
    quarter = torch.tensor([[[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]]])
    assert any(torch.equal(script.rotate(x, quarter), torch.rot90(x, k, (2, 3))) for k in (1, 3))
    assert torch.equal(script.window(x, 2, 0.0, 0.99), x[..., :2, 4:])
    assert torch.allclose(script.grey(x)[:, 0], torch.einsum("nchw,c->nhw", x, torch.tensor(script.WEIGHTS)))
    assert torch.allclose(script.jitter(x, (1.0, 1.0, 1.0), 0.0), x, atol=1e-6)
    grey = script.grey(0.9 * x)
    strong = (1.3 * 0.9 * x - 0.3 * grey.mean((1, 2, 3), keepdim=True)).clamp(0, 1)
    assert torch.allclose(script.jitter(x, (0.9, 1.3, 0.0), 0.0), script.grey(strong).expand(-1, 3, -1, -1), atol=1e-5)
    for pixel in x[0].flatten(1).T.tolist():
        hue, saturation, value = colorsys.rgb_to_hsv(*pixel)
        expected = colorsys.hsv_to_rgb((hue + 0.3) % 1, saturation, value)
        turned = script.turn_hue(torch.tensor(pixel).view(1, 3, 1, 1), 0.3)
        assert turned.flatten().tolist() == pytest.approx(expected, abs=1e-5)


def test_images_of_cifar_10_are_read_plane_by_plane(script: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "data_batch_1.bin"
    file.write_bytes(bytes([7]) + bytes(range(256)) * 12 + bytes([9]) + bytes(3072))
    x, words = script.images(2, file)
    assert x.shape == (2, 32, 32, 3)
    assert x[0, 0, 5].tolist() == [5, 5, 5]
    assert x[0, 1, 0].tolist() == [32, 32, 32]
    assert words == "2 images of CIFAR-10"
