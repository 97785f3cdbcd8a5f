"""The call of the report, in a child process: a crash and being accepted are both the sign, a refusal is right."""

import os
import sys

import torch

pid = os.fork()
if pid == 0:
    upstream = torch.full((5, 4, 5, 1, 3), 0.320139, dtype=torch.double)
    volumes = torch.full((5, 4, 4, 1, 3), 7.29222, dtype=torch.double)
    positions = torch.full((5, 4, 1, 3), 5, dtype=torch.long)
    try:
        torch.ops.aten.adaptive_max_pool3d_backward(upstream, volumes, positions)
    except RuntimeError:
        os._exit(3)
    os._exit(0)
status = os.waitpid(pid, 0)[1]
if os.WIFSIGNALED(status):
    print("the process died of signal %d" % os.WTERMSIG(status))
    sys.exit(1)
print("refused" if os.WEXITSTATUS(status) == 3 else "accepted")
sys.exit(int(os.WEXITSTATUS(status) == 0))
