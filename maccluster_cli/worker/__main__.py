"""``python -m maccluster_cli.worker SPEC.json``: run one rank of a job."""

from __future__ import annotations

import sys


def main(argv: list[str]) -> int:
    """Become the outer process of a rank, or with ``--inside`` the rank itself; the exit status."""
    if len(argv) == 2 and argv[0] == "--inside":  # noqa: PLR2004
        from maccluster_cli.worker import inside

        inside.main(argv[1])
    if len(argv) != 1:
        print("usage: python -m maccluster_cli.worker SPEC.json", file=sys.stderr)
        return 3
    from maccluster_cli.worker import guard

    return guard.watch(argv[0])


sys.exit(main(sys.argv[1:]))
