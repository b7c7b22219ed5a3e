#!/bin/sh
# ipconfig getifaddr: no address, no output, exit status 1.
[ "$#:$1" = 2:getifaddr ] || { printf 'usage: ipconfig <command> <args>\n' >&2 && exit 1; }
# shellcheck disable=SC2046  # words are wanted
set -- $(/usr/libexec/lab/ip -4 -o addr show dev "$2" 2>/dev/null)
[ $# -gt 3 ] || exit 1
printf '%s\n' "${4%/*}"
