"""maccluster run, over real SSH to the lab's hosts."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import Any

from tests.flows.conftest import Cli, data
from tests.lab.cluster import Lab
from tests.lab.fixtures import Fault


def test_same_output_is_said_once(cli: Cli) -> None:
    done = cli("run", "--", "echo", "a  b", "*")
    assert (done.returncode, done.stdout) == (0, "mini[1-4]: a  b *\n")


def test_different_output_stands_apart(cli: Cli) -> None:
    done = cli("run", "-n", "mini[1-2]", "--", "hostname")
    assert done.stdout == "mini1: mini1\nmini2: mini2\n"


def test_one_word_is_a_shell_line(cli: Cli) -> None:
    done = cli("run", "--", "printf 'x\\ny\\n' | wc -l | tr -d ' '")
    assert done.stdout == "mini[1-4]: 2\n"


def test_the_largest_exit_code_wins(cli: Cli) -> None:
    done = cli("run", "--", "case $(hostname) in mini2) exit 3;; mini3) exit 7;; esac")
    assert done.returncode == 7
    assert done.stderr == "warning: mini2: exit code 3\nwarning: mini3: exit code 7\n"


def test_a_script_from_stdin_may_choose_its_interpreter(cli: Cli) -> None:
    script = "#!/usr/bin/env python3\nimport sys\nprint(sys.version_info.major, sys.argv[1:])\n"
    done = cli("run", "-n", "mini1", "-", "one", "two words", input=script)
    assert done.stdout == "3 ['one', 'two words']\n"


def test_a_script_reads_nothing_more(cli: Cli) -> None:
    assert cli("run", "-n", "mini1", "-", input="cat; echo end\n").stdout == "end\n"


def test_bytes_reach_a_pipe_unchanged(cli: Cli) -> None:
    done: Any = cli("run", "-n", "mini1", "--", "printf '\\000\\377\\033[31m'", text=False)
    assert done.stdout == b"\0\xff\x1b[31m"


def test_escapes_of_several_nodes_are_defused(cli: Cli) -> None:
    assert cli("run", "--", "printf '\\033]0;owned\\007'").stdout == "mini[1-4]: \\x1b]0;owned\\x07\n"


def test_json_and_plain(cli: Cli) -> None:
    nodes = data(cli("run", "--json", "-n", "mini1", "--", "echo out; echo err >&2; exit 5"))["nodes"]
    assert nodes == [{"node": "mini1", "status": "done", "code": 5, "stdout": "out\n", "stderr": "err\n"}]
    assert cli("run", "--plain", "-n", "mini[1-2]", "--", "echo", "x").stdout == "mini1\tx\nmini2\tx\n"


def test_lines_come_with_their_node_while_it_runs(cli: Cli) -> None:
    done = cli("run", "--stream", "-n", "mini1", "--", "echo one; echo two >&2; printf three")
    assert (done.stdout, done.stderr) == ("mini1: one\nmini1: three\n", "mini1: two\n")


def test_a_dead_node_hides_nobody(cli: Cli, fault: Fault) -> None:
    fault.kill("mini3", power=True)
    done = cli("run", "--", "true")
    assert done.returncode == 4
    assert done.stderr.startswith("error: mini3: ")
    assert "next: maccluster discover --nodes mini3" in done.stderr
    done = cli("run", "--", "hostname")
    assert done.stdout == "mini1: mini1\nmini2: mini2\nmini4: mini4\n"


def test_a_time_out_ends_the_command_on_the_node(cli: Cli, lab: Lab) -> None:
    done = cli(
        "run", "-n", "mini1", "--timeout", "1.5", "--", "echo early; trap '' TERM; sleep 77.01; echo late"
    )
    assert (done.returncode, done.stdout) == (1, "early\n"), "what was said by then is not lost"
    assert "error: mini1: not done after 1.5 s" in done.stderr
    _gone(lab, "mini1", "sleep 77.01")


def test_ctrl_c_leaves_nothing_behind(lab: Lab, profile: Path) -> None:
    process = lab.popen("ctl", *_ours("-m", "maccluster_cli", "run", "-p", str(profile), "--", "sleep 77.02"))
    while lab.exec("mini1", "pgrep", "-f", "sleep 77.02").returncode:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    for name in lab.hosts:
        _gone(lab, name, "sleep 77.02")


def test_a_killed_controller_leaves_nothing_behind(lab: Lab, profile: Path) -> None:
    process = lab.popen("ctl", *_ours("-m", "maccluster_cli", "run", "-p", str(profile), "--", "sleep 77.03"))
    while lab.exec("mini4", "pgrep", "-f", "sleep 77.03").returncode:
        time.sleep(0.05)
    process.kill()
    process.wait(10)
    for name in lab.hosts:
        _gone(lab, name, "sleep 77.03")


def _ours(*argv: str) -> tuple[str, ...]:
    return (sys.executable, *argv)


def _gone(lab: Lab, name: str, pattern: str) -> None:
    end = time.monotonic() + 5
    while lab.exec(name, "pgrep", "-f", pattern).returncode == 0:
        assert time.monotonic() < end, f"{pattern} still runs on {name}"
        time.sleep(0.05)
