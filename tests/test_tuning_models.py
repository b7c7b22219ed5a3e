"""Small models of a node: they answer reading commands as the system does and carry out the writing ones."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from hypothesis import strategies as st

from maccluster_cli.linux import tuning as on_linux
from maccluster_cli.linux.tuning import clock as linux_clock
from maccluster_cli.linux.tuning import sleep as linux_sleep
from maccluster_cli.linux.tuning.kernel import BUFFERS, KERNEL, POLICIES, proc
from maccluster_cli.linux.tuning.sleep import TARGETS
from maccluster_cli.macos import tuning as on_macos
from maccluster_cli.macos.tuning import clock, launchdaemon, posture, power
from maccluster_cli.macos.tuning.kernel import SYSCTL
from maccluster_cli.values import Command, Reply, Setting

GIB = 1 << 30


@dataclass
class Model:
    """Files and kernel values, which both systems have."""

    room: ClassVar[Any]
    files: dict[str, str] = field(default_factory=dict)
    sysctl: dict[str, str] = field(default_factory=dict)

    def read(self) -> dict[str, Any]:
        parts = {fact.name: fact.parse(self.answer(fact.command)) for fact in self.room.FACTS}
        return {**self.room.combine(parts), "node.name": "mini1"}

    def answer(self, command: Command) -> Reply:
        out, err, code = self.says(command)
        return Reply(command, code, out.encode(), err.encode())

    def says(self, command: Command) -> tuple[str, str, int]:
        raise NotImplementedError

    def run(self, *commands: Command) -> None:
        for command in commands:
            assert command.system
            assert command.sudo == command.argv[0].startswith("/")
            self.obey(command.argv)

    def obey(self, argv: tuple[str, ...]) -> None:
        match argv:
            case ("sh", "-c", _, "stage", folder, file, *lines):
                assert file.startswith(f"{folder}/")
                self.files[file] = "\n".join(lines) + "\n"
            case ("/usr/bin/install", *_, source, target):
                self.files[target] = self.files[source]
            case ("/bin/mv" | "/usr/bin/mv", "-f", source, target):
                self.files[target] = self.files.pop(source)
            case ("/bin/rm" | "/usr/bin/rm", "-f", *targets):
                for target in targets:
                    self.files.pop(target, None)
            case ("rm", "-r", "-f", folder):
                self.files = {path: text for path, text in self.files.items() if not path.startswith(folder)}
            case ("/usr/sbin/sysctl", *words):
                for name, _, value in (word.partition("=") for word in words if "=" in word):
                    assert name in self.sysctl
                    self.sysctl[name] = value
            case _:
                raise AssertionError(argv)


@dataclass
class Mac(Model):
    room: ClassVar[Any] = on_macos
    high: bool = False
    offset: float = 0.01
    network_time: bool = True
    names: dict[str, str] = field(
        default_factory=lambda: {"ComputerName": "A Mac", "LocalHostName": "a-mac", "HostName": ""}
    )
    mains: dict[str, int] = field(default_factory=lambda: {**dict.fromkeys(power.SWITCHES, 0), "sleep": 1})
    memory_gib: int = 64

    def __post_init__(self) -> None:
        self.mains = {"disksleep": 10, "displaysleep": 10, **self.mains}
        self.mains["powermode" if self.high else "lowpowermode"] = 0
        self.sysctl = {
            "iogpu.wired_limit_mb": "0",
            "kern.maxfiles": "491520",
            "kern.maxfilesperproc": "245760",
        }

    def says(self, command: Command) -> tuple[str, str, int]:  # noqa: PLR0911
        if command == power.CUSTOM:
            lines = "".join(f" {key:<20} {value}\n" for key, value in self.mains.items())
            return f"Battery Power:\n sleep 9\n womp 0\nAC Power:\n{lines}", "", 0
        if command == power.CAPABILITIES:
            return f"Capabilities for AC Power:\n lowpowermode\n{' highpowermode' * self.high}\n", "", 0
        if command == SYSCTL:
            values = {**self.sysctl, "hw.memsize": self.memory_gib * GIB}
            return "".join(f"{name}: {value}\n" for name, value in values.items()), "", 0
        if command == launchdaemon.LIST:
            inside = (path for path in self.files if path.startswith(launchdaemon.FOLDER))
            return "".join(f"{path.rpartition('/')[2]}\n" for path in inside), "", 0
        if command == launchdaemon.OURS:
            shown = [path for path in command.argv[4:] if path in self.files]
            return "".join(f"==> {path} <==\n{self.files[path]}\n" for path in shown), "", int(not shown)
        if command.argv[:2] == ("scutil", "--get"):
            kind = command.argv[2]
            name = self.names.get(kind)
            return (f"{name}\n", "", 0) if name else ("", f"{kind}: not set\n", 1)
        if command == clock.NETWORK_TIME:
            return f"Network Time: {'On' if self.network_time else 'Off'}\n", "", 0
        if command == clock.SNTP:
            return f"{self.offset:+.6f} +/- 0.004 time.apple.com 203.0.113.1\n", "", 0
        assert command in {fact.command for fact in posture.FACTS}
        return "", "", 1

    def obey(self, argv: tuple[str, ...]) -> None:
        match argv:
            case ("/usr/bin/pmset", "-c", key, value) if key in self.mains:
                self.mains[key] = int(value)
            case ("/usr/sbin/scutil", "--set", kind, name):
                self.names[kind] = name
            case ("/usr/sbin/systemsetup", "-setusingnetworktime", "on" | "off" as word):
                self.network_time = word == "on"
            case ("/usr/bin/sntp", "-sS", "time.apple.com"):
                self.offset = 0.002
            case _:
                super().obey(argv)


@dataclass
class LinuxNode(Model):
    room: ClassVar[Any] = on_linux
    masked: set[str] = field(default_factory=set)
    network_time: bool = True
    governors: dict[str, str] = field(default_factory=lambda: {"0": "schedutil", "4": "schedutil"})

    def __post_init__(self) -> None:
        self.sysctl = {
            "fs.file-max": "1000000",
            "fs.nr_open": "1048576",
            "net.core.rmem_max": "212992",
            "net.core.wmem_max": "212992",
            "net.ipv4.tcp_rmem": "4096\t131072\t6291456",
            "net.ipv4.tcp_wmem": "4096\t16384\t4194304",
        }

    def says(self, command: Command) -> tuple[str, str, int]:
        if command == KERNEL:
            texts = {proc(name): value for name, value in self.sysctl.items()} | self.files
            for number, name in self.governors.items():
                texts[f"{POLICIES[:-1]}{number}/scaling_governor"] = name
                texts[f"{POLICIES[:-1]}{number}/scaling_available_governors"] = (
                    "performance schedutil ondemand"
                )
            texts["/proc/self/limits"] = (
                "Max open files            1024                 524288               files"
            )
            return "".join(f"==> {path} <==\n{text}\n\n" for path, text in texts.items()), "", 0
        if command == linux_sleep.STATES:
            states = ("masked" if target in self.masked else "static" for target in TARGETS)
            return "\n".join(states), "", 0
        if command == linux_clock.STATE:
            return f"Timezone=Etc/UTC\nCanNTP=yes\nNTP={'yes' if self.network_time else 'no'}\n", "", 0
        return "", "", 127

    def obey(self, argv: tuple[str, ...]) -> None:
        match argv:
            case ("/usr/bin/systemctl", "mask", target) if target in TARGETS:
                self.masked.add(target)
            case ("/usr/bin/systemctl", "unmask", target) if target in TARGETS:
                self.masked.discard(target)
            case ("/usr/bin/timedatectl", "set-ntp", word):
                self.network_time = word == "true"
            case ("/usr/bin/systemd-tmpfiles", "--create", path):
                for pattern, name in re.findall(r"^w (\S+) - - - - (\S+)$", self.files[path], re.MULTILINE):
                    for number in self.governors:
                        if fnmatchcase(f"{POLICIES[:-1]}{number}/scaling_governor", pattern):
                            self.governors[number] = name
            case _:
                super().obey(argv)


whole = st.integers(0, 9_999_999)
pairs = st.tuples(whole, whole)
labels = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9-]{0,8}[A-Za-z0-9])?", fullmatch=True)
spoken = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=12) | st.just(
    "Ada\u2019s Mac"
)
sizes = st.integers(1, 1 << 31)
triples = st.tuples(sizes, sizes, sizes).map(lambda three: " ".join(map(str, three)))
buffers = st.tuples(*(sizes.map(str) if "core" in name else triples for name in BUFFERS)).map(
    lambda values: tuple(zip(BUFFERS, values, strict=True))
)
words = st.sampled_from(["performance", "schedutil", "0=schedutil 4=performance", "0=ondemand 4=schedutil"])
VALUES: dict[type[Model], dict[str, st.SearchStrategy[Any]]] = {
    Mac: {
        **{f"power.{key}": st.integers(0, 10_080) for key in power.MINUTES},
        **{f"power.{key}": st.integers(0, 1) for key in power.SWITCHES},
        "power.mode": st.sampled_from(["lowpowermode 0", "lowpowermode 1"]),
        "memory.wired_limit": st.tuples(whole, st.none() | whole),
        "files.limit": st.tuples(whole, whole, st.none() | pairs),
        "names.consistent": st.tuples(spoken, labels, st.just("") | labels),
        "clock.network_time": st.booleans(),
    },
    LinuxNode: {
        "sleep.targets": st.sets(st.sampled_from(TARGETS)).map(lambda s: tuple(t for t in TARGETS if t in s)),
        "files.limit": st.tuples(whole, st.none() | whole, st.none() | pairs),
        "net.buffers": st.tuples(buffers, st.none() | buffers),
        "cpu.governor": st.tuples(words, st.none() | words),
        "clock.network_time": st.booleans(),
    },
}


def setting(kind: type[Model], name: str) -> Setting:
    found: Setting = next(one for one in kind.room.SETTINGS if one.name == name)
    return found


def test_no_setting_is_left_out() -> None:
    for kind, names in VALUES.items():
        known = [one.name for one in kind.room.SETTINGS]
        assert len(known) == len(set(known))
        assert set(known) - {"clock.step"} == set(names)
        assert set(known) <= set(kind().read())
        assert all(one.why.endswith(".") for one in kind.room.SETTINGS)
        assert set(kind.room.BASELINE) <= set(known)
