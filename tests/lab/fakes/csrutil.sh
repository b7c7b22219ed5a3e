#!/bin/sh
# csrutil: System Integrity Protection can only be changed from Recovery.
case "$*" in
status)
    read -r state </var/db/lab/sip
    printf 'System Integrity Protection status: %s.\n' "$state"
    ;;
enable | disable | clear)
    printf 'csrutil: This tool needs to be executed from Recovery OS.\n' >&2
    exit 1
    ;;
*) printf 'usage: csrutil <command>\n' >&2 && exit 64 ;;
esac
