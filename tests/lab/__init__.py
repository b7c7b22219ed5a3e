"""The lab: several hosts on one Linux machine, in network namespaces."""
