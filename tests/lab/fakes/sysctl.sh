#!/bin/sh
# sysctl: one file a name. A name above others stands for all below it.
lab=/var/db/lab
. "$lab/facts"
status=0 bare='' skip=''

usage() {
    printf 'usage: sysctl [-bdehiNnoqx] [-B <bufsize>] [-f filename] name[=value] ...\n' >&2
    printf '       sysctl [-bdehNnoqx] [-B <bufsize>] -a\n' >&2
    exit 1
}
print() {
    read -r value <"$lab/sysctl/$1"
    if [ "$1" = vm.loadavg ]; then
        read -r one five fifteen _ </proc/loadavg
        value="{ $one $five $fifteen }"
    fi
    if [ -n "$bare" ]; then printf '%s\n' "$value"; else printf '%s: %s\n' "$1" "$value"; fi
}
print_below() {
    found=
    for file in "$lab/sysctl/$1"*; do
        [ -e "$file" ] || continue
        found=yes
        print "${file##*/}"
    done
    [ -n "$found" ]
}
unknown() {
    [ -z "$strict_sysctl$skip" ] && return
    [ -n "$skip" ] && return
    printf "sysctl: unknown oid '%s'\n" "$1" >&2
    status=1
}
complain() {
    printf 'sysctl: %s\n' "$1" >&2
    status=1
}
# Whether the list in file $1 has the name $2.
listed() {
    read -r names <"$lab/$1"
    case " $names " in *" $2 "*) ;; *) return 1 ;; esac
}
write() {
    name=${1%%=*} new=${1#*=} file=$lab/sysctl/${1%%=*}
    [ ! -w "$lab/calls" ] || printf 'sysctl %s\n' "$1" >>"$lab/calls"
    [ -e "$file" ] || { unknown "$name"; return; }
    case "$name" in
    iogpu.* | kern.maxfiles* | kern.ipc.* | net.*) ;;
    *) complain "oid '$name' is read only"; return ;;
    esac
    ! listed readonly "$name" || { complain "oid '$name' is read only"; return; }
    case "$new" in '' | *[!0-9]*) complain "invalid integer '$new'"; return ;; esac
    [ -w "$file" ] || { complain "$1: Operation not permitted"; return; }
    read -r old <"$file"
    listed stubborn "$name" || printf '%s\n' "$new" >"$file"
    [ -n "$bare" ] || printf '%s: ' "$name"
    printf '%s -> %s\n' "$old" "$new"
}

[ $# -gt 0 ] || usage
while [ $# -gt 0 ]; do
    case "$1" in
    -n) bare=yes ;;
    -i) skip=yes ;;
    -w | -q) ;;
    -a) print_below '' ;;
    -*) usage ;;
    *=*) write "$1" ;;
    *)
        if [ -e "$lab/sysctl/$1" ]; then
            print "$1"
        else
            print_below "$1." || unknown "$1"
        fi
        ;;
    esac
    shift
done
exit "$status"
