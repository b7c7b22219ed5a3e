"""``python -m maccluster_cli`` is the command ``maccluster``."""

from maccluster_cli.cli import main

main()
