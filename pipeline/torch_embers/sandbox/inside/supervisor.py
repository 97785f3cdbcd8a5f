"""The first process of the pid namespace in which runs are made, one at a time: watches each and tells how it ended.

It has the folders of a run mounted anew for each, ends all processes that a run has left, and collects them.
"""

# ruff: noqa: BLE001 - whatever fails here must end this process alone, and with a reply

from __future__ import annotations

import array
import base64
import contextlib
import json
import os
import select
import signal
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

from . import confine, kernel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO, Any, NoReturn

    Message = dict[str, Any]


OWN_TASKS = 4
"""Where runs share their user with the zygote and the supervisor, those count towards the run's cap."""
READS = 32
"""Reads of a stream between two looks at the caps: a pipe of packets (O_DIRECT), or one whose writers are fast, gives a
byte at a time, and a run that wrote so kept the supervisor reading for a second, in which it took 3 GB."""
DESCRIBED_EVERY = 0.5
"""Seconds between two counts of mappings, which take a millisecond for a process that has imported torch, and of locks,
while which everybody on the host waits who locks a file. Not a number of looks: where mappings are many, so that they
must be counted, a look that counts shared pages exactly takes a second and more."""
DESCRIPTION = 256
"""Bytes of the kernel for one mapping: 209 were measured with 65,530 of them."""
ANCESTOR = 64
"""Bytes of the kernel for one ancestor of a fork in one mapping: ``anon_vma_chain``."""
SLOW_COUNT = 0.05
"""Seconds that an exact count may take while the run goes on; with 180 forks that shared 180 MB it took 2 to 20 s, in
which the run took 2 GB more."""


def broken(detail: str) -> Message:
    """The reply where the sandbox itself failed."""
    return {"ended": "sandbox_error", "detail": detail}


def serve(link: socket.socket, config: Message) -> NoReturn:
    """Watch runs until the steward goes away. With this process the kernel ends all others in its namespace."""
    try:
        if kernel.LINUX:
            kernel.end_with(config["parent"])
            kernel.prctl(kernel.SUBREAPER, 1)
        if config["isolate"]:
            kernel.call("unshare", kernel.NEW_MOUNTS)
            kernel.mount(None, "/", None, kernel.RECURSIVE | kernel.PRIVATE)
            make_folders(config)
        send(link, {"ended": ""})
        while True:
            request, descriptors = receive(link)
            if request is None:
                os._exit(0)
            if not request:  # a zygote has imported: what modules left in the folders is nothing that a run finds
                make_folders(config)
            else:
                send(link, supervise(config, request, descriptors))
    except Exception as error:
        with contextlib.suppress(OSError):
            send(link, broken(f"the supervisor failed: {type(error).__name__}: {error}"))
    os._exit(1)


def send(link: socket.socket, message: Message, descriptors: Sequence[int] = ()) -> None:
    """Send one message behind its length, with descriptors, which arrive with its first byte."""
    body = json.dumps(message).encode()
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    link.sendmsg([len(body).to_bytes(8, "big")], rights)
    link.sendall(body)


def receive(link: socket.socket) -> tuple[Message | None, list[int]]:
    """The next message with its descriptors; None when nobody sends any more."""
    head, rights, _, _ = link.recvmsg(8, socket.CMSG_SPACE(8 * array.array("i").itemsize))
    numbers = array.array("i")
    for _, _, data in rights:
        numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
    parts, left = [], int.from_bytes(head, "big") if len(head) == 8 else 0
    while left:
        parts.append(link.recv(min(left, 1 << 20)))
        left -= len(parts[-1])
        if not parts[-1]:
            return None, []
    return json.loads(b"".join(parts).decode()) if parts else None, list(numbers)


def supervise(config: Message, request: Message, descriptors: list[int]) -> Message:
    """One run, from its view of processes to the reply.

    The ``descriptors`` are our ends of those for stdout, stderr, what goes wrong before the script starts, the request,
    and how the run ended; for a fresh process then its own ends of the first three.
    """
    out, err, problem, go, ending = descriptors[:5]
    config.update(request.pop("sizes"))
    if config["isolate"]:
        kernel.mount("proc", "/proc", "proc", kernel.NO_SUID | kernel.NO_DEVICES | kernel.NO_EXECUTE)
    script = write_script(request["place"] or confine.FOLDER, request)
    if request["mode"] == "fork":
        run = forked(config, request, script, go, ending)
    else:
        os.close(go)
        run = started(config, request, script, descriptors[5:])
    text = kernel.read_all(problem)
    reply = broken(text.decode(errors="replace")) if text else Watch(config, request, run, out, err).result()
    run.close()
    for number in (out, err, ending):
        os.close(number)
    if config["isolate"]:
        kernel.uncover("/proc")
        make_folders(config)
    return reply


