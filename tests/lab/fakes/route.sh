#!/bin/sh
# route -n get ADDRESS, from the real routes of this host.
[ "$#:$1:$2" = 3:-n:get ] || { printf 'usage: route [-dnqtv] command [[modifiers] args]\n' >&2 && exit 64; }
target=$3

# shellcheck disable=SC2046  # words are wanted
set -- $(/usr/libexec/lab/ip -o route get "$target" 2>/dev/null)
gateway='' interface=''
while [ $# -gt 1 ]; do
    case "$1" in via) gateway=$2 ;; dev) interface=$2 ;; esac
    shift
done
[ -n "$interface" ] || { printf 'route: writing to routing socket: not in table\n' >&2 && exit 1; }

read -r mtu <"/sys/class/net/$interface/mtu"
[ "$interface" != lo ] || interface=lo0
printf '   route to: %s\n' "$target"
if [ -n "$gateway" ]; then
    printf 'destination: default\n       mask: default\n    gateway: %s\n' "$gateway"
    flags='<UP,GATEWAY,DONE,STATIC,PRCLONING,GLOBAL>'
else
    printf 'destination: %s\n' "$target"
    flags='<UP,HOST,DONE,LLINFO,WASCLONED,IFSCOPE,IFREF>'
fi
printf '  interface: %s\n      flags: %s\n' "$interface" "$flags"
printf ' recvpipe  sendpipe  ssthresh  rtt,msec    rttvar  hopcount      mtu     expire\n'
printf '       0         0         0         0         0         0  %8s         0 \n' "$mtu"
