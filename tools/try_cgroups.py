"""Prove the sandbox where cgroup v2 is delegated, in an emulated machine: `python tools/try_cgroups.py KERNEL.deb`.

KERNEL.deb is a kernel of Debian (`apt-get download linux-image-6.1.0-...-cloud-amd64`). It needs qemu-system-x86,
busybox-static, bubblewrap, and a /usr/bin/python3 of the version of the Python that runs this, because its packages go
along. The machine is emulated in software, without disk and network. In it the doctor runs as root, in a group that is
marked as systemd marks what it leaves to others, and as an ordinary user, to whom the group belongs. Then a supervisor
that never looks around lets a run take memory, so that only the kernel's bound can end it.

Prints a line of JSON for each user; exit code 1 where a guarantee is missing, the kernel did not count, or a group
stays.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = Path("/usr/bin/python3").resolve()
PROGRAMS = (str(PYTHON), "/usr/bin/bwrap", "/usr/bin/setpriv", "/bin/busybox")
PACKAGES = (
    "packaging",
    "platformdirs",
    "pydantic",
    "pydantic_core",
    "annotated_types",
    "typing_extensions.py",
    "typing_inspection",
)
"""What sandbox/ imports beside the standard library."""
USERS = (0, 65534)
MARK = "RESULT "
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /new
/bin/busybox mount -t tmpfs -o size=1g tmpfs /new
/bin/busybox cp -a /root.tree/. /new/
exec /bin/busybox switch_root /new /start
"""
START = """#!/bin/busybox sh
PATH=/usr/bin:/bin
mount() { busybox mount "$@"; }
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
busybox mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t cgroup2 cgroup2 /sys/fs/cgroup
busybox ip link set lo up
echo '+memory +pids +cpu' > /sys/fs/cgroup/cgroup.subtree_control
for user in USERS; do
  group=/sys/fs/cgroup/left.$user
  busybox mkdir -p $group/driver /home/$user
  echo '+memory +pids +cpu' > $group/cgroup.subtree_control
  busybox chown -R $user /home/$user $group
  python3 -c "import os; os.setxattr('$group', 'trusted.delegate', b'1')"
  (export HOME=/home/$user PYTHONPATH=/embers/pipeline:/embers/packages
   echo 0 > $group/driver/cgroup.procs
   exec /usr/bin/setpriv --reuid=$user --regid=$user --clear-groups python3 /guest.py)
  busybox rmdir $group/driver || echo 'processes are left'
done
busybox poweroff -f
"""
GUEST = '''
import json, os, sys
from pathlib import Path
from torch_embers.sandbox import cgroups, doctor, rules
from torch_embers.sandbox.runner import Attempt, Runner

TAKE = """
import os, time
for _ in range(40):
    if os.fork() == 0:
        kept = bytearray(b"x") * (60 << 20)
        time.sleep(60)
        os._exit(len(kept) & 1)
time.sleep(60)
"""
proof = doctor.prove(again=True)
shipped = rules.load()
blind = shipped.model_copy(update={"limits": shipped.limits.model_copy(update={"tick": 1000.0})})
rules.load = lambda: blind
ends = []
with Runner(Path(sys.executable), "hostile", proof, preload=()) as runner:
    for fresh in (False, True):
        [result] = runner.run([Attempt("take", TAKE, "take.py", memory=64 << 20, fresh=fresh, timeout=40)])
        ends.append([result.ended, result.detail, result.memory_counted_by])
    folder = cgroups.find().folder
    inside = [one.name for one in folder.glob("embers-*")] if folder else []
left = [one.name for one in folder.glob("embers-*")] if folder else []
facts = {"user": os.geteuid(), **doctor.as_table(proof), "taken": ends, "groups": len(inside), "left": left}
print("RESULT " + json.dumps(facts), flush=True)
'''


