"""What the precision oracle says of PyTorch's own samples in bfloat16: bench/precision_samples.json.

PYTHON bench/precision_samples.py, with the interpreter of the build that is asked (it needs torch, expecttest and nothing
else): the first six samples of each operator, forward and backward, one thread. One finding is kept per operator of the
dispatcher and result, the worst.
"""

import json
import sys
import warnings
from collections import Counter
from itertools import islice
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pipeline"))

from torch.testing._internal.common_methods_invocations import op_db

from torch_embers.oracles.gradients import WEIGHTS, counted, gradients, real_results
from torch_embers.oracles.precision import PrecisionOracle

RESULT = Path(__file__).parent / "precision_samples.json"
SAMPLES, DTYPE = 6, torch.bfloat16
REFUSED = (RuntimeError, TypeError, ValueError, NotImplementedError, LookupError, AttributeError, AssertionError)


def called(op, sample):
    """One sample, forward and backward."""
    args = [sample.input, *sample.args]
    try:
        results = real_results(op(*args, **sample.kwargs))
        if op.supports_autograd and results:
            gradients(op)(*args, **dict(sample.kwargs, **{WEIGHTS: [counted(result) for result in results]}))
    except REFUSED:
        return False
    return True


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    worst, counts, lossy = {}, Counter(), Counter()
    for op in op_db:
        if DTYPE not in op.dtypes:
            continue
        counts["operators"] += 1
        for sample in islice(op.sample_inputs("cpu", DTYPE, requires_grad=False), SAMPLES):
            with PrecisionOracle() as oracle:
                counts["samples" if called(op, sample) else "samples that are refused"] += 1
            counts["compared calls"] += sum(oracle.checked.values())
            lossy.update(oracle.lossy)
            for found in oracle.findings:
                ulps = found.difference.ulps if found.difference.ulps is not None else float("inf")
                key = (found.op, found.place, found.dtype)
                if key not in worst or worst[key]["ulps"] < ulps:
                    worst[key] = {"sample of": op.name, "ulps": ulps, "message": found.message, "inputs": found.layouts}
    rows = [dict(zip(("op", "place", "dtype"), key, strict=True)) | row for key, row in sorted(worst.items())]
    about = {"command": "PYTHON bench/precision_samples.py", "torch": torch.__version__, "counts": dict(counts)}
    about |= {"lossy calls by operator": dict(sorted(lossy.items())), "findings": rows}
    RESULT.write_text(json.dumps(about, indent=1).replace("Infinity", '"inf"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
