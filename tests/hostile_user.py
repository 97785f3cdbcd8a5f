"""Runs attacks as an ordinary user, in a process of its own: a line of JSON for each attempt in, one for its result out.

Usage: ``python hostile_user.py``; the first line that it prints says what is not proven for this user.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from torch_embers.sandbox import doctor
from torch_embers.sandbox.runner import Attempt, Runner


def tell(answer: object) -> None:
    """One line of JSON."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main() -> None:
    proof = doctor.prove()
    tell(proof.missing)
    if not proof.complete:
        return
    with Runner(Path(sys.executable), "hostile", proof, preload=()) as runner:
        for line in sys.stdin:
            wanted = json.loads(line)
            [result] = runner.run([Attempt(**{**wanted, "arguments": tuple(wanted["arguments"])})])
            tell({**asdict(result), "left": runner.left_alive()})


if __name__ == "__main__":
    main()
