#!/bin/sh
# system_profiler: picks rendered files, port by port, and hands them to one cat.
lab=/var/db/lab
thunderbolt=$lab/thunderbolt
json='' kinds=''

usage() {
    printf 'Usage: system_profiler [-listDataTypes]\n       system_profiler [-json] [-detailLevel level] [dataType...]\n' >&2
    exit 64
}
while [ $# -gt 0 ]; do
    case "$1" in
    -json) json=yes ;;
    -detailLevel) shift ;;
    -listDataTypes)
        printf 'Available Datatypes:\nSPDisplaysDataType\nSPHardwareDataType\nSPThunderboltDataType\n'
        exit 0
        ;;
    SPHardwareDataType | SPDisplaysDataType | SPThunderboltDataType) kinds="$kinds $1" ;;
    *) usage ;;
    esac
    shift
done
[ -n "$kinds" ] || usage

if [ -n "$json" ]; then form=json; else form=txt; fi
state_of() {
    state=down
    [ ! -e "$thunderbolt/$1.up.$form" ] || read -r state <"/sys/class/net/$2/operstate"
    [ "$state" = up ] || state=empty
}

for kind in $kinds; do
    [ -n "$json" ] && if [ $# -gt 0 ]; then set -- "$@" "$lab/profiler/comma"; else set -- "$lab/profiler/open"; fi
    if [ "$kind" != SPThunderboltDataType ]; then
        set -- "$@" "$lab/profiler/$kind.$form"
        continue
    fi
    if [ -n "$json" ]; then set -- "$@" "$thunderbolt/open"; else set -- "$@" "$thunderbolt/title"; fi
    while read -r number device; do
        state_of "$number" "$device"
        set -- "$@" "$thunderbolt/$number.$state.$form"
    done <"$thunderbolt/buses"
    [ -n "$json" ] && set -- "$@" "$thunderbolt/close"
done
[ -n "$json" ] && set -- "$@" "$lab/profiler/close"
exec cat "$@"
