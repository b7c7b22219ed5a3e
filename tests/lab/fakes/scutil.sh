#!/bin/sh
# scutil --get; a Mac whose HostName was never set says so.
. /var/db/lab/facts
read -r node </proc/sys/kernel/hostname
case "$*" in
'--get ComputerName') printf '%s\n' "$computer" ;;
'--get LocalHostName') printf '%s\n' "$node" ;;
'--get HostName')
    printf 'HostName: not set\n' >&2
    exit 1
    ;;
*)
    printf 'usage: scutil --get pref\n' >&2
    exit 64
    ;;
esac
