"""What runs inside a build: Python 3.8, standard library, nothing of the rest of embers (checked by a test).

Four kinds of process, from trusted to hostile:

- the *steward* takes the driver's requests. It imports nothing of a build.
- the *supervisor* is the first process of a pid namespace: nothing in it can end, stop, slow or trace it, and when it
  ends, the kernel ends everything in the namespace. It mounts the folders of each run, takes the run's end from the
  kernel, not from the run, and ends and collects what the run leaves.
- the *zygote* imports torch and forks, its children into that namespace. It gives up every right before it imports, and
  is held to the list of system calls. It runs nothing of torch, because threads do not survive a fork, and it never
  sees a script, an argument or an output, so that a fork finds nothing of the run before.
- the *run*, a fork of the zygote or a fresh interpreter, gives up what is left, closes every descriptor but the
  standard three, and only then reads the script.
"""
