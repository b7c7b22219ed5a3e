"""What announces itself on the local network. One source of three: macOS may block it without a word."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

SERVICES = ("_ssh._tcp.local.", "_maccluster._tcp.local.")


@dataclass(frozen=True, slots=True)
class Sighting:
    """One announced service: instance name, host (``mini1.local``), IPv4 addresses, TXT record."""

    name: str
    service: str
    host: str
    addresses: tuple[str, ...] = ()
    txt: dict[str, str] = field(default_factory=dict)


class Browse:
    """A browse that runs beside other work. ``result`` waits until ``seconds`` have passed."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._found: dict[tuple[str, str], Sighting] = {}
        self.error: str | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def result(self) -> tuple[Sighting, ...]:
        """Everything seen. ``error`` holds a sentence when the network would not let us ask."""
        self._thread.join()
        return tuple(sorted(self._found.values(), key=lambda s: (s.host, s.service)))

    def _run(self) -> None:
        try:
            for sighting in _listen(self._end):
                self._found[sighting.service, sighting.name] = sighting
        except OSError as error:
            # errno 65 on a Mac: Local Network privacy, whatever the switch in Settings shows
            self.error = f"multicast is not possible here ({error.strerror or error})"


def _listen(end: float) -> Iterator[Sighting]:
    from zeroconf import ServiceBrowser, ServiceInfo, ServiceStateChange, Zeroconf

    with contextlib.closing(Zeroconf()) as zero:
        names: set[tuple[str, str]] = set()

        def changed(
            zeroconf: Zeroconf, service_type: str, name: str, state_change: ServiceStateChange
        ) -> None:
            del zeroconf
            if state_change is not ServiceStateChange.Removed:
                names.add((service_type, name))

        ServiceBrowser(zero, list(SERVICES), handlers=[changed])
        time.sleep(max(0.0, end - time.monotonic()))
        for service, name in sorted(names):
            info = ServiceInfo(service, name)
            # a browse usually brings the record along; ask for at most a moment where it did not
            if info.load_from_cache(zero) or info.request(zero, 300):
                yield _sighting(info, service, name)


def _sighting(info: object, service: str, name: str) -> Sighting:
    from zeroconf import IPVersion, ServiceInfo

    assert isinstance(info, ServiceInfo)  # noqa: S101  # for the type checker: zeroconf loads late
    txt = {
        k.decode("utf-8", "replace"): (v or b"").decode("utf-8", "replace")
        for k, v in info.properties.items()
    }
    host = (info.server or "").rstrip(".")
    addresses = tuple(info.parsed_addresses(IPVersion.V4Only))
    return Sighting(name.removesuffix(f".{service}"), service.removesuffix(".local."), host, addresses, txt)
