#!/bin/sh
# caffeinate: holds nothing awake here, but lasts as long as the real one would.
seconds='' process=''
while [ $# -gt 0 ]; do
    case "$1" in
    -t) seconds=${2-} && shift ;;
    -w) process=${2-} && shift ;;
    --) shift && break ;;
    -*[!disum]* | -)
        printf 'usage: caffeinate [-disu] [-t timeout] [-w Process ID] [command arguments...]\n' >&2
        exit 64
        ;;
    -*) ;;
    *) break ;;
    esac
    shift
done
[ $# -eq 0 ] || exec "$@"
[ -z "$process" ] || exec tail --pid="$process" -f /dev/null
exec sleep "${seconds:-2147483647}"
