"""What runs inside a build: Python 3.8, standard library, nothing of the rest of embers (checked by a test).

Four kinds of process, from trusted to hostile:

- the *steward* takes the driver's requests. It imports nothing of a build, so that its forks are cheap.
- the *zygote* imports torch and forks. It runs nothing of it, because threads do not survive a fork, and it never sees
  a script, an argument or an output, so that a fork finds nothing of the run before.
- the *supervisor*, one per run, is a fork of the steward and the first process of a new pid namespace: nothing in it
  can end, stop, slow or trace it, and when it ends, the kernel ends everything in the namespace. It takes the run's
  end from the kernel, not from the run.
- the *run*, a fork of the zygote inside the supervisor's namespaces or a fresh interpreter, gives up every right,
  closes every descriptor but the standard three, and only then reads the script.
"""
