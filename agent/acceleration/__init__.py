"""How this machine can run guests: found by really running one, never by looking at /dev/kvm."""

from agent.acceleration.cache import cached_probe
from agent.acceleration.probe import probe
from agent.acceleration.verdict import Acceleration, Kind

__all__ = ["Acceleration", "Kind", "cached_probe", "probe"]
