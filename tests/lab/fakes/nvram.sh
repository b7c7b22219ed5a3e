#!/bin/sh
# nvram: knows the flag of RDMA and nothing else.
lab=/var/db/lab
read -r flag <"$lab/rdma"
missing() {
    printf "nvram: Error getting variable - '%s': (iokit/common) data was not found\n" "$1" >&2
    exit 1
}
case "$#:${1-}:$flag" in
1:-p:enabled | 1:rdma-enable:enabled) printf 'rdma-enable\t1\n' ;;
1:-p:*) ;;
1:*=*)
    [ -w "$lab/facts" ] || { printf "nvram: Error setting variable - '%s': (iokit/common) not privileged\n" "${1%%=*}" >&2 && exit 1; }
    printf 'nvram: the lab does not set %s\n' "${1%%=*}" >&2
    exit 69
    ;;
*:-* | 0:*) printf 'nvram: (usage: nvram [-xp] name ...)\n' >&2 && exit 1 ;;
*) missing "$1" ;;
esac
