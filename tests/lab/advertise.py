"""Announces one service by Bonjour until it is killed: NAME ADDRESS SERVICE PORT."""

from __future__ import annotations

import signal
import socket
import sys


def main() -> None:
    from zeroconf import ServiceInfo, Zeroconf

    name, address, service, port = sys.argv[1:]
    kind = f"{service}.local."
    info = ServiceInfo(
        kind, f"{name}.{kind}", int(port), addresses=[socket.inet_aton(address)], server=f"{name}.local."
    )
    responder = Zeroconf(interfaces=[address])
    responder.register_service(info)
    print("ready", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
