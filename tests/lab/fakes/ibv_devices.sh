#!/bin/sh
# ibv_devices: only a header when RDMA is off, and on Thunderbolt 4 always.
lab=/var/db/lab
. "$lab/facts"
[ $# -eq 0 ] || { printf 'usage: ibv_devices\n' >&2 && exit 1; }
printf '    %-16s\t   node GUID\n    %-16s\t----------------\n' device ------
read -r flag <"$lab/rdma"
[ "$flag$speaks_rdma" = enabledyes ] || exit 0
while read -r _ device guid _; do
    printf '    %-16s\t%s\n' "rdma_$device" "$guid"
done <"$lab/rdma_devices"
