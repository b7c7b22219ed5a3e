#!/bin/sh
# rdma_ctl: the flag says nothing about the hardware; it can only be changed from Recovery.
case "$*" in
status) exec cat /var/db/lab/rdma ;;
enable | disable)
    # The real text is not known.
    printf 'rdma_ctl: %s is only possible in Recovery\n' "$1" >&2
    exit 1
    ;;
*)
    printf 'usage: rdma_ctl status | enable | disable\n' >&2
    exit 64
    ;;
esac