def forked(config: Message, request: Message, script: str, go: int, ending: int) -> Ending:
    """Let the zygote's child, which waits for its request, run the script."""
    told = os.fdopen(ending, "rb", buffering=0, closefd=False)
    pid = told.readline()
    if not pid:
        raise OSError("the zygote is gone")
    if config["isolate"]:
        confine.show_read_only()
        if config["group"] >= 0:
            os.write(config["group"], processes()[0].encode())
    text = json.dumps({**request, "code": "", "script": script}).encode()
    while text:
        text = text[os.write(go, text) :]
    os.close(go)
    return Ending(int(pid), told)


def started(config: Message, request: Message, script: str, ends: list[int]) -> Ending:
    """Run the script in a fresh interpreter."""
    config["parent"] = os.getpid()
    pid = os.fork()
    if not pid:
        confine.confine(config, request, (ends[0], ends[1], ends[2]), script, request["place"])
        os._exit(1)  # not reached: confine becomes the interpreter
    for number in ends:
        os.close(number)
    return Ending(pid)


def make_folders(config: Message) -> None:
    """Mount the folders that may be written, empty, in place of those of the run before; and number processes anew."""
    for path, options in config["covers"]:
        kernel.uncover(path)
        kernel.mount("tmpfs", path, "tmpfs", kernel.NO_SUID | kernel.NO_DEVICES, options)
    for source, target in config["rebinds"]:
        Path(target).mkdir(parents=True, exist_ok=True)
        kernel.mount(source, target, None, kernel.BIND | kernel.RECURSIVE)
    with contextlib.suppress(OSError):  # a kernel without it counts on
        kernel.write_file("/proc/sys/kernel/ns_last_pid", b"1")


def write_script(folder: str, request: Message) -> str:
    """Put the script where tracebacks, ``inspect`` and ``spawn`` find it; its path."""
    name = request["name"].rstrip("/").rpartition("/")[2]
    path = f"{folder}/{name if name.strip('.') else 'script.py'}"
    text = request["code"].encode("utf-8", "replace")
    kernel.write_file(path, text, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW)
    return path


class Stream:
    """One output stream of a run: the end of it is kept, the rest counted."""

    def __init__(self, name: str, descriptor: int, keep: int) -> None:
        os.set_blocking(descriptor, False)
        self.name, self.descriptor, self.keep = name, descriptor, keep
        self.total, self.open = 0, True
        self._data = bytearray()

    def drain(self, most: int, reads: int = READS) -> bool:
        """Read what is there, about ``most`` bytes in so many reads; whether more may come."""
        while self.open and most > 0 and reads > 0:
            reads -= 1
            try:
                part = os.read(self.descriptor, 65536)
            except BlockingIOError:
                break
            self.open = bool(part)
            most -= len(part)
            self.total += len(part)
            self._data += part
            if len(self._data) > 2 * self.keep:
                del self._data[: -self.keep]
        return self.open

    def text(self) -> str:
        """The end of the output, in base64."""
        return base64.b64encode(self._data[-self.keep :]).decode()


def ending_of(status: int, usage: Any) -> Message:
    """How a process ended and what it used, as plain data."""
    return {
        "status": status,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak_memory": usage.ru_maxrss * (1024 if kernel.LINUX else 1),  # KiB on Linux, bytes on macOS
    }


class Ending:
    """Waits for the end of a run: of a child of ours, or of the zygote's, who tells by a pipe."""

    def __init__(self, pid: int, told: IO[bytes] | None = None) -> None:
        self.pid, self.told = pid, told
        self.descriptor = kernel.watch_process(pid) if told is None else told.fileno()
        self.cpu_of_orphans = 0.0
        """Seconds of processor time of the run's processes that outlived their parent, and have ended."""

    def look(self, *, is_readable: bool) -> Message | None:
        """The end, if it has come. Collects every other process that has ended, too (orphans of the run come to us)."""
        found = self.collect(os.WNOHANG)
        if self.told is not None and is_readable:
            text = self.told.read()
            if not text:
                raise OSError("the zygote ended during the run")
            found = json.loads(text.decode())
        return found

    def close(self) -> None:
        """Watch it no more."""
        if self.told is None and self.descriptor >= 0:
            os.close(self.descriptor)

    def collect(self, options: int = 0) -> Message | None:
        """Collect all children that have ended; the end of the run, if it is one of them."""
        found = None
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, options)
                if pid == 0:
                    break
                if pid == self.pid and self.told is None:
                    found = ending_of(status, usage)
                else:
                    self.cpu_of_orphans += usage.ru_utime + usage.ru_stime
        return found


