"""What a text sets for the command that runs its script: variables, flags, a launcher, arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from torch_embers.extract import extract_rules

_LINE = re.compile(
    r"(?:^|[`\s])[$%#!]?[ \t]{0,3}(?:(?:export|set|%env|%set_env|env)[ \t]{1,3})?"
    r"((?:[A-Z][A-Z0-9_]{2,60}=(?:\"[^\"`\n]{0,200}\"|'[^'`\n]{0,200}'|[^\s`\"']{1,200})[ \t]{0,3}){1,8})"
)
_SETS = re.compile(r"[ \t$%#!`]{0,8}(?:export|set|%env|%set_env|env)\b")
_RUNS = re.compile(r"torchrun|python|pytest|\./|ipython")
_ONE = re.compile(r"([A-Z][A-Z0-9_]{2,60})=(?:\"([^\"]{0,200})\"|'([^']{0,200})'|([^\s;]{1,200}))")
_MAGIC = re.compile(r"%(?:set_)?env[ \t]{1,3}([A-Z][A-Z0-9_]{2,60})[ =]([^\s`]{1,200})")
_RUN = re.compile(
    r"\bpython[\d.]{0,5}((?:[ \t]{1,3}-(?:O{1,2}|[WX][ \t]?[\w:.=]{1,40}|[BEIsSuv]{1,4})){0,6})"
    r"[ \t]{1,3}[\w./-]{1,100}\.py\b([^\n`|>&;#]{0,300})"
)
_LAUNCHER = re.compile(r"\b(?:torchrun|torch\.distributed\.(?:launch|run))\b([^\n`]{0,300})")
_PROCESSES = re.compile(r"--nproc[_-]per[_-]node[= ](\w{1,10})")
_NODES = re.compile(r"--nnodes[= ](\d{1,4})")
_FLAG = re.compile(r"-(O{1,2})\b|-W[ \t]?([\w:.]{1,40})|-X[ \t]?(dev)\b")
ONE_PROCESS = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
"""What a launcher of one process sets."""


@dataclass(frozen=True, slots=True)
class Command:
    """How a text runs its script.

    Attributes:
        variables: of the environment; only names that data/extract.toml lists.
        arguments: behind the script's name.
        processes: of a launcher; 0 where there is none.
    """

    variables: dict[str, str] = field(default_factory=dict)
    arguments: str = ""
    processes: int = 0


def command_of(text: str) -> Command:
    """Read the commands in a text; the last value of a variable counts.

    Args:
        text: untrusted; read in linear time.
    """
    own = extract_rules.load()
    variables: dict[str, str] = {}
    arguments = ""
    processes = 0
    for line in (whole[:2000] for whole in text[: own.limits.text_chars].split("\n")):
        if "=" not in line and "%" not in line and "python" not in line and "torchrun" not in line:
            continue
        for stated in _LINE.finditer(line):
            stands_alone = not line[: stated.start()].strip(" \t$%#!`>")
            if (stands_alone and _SETS.match(stated[0])) or _RUNS.match(line, stated.end()):
                for name, *values in _ONE.findall(stated[1]):
                    variables[name] = "".join(values)
        variables |= dict(_MAGIC.findall(line))
        if run := _RUN.search(line):
            arguments = arguments or run[2].strip()
            for optimised, warned, dev in _FLAG.findall(run[1]):
                if optimised:
                    variables["PYTHONOPTIMIZE"] = str(len(optimised))
                if warned:
                    variables["PYTHONWARNINGS"] = warned
                if dev:
                    variables["PYTHONDEVMODE"] = "1"
        if launched := _LAUNCHER.search(line):
            each = _PROCESSES.search(launched[1])
            nodes = _NODES.search(launched[1])
            many = [found[1] for found in (each, nodes) if found and found[1] != "1"]
            processes = max(processes, 2 if many else 1)
    allowed = {
        name: value
        for name, value in variables.items()
        if own.command.variables.fullmatch(name) and own.command.values.fullmatch(value)
    }
    return Command(allowed, arguments, processes)
