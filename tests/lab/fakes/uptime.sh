#!/bin/sh
# uptime: since this host's boot, not the machine's.
read -r _ _ _ started _ </var/db/lab/sysctl/kern.boottime
read -r one five fifteen _ </proc/loadavg
# shellcheck disable=SC2046  # two words are wanted
set -- $(date '+%H:%M %s')
minutes=$((($2 - ${started%,}) / 60))
if [ "$minutes" -lt 60 ]; then
    since="$minutes mins"
else
    since="$((minutes / 60)):$((minutes % 60 / 10))$((minutes % 10))"
fi
printf '%s  up %s, 1 user, load averages: %s %s %s\n' "$1" "$since" "$one" "$five" "$fifteen"
