"""The lab: several hosts on one Linux machine, in network namespaces.

`cluster.Lab` is what tests use, `python -m tests.lab` what hands use; MACCLUSTER_LAB_PREFIX names a lab.
"""
