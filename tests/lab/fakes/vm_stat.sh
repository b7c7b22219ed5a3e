#!/bin/sh
# vm_stat: in pages of 16384 bytes.
[ $# -eq 0 ] || { printf 'Usage: vm_stat [-c count] interval\n' >&2 && exit 1; }
. /var/db/lab/facts
read -r free </var/db/lab/free_percent
total=$((memory / 16384)) free=$((memory * free / 1638400))
printf 'Mach Virtual Memory Statistics: (page size of 16384 bytes)\n'
printf '%-40s %14s.\n' 'Pages free:' $((free / 2)) 'Pages active:' $(((total - free) / 2)) \
    'Pages inactive:' $((free / 2)) 'Pages speculative:' 4096 'Pages throttled:' 0 \
    'Pages wired down:' $(((total - free) / 2)) 'Pages purgeable:' 2048
