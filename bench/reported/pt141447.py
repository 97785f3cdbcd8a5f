"""The call of the report, two hundred times in a child process, since damage of the heap shows late."""

import os
import sys

import torch

pid = os.fork()
if pid == 0:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    values = torch.full((9, 7, 9, 9), 1e13, dtype=torch.double)
    try:
        for _ in range(200):
            torch.ops.aten.reflection_pad1d(values, [-1, -1])
    except RuntimeError:
        os._exit(3)
    os._exit(0)
status = os.waitpid(pid, 0)[1]
if os.WIFSIGNALED(status):
    print("the process died of signal %d" % os.WTERMSIG(status))
    sys.exit(1)
print("refused" if os.WEXITSTATUS(status) == 3 else "returned normally")
