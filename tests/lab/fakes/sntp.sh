#!/bin/sh
# sntp: how far this host's clock is off stands in a file; a step as root puts it right.
lab=/var/db/lab
. "$lab/facts"
act=''

usage() {
    printf 'usage: sntp [-sSdhv] [-t timeout] [-n iterations] hostname_or_IP\n' >&2
    exit 64
}
while [ $# -gt 1 ]; do
    case "$1" in
    -t | -n) shift ;;
    -*[!sSdv]* | -) usage ;;
    -*[sS]*) act=yes ;;
    -*) ;;
    *) usage ;;
    esac
    shift
done
case "${1--}" in -*) usage ;; esac
[ -z "$act" ] || [ ! -w "$lab/calls" ] || printf 'sntp -S %s\n' "$1" >>"$lab/calls"

read -r noise <"$lab/sntp/noise"
read -r failure <"$lab/sntp/failure"
read -r offset <"$lab/sntp/offset"
read -r error <"$lab/sntp/error"
[ -z "$noise" ] || printf '%s\n' "$noise"
[ -z "$failure" ] || { printf 'sntp: Exchange failed: %s\n' "$failure" >&2 && exit 1; }
# The text without root is not known.
[ -z "$act" ] || [ -w "$lab/facts" ] || { printf 'sntp: settimeofday: Operation not permitted\n' >&2 && exit 1; }

if [ -n "$old_sntp" ]; then
    printf '%s %s +/- %s %s 203.0.113.67 s1 no-leap\n' "$(date '+%Y-%m-%d %H:%M:%S.%6N (%z)')" "$offset" "$error" "$1"
else
    printf '%s +/- %s %s 203.0.113.67\n' "$offset" "$error" "$1"
fi
[ -n "$act" ] || exit 0
printf '+0.000000\n' >"$lab/sntp/offset"
date '+%s' >"$lab/sntp/stepped"
