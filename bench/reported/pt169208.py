"""The call of the report, in a child process."""

import os
import sys

import torch

pid = os.fork()
if pid == 0:
    try:
        torch.native_batch_norm(
            torch.randn(10, 8),
            torch.ones(8),
            torch.zeros(8),
            torch.zeros(8),
            torch.ones(0),
            training=True,
            momentum=0.1,
            eps=1e-05,
        )
    except RuntimeError:
        os._exit(3)
    os._exit(0)
status = os.waitpid(pid, 0)[1]
if os.WIFSIGNALED(status):
    print("the process died of signal %d" % os.WTERMSIG(status))
    sys.exit(1)
print("refused" if os.WEXITSTATUS(status) == 3 else "returned normally")