class Watch:
    """Follows a run to its end: output, time, memory, processes; the end itself comes from ``wait4``."""

    def __init__(self, config: Message, request: Message, run: Ending, out: int, err: int) -> None:
        self.limits, self.request, self.run, self.isolated = config["limits"], request, run, config["isolate"]
        self.streams = [Stream("stdout", out, self.limits["tail"]), Stream("stderr", err, self.limits["tail"])]
        self.covers = [cover[0] for cover in config["covers"]] if self.isolated else []
        self.started = time.monotonic()
        self.waited = 0.0
        self.waits: dict[str, float] = {}
        self.described, self.next_description = 0, self.started + DESCRIBED_EVERY
        self.base = request["allowance"] if request["mode"] == "exec" else config.get("resident", 0)
        self.ended, self.detail = "", ""
        self.running = True

    def result(self) -> Message:
        """Wait for the end and describe it."""
        poll = select.poll()
        for stream in self.streams:
            poll.register(stream.descriptor, select.POLLIN)
        ending = self.run.descriptor
        if ending >= 0:
            poll.register(ending, select.POLLIN)
        next_look = self.started + self.limits["tick"]
        end: Message | None = None
        while end is None:
            left = min(next_look, self.started + self.time_limit()) - time.monotonic()
            events = dict(poll.poll(max(0.0, min(left, 0.005) if ending < 0 else left) * 1000))
            for stream in self.streams:
                if stream.open and not stream.drain(1 << 20):
                    poll.unregister(stream.descriptor)
            end = self.run.look(is_readable=ending in events)
            self.running = end is None
            self.check_caps()
            if time.monotonic() >= next_look:
                self.look_around()
                next_look = time.monotonic() + self.limits["tick"]
        return self.describe(time.monotonic() - self.started, end)

    def stop(self, ended: str, detail: str) -> None:
        """End the run; the first reason is the one that is told."""
        if self.running and not self.ended:
            self.ended, self.detail = ended, f"killed {detail}"
            self.kill_all()

    def kill_all(self) -> None:
        """Kill all of the namespace at once, or of the run's session where it has none of its own."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(-1 if self.isolated else -self.run.pid, signal.SIGKILL)

    def note_waits(self, pids: list[str]) -> None:
        """Add what processes waited for a processor since the last look; only those that are there are remembered."""
        waits = {pid: wait_of(pid) for pid in pids}
        self.waited += sum(max(0.0, now - self.waits.get(pid, 0.0)) for pid, now in waits.items())
        self.waits = waits

    def time_limit(self) -> float:
        """Seconds of wall time that the run has: its limit, and what it waited for a processor, bounded."""
        timeout = float(self.request["timeout"])
        return min(timeout + self.waited, timeout * float(self.limits["patience"]))

    def check_caps(self) -> None:
        """Time and output."""
        for stream in self.streams:
            if stream.total > self.limits["output"]:
                self.stop("output", f"after writing more than {size(self.limits['output'])} to {stream.name}")
        passed = time.monotonic() - self.started
        if passed >= self.time_limit():
            load = f", waiting for a processor for {self.waited:.0f} s of {passed:.0f}" if self.waited >= 1 else ""
            self.stop("timeout", f"after {self.request['timeout']:g} s{load}")

    def look_around(self) -> None:
        """Memory, files and processes of everything in the namespace but us; what cannot be counted is ended."""
        try:
            if self.isolated:
                self.count()
        except (OSError, ValueError, LookupError) as error:
            self.stop("memory", f"because its memory cannot be counted ({type(error).__name__}: {error})")

    def count(self) -> None:
        """Compare what there is with the caps."""
        tasks, memory, files = 0, 0, 0
        pids = processes()
        if len(pids) >= self.limits["processes"] - OWN_TASKS:  # a look at each of them would take long now
            tasks, pids = len(pids), []
        self.note_waits(pids)
        for place, pid in enumerate(pids):
            used, threads = memory_of(pid)
            if threads > 1 and not used:
                pids[place] = holder(pid)
                used, _ = memory_of(pids[place])
            memory += used
            tasks += threads
            files += files_of(pids[place])
        if time.monotonic() >= self.next_description:
            self.described = self.held_for_mappings(pids)
            self.next_description = time.monotonic() + DESCRIBED_EVERY
            if many_locks(self.limits["locks"]):
                self.stop("memory", f"with more than {self.limits['locks']} locks on files")
        if tasks >= self.limits["processes"] - OWN_TASKS:
            self.stop("processes", f"with {tasks} processes and threads, the cap")
        else:
            self.check_memory(pids, memory, self.held_by_kernel(files) + self.described)

    def check_memory(self, pids: list[str], memory: int, kernels: int) -> None:
        """Compare with the cap: what the processes hold, and at most what the kernel holds for them."""
        cap, kernels = self.request["memory"], kernels - self.base
        if cap and memory + kernels > cap:
            # forks share pages with their parent: count again, exactly and slowly
            exact = kernels if kernels > cap else self.count_exactly(pids) + kernels
            if exact > cap:
                self.stop("memory", f"with {size(exact)} of memory in all (cap {size(cap)})")
        if cap and (free := free_memory()) < self.limits["reserve"]:
            self.stop("memory", f"because the machine has only {size(free)} of memory left")

    def count_exactly(self, pids: list[str]) -> int:
        """Bytes that all processes hold, shared pages once; the run stands still where the count takes long."""
        start, total = time.monotonic(), 0
        for pid in pids:
            total += shared_out(pid)
            if time.monotonic() - start > SLOW_COUNT:
                break
        else:
            return total
        with contextlib.suppress(ProcessLookupError):  # all have ended by now
            os.kill(-1, signal.SIGSTOP)
            total = sum(shared_out(holder(pid)) for pid in processes())
            os.kill(-1, signal.SIGCONT)
        return total

    def held_for_mappings(self, pids: list[str]) -> int:
        """What the kernel holds for areas of memory; no further than the cap, because many take long to count.

        A fork is remembered in each area for each of its ancestors.
        """
        held, parents = 0, {pid.partition("/")[0]: parent_of(pid) for pid in pids}
        for pid in pids:
            ancestors, above = 0, parent_of(pid)
            while above in parents and ancestors < len(pids):
                ancestors, above = ancestors + 1, parents[above]
            held += mappings(pid) * (DESCRIPTION + ANCESTOR * ancestors)
            if held > self.request["memory"] + self.base:
                break
        return held

    def held_by_kernel(self, files: int) -> int:
        """What the kernel may hold at most for so many open files, and for the sockets of the namespace."""
        held: int = max(0, files - self.limits["free_files"]) * self.limits["file_cost"]
        held += max(0, sockets() - self.limits["free_sockets"]) * self.limits["socket_cost"]
        return held

    def describe(self, duration: float, end: Message) -> Message:
        """The reply."""
        self.kill_all()
        if self.isolated:
            self.run.collect()
        for stream in self.streams:
            stream.drain(self.limits["output"], self.limits["output"])  # nobody writes any more
        status = end["status"]
        signalled = os.WIFSIGNALED(status)
        code = None if signalled else os.WEXITSTATUS(status)
        number = os.WTERMSIG(status) if signalled else None
        if not self.ended:
            self.ended, self.detail = self.ordinary_end(code, number)
        cut = [f"{one.name} cut to its last {size(one.keep)}" for one in self.streams if one.total > one.keep]
        return {
            "ended": self.ended,
            "detail": "; ".join([self.detail, *cut]),
            "exit_code": code,
            "signal": number,
            "stdout": self.streams[0].text(),
            "stderr": self.streams[1].text(),
            "duration": duration,
            "cpu": end["cpu"] + self.run.cpu_of_orphans,
            "waited": self.waited,
            "peak_memory": end["peak_memory"],
        }

    def ordinary_end(self, code: int | None, number: int | None) -> tuple[str, str]:
        """How a run ended that nobody stopped, and what else is worth knowing."""
        if number is not None:
            return "signalled", f"ended by signal {number}"
        full = [path for path in self.covers if is_full(path)]
        if code and full:
            return "disk", f"exit {code} with {', '.join(full)} full (cap {size(self.limits['disk'])})"
        return "exited", f"exit {code}"


def processes() -> list[str]:
    """Numbers of the processes of the namespace but for the first, which is this one."""
    return [path.name for path in Path("/proc").iterdir() if path.name.isdigit() and path.name != "1"]


def wait_of(pid: object) -> float:
    """Seconds that the first thread of a process was ready to run and waited for a processor; 0 where none is told."""
    try:
        with Path(f"/proc/{pid}/schedstat").open("rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0  # it has ended meanwhile, or the kernel does not count


def lines_of(pid: object, name: str) -> list[bytes]:
    """Lines of a file in ``/proc/PID``; none where the process has ended meanwhile.

    Raises:
        OSError: it is there and cannot be read.
    """
    try:
        with Path(f"/proc/{pid}/{name}").open("rb") as file:
            return file.readlines()
    except (FileNotFoundError, ProcessLookupError):
        return []


def holder(pid: str) -> str:
    """Where ``/proc`` tells what a process holds: at another thread where its first one has ended."""
    if not memory_of(pid)[0]:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for thread in Path(f"/proc/{pid}/task").iterdir():
                if memory_of(f"{pid}/task/{thread.name}")[0]:
                    return f"{pid}/task/{thread.name}"
    return pid


def parent_of(pid: object) -> str:
    """The number of the parent; 0 where that is in no namespace of the run."""
    found = [line.split()[1].decode() for line in lines_of(pid, "status") if line.startswith(b"PPid:")]
    return found[0] if found else "0"


def bytes_in(lines: list[bytes], names: tuple[bytes, ...]) -> int:
    """The sum of the entries with these names."""
    return sum(int(line.split()[1]) * 1024 for line in lines if line.partition(b":")[0] in names)


def memory_of(pid: object) -> tuple[int, int]:
    """Bytes of anonymous, shared and swapped memory and of page tables that process ``pid`` holds, and its threads."""
    lines = lines_of(pid, "status")
    threads = [int(line.split()[1]) for line in lines if line.startswith(b"Threads:")]
    return bytes_in(lines, (b"RssAnon", b"RssShmem", b"VmSwap", b"VmPTE")), sum(threads)


def shared_out(pid: str) -> int:
    """Like ``memory_of``, with each shared page counted by its share (slower), and nothing of what is its parent's.

    A child that is about to start a program has the memory of its parent until then. Living threads are compared: those
    that have ended have no memory, and so the same.
    """
    own, above = (int(place.rpartition("/")[2]) for place in (pid, holder(parent_of(pid))))
    if kernel.same_memory(own, above):
        return 0
    shares = bytes_in(lines_of(pid, "smaps_rollup"), (b"Pss_Anon", b"Pss_Shmem", b"SwapPss"))
    return shares + bytes_in(lines_of(pid, "status"), (b"VmPTE",))


def mappings(pid: object) -> int:
    """How many areas of memory process ``pid`` has."""
    try:
        with Path(f"/proc/{pid}/maps").open("rb") as file:
            return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b""))
    except (FileNotFoundError, ProcessLookupError):
        return 0


def files_of(pid: object) -> int:
    """Open files of process ``pid``."""
    folder = Path(f"/proc/{pid}/fd")
    try:
        return folder.stat().st_size or sum(1 for _ in folder.iterdir())  # the size is their number since Linux 6.2
    except (FileNotFoundError, ProcessLookupError):
        return 0
    except PermissionError:  # of one that is ending, which has no memory any more, nobody may list them
        if bytes_in(lines_of(pid, "status"), (b"VmSize",)):
            raise
        return 0


def sockets() -> int:
    """Sockets of the network namespace, those that wait in a message included."""
    first = Path("/proc/self/net/sockstat").read_text(encoding="ascii").split("\n", 1)[0]
    return int(first.split()[2])


def many_locks(most: int) -> bool:
    """Whether processes of the namespace hold more locks on files than that; reads no further than needed.

    Those of open files, which the list of calls forbids, are shown of the whole host.
    """
    with Path("/proc/locks").open("rb") as file:
        return any(place > most for place, _ in enumerate((line for line in file if b"OFDLCK" not in line), 1))


def free_memory() -> int:
    """Bytes that the machine could still give."""
    with Path("/proc/meminfo").open("rb") as file:
        for line in file:
            if line.startswith(b"MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 1 << 62


def is_full(path: str) -> bool:
    """Whether a tmpfs has no page or no file left."""
    state = os.statvfs(path)
    return state.f_bavail < 16 or state.f_favail < 2


def size(count: int) -> str:
    """A number of bytes for people."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= factor:
            return f"{count / factor:.4g} {unit}"
    return f"{count} bytes"