def libraries(program: str) -> list[str]:
    """The shared libraries that a program or library needs."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+\.so\S*)", listed)


def copy(source: Path, root: Path) -> None:
    """Copy a file of this machine, not a link to it, to the same place below ``root``."""
    target = root / str(source).lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source.resolve(), target)


def make_tree(root: Path) -> None:
    """The file system of the machine."""
    for name in ("proc", "sys", "dev", "tmp", "home", "etc", "usr/lib", "usr/lib64", "usr/bin", "usr/sbin"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "tmp").chmod(0o1777)
    library = Path(sysconfig.get_path("stdlib", vars={"base": "/usr", "installed_base": "/usr"}))
    ignored = shutil.ignore_patterns("__pycache__", "test", "idlelib", "ensurepip", "config-*", "lib2to3")
    shutil.copytree(library, root / str(library).lstrip("/"), ignore=ignored, symlinks=True)
    shared = {name for program in PROGRAMS for name in libraries(program)}
    compiled = [*library.glob("lib-dynload/*.so"), *Path(sysconfig.get_path("platlib"), "pydantic_core").glob("*.so")]
    shared |= {name for file in compiled for name in libraries(str(file))}
    for name in (*PROGRAMS, *sorted(shared)):
        copy(Path(name), root / "usr" if name.startswith(("/lib", "/bin/")) else root)
    (root / "usr/bin/python3").symlink_to(PYTHON.name)
    for name in ("pipeline", "data"):
        shutil.copytree(ROOT / name, root / "embers" / name, ignore=shutil.ignore_patterns("__pycache__", "*.duckdb*"))
    for name in PACKAGES:
        source, target = Path(sysconfig.get_path("purelib"), name), root / "embers" / "packages" / name
        target.parent.mkdir(exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    (root / "guest.py").write_text(GUEST, encoding="utf-8")
    (root / "start").write_text(START.replace("USERS", " ".join(map(str, USERS))), encoding="ascii")
    (root / "start").chmod(0o755)


def make_initramfs(folder: Path) -> Path:
    """An archive with the tree, which the machine copies first: no sandbox can be made in an initramfs itself."""
    (folder / "bin").mkdir(parents=True)
    shutil.copy("/bin/busybox", folder / "bin/busybox")
    (folder / "init").write_text(INIT, encoding="ascii")
    (folder / "init").chmod(0o755)
    make_tree(folder / "root.tree")
    archive = folder.with_suffix(".cpio")
    names = subprocess.run(["find", "."], cwd=folder, capture_output=True, check=True).stdout
    with archive.open("wb") as file:
        subprocess.run(["busybox", "cpio", "-o", "-H", "newc"], cwd=folder, input=names, stdout=file, check=True)
    return archive


def boot(kernel: Path, archive: Path) -> list[dict[str, object]]:
    """What the guest found, by user."""
    command = [
        "qemu-system-x86_64",
        "-cpu",
        "max",
        "-m",
        "4096",
        "-smp",
        "2",
        "-nographic",
        "-no-reboot",
        "-nic",
        "none",
    ]
    command += [
        "-kernel",
        str(kernel),
        "-initrd",
        str(archive),
        "-append",
        "console=ttyS0 quiet panic=-1 no_timer_check",
    ]
    found, said = [], []
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as machine:
        for line in machine.stdout or ():
            text = line.decode(errors="replace").rstrip()
            said.append(text)
            if MARK in text:
                found.append(json.loads(text.partition(MARK)[2]))
                sys.stdout.write(text.partition(MARK)[2] + "\n")
                sys.stdout.flush()
    if len(found) < len(USERS):
        sys.stderr.write("\n".join(said[-40:]) + "\n")
    return found


def holds(found: dict[str, object]) -> bool:
    """Whether all guarantees hold, the kernel counted and ended what took memory, and nothing is left."""
    ends = [["memory", "killed by the kernel at the bound of its control group", "cgroup"]] * 2
    return bool(
        found["complete"] and found["memory_counted_by"] == "cgroup" and found["taken"] == ends and not found["left"]
    )


def main() -> int:
    """Build, boot, judge."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(["dpkg-deb", "-x", sys.argv[1], str(folder / "kernel")], check=True)
        [kernel] = (folder / "kernel" / "boot").glob("vmlinuz-*")
        results = boot(kernel, make_initramfs(folder / "initramfs"))
    return 0 if len(results) == len(USERS) and all(map(holds, results)) else 1


if __name__ == "__main__":
    sys.exit(main())
