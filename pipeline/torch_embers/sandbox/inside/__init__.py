"""What runs inside a build: Python 3.8, standard library, nothing of the rest of embers (checked by a test).

Three kinds of process, from trusted to hostile:

- the *zygote* imports torch and waits. It runs nothing of it, because threads do not survive a fork.
- the *supervisor*, one per run, is the first process of a new pid namespace: nothing in it can kill or trace it, and
  when it ends, the kernel ends everything in the namespace. It takes the run's end from the kernel, not from the run.
- the *run* gives up every right, closes every descriptor but the standard three, and only then reads the script.
"""
