"""The loop of the report, once and on the CPU: an export of eight-bit floats that raises must not keep the tensor."""

import sys
import weakref

import torch

if not hasattr(torch, "float8_e4m3fn"):
    print("no eight-bit floats")
    sys.exit(125)
tensor = torch.zeros(size=[4025, 5394], dtype=torch.float8_e4m3fn)
watch = weakref.ref(tensor)
raised = False
try:
    tensor.__dlpack__()
except Exception:
    raised = True
del tensor
print("the export %s, the tensor is %s" % ("raised" if raised else "worked", "alive" if watch() else "freed"))
sys.exit(int(watch() is not None))
