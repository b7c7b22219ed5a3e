#!/bin/sh
# socketfilterfw, the reading side: the application firewall.
lab=/var/db/lab
case "$*" in
--getglobalstate)
    read -r state <"$lab/firewall"
    if [ "$state" = 0 ]; then word=disabled; else word=enabled; fi
    printf 'Firewall is %s. (State = %s)\n' "$word" "$state"
    ;;
--getstealthmode)
    read -r state <"$lab/stealth"
    printf 'Firewall stealth mode is %s\n' "$state"
    ;;
--listapps)
    count=0
    while read -r name; do [ -z "$name" ] || count=$((count + 1)); done <"$lab/firewall_apps"
    printf 'Total number of apps = %s\n' "$count"
    count=0
    while read -r name; do
        [ -n "$name" ] || continue
        count=$((count + 1))
        printf '\n%s : %s\n             (Allow incoming connections)\n' "$count" "$name"
    done <"$lab/firewall_apps"
    ;;
--set* | --add* | --remove* | --block* | --unblock*)
    [ -w "$lab/facts" ] || { printf 'Must be root to change settings.\n' && exit 1; }
    printf 'socketfilterfw: the lab does not act on %s\n' "$1" >&2
    exit 69
    ;;
*) printf 'usage: socketfilterfw [--getglobalstate] [--getstealthmode] [--listapps]\n' && exit 1 ;;
esac
