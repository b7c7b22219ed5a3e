#!/bin/sh
# scutil: the three names of a Mac; a Mac whose HostName was never set says so.
names=/var/db/lab/names

usage() {
    printf 'usage: scutil --get pref\n       scutil --set pref [newval]\n' >&2
    exit 64
}
get() {
    read -r value <"$names/$1"
    [ -n "$value" ] || { printf '%s: not set\n' "$1" >&2 && exit 1; }
    printf '%s\n' "$value"
}
# A LocalHostName is a label of DNS, an empty HostName takes the name away.
set_name() {
    [ ! -w /var/db/lab/calls ] || printf 'scutil --set %s\n' "$*" >>/var/db/lab/calls
    if [ $# -gt 1 ]; then value=$2; else read -r value; fi
    case "$1:$value" in
    LocalHostName: | LocalHostName:*[!A-Za-z0-9-]* | LocalHostName:-* | LocalHostName:*-)
        printf 'SCPreferencesSetLocalHostName() failed: Invalid argument\n' >&2
        exit 1
        ;;
    esac
    [ -w "$names/$1" ] || { printf 'Permission denied.\n' >&2 && exit 1; }
    read -r stubborn </var/db/lab/stubborn
    case " $stubborn " in *" $1 "*) exit 0 ;; esac
    printf '%s\n' "$value" >"$names/$1"
    [ "$1" = HostName ] || exit 0
    # So that sudo can resolve the name, which on a Mac needs no file.
    sed -i '/ # HostName$/d' /etc/hosts
    [ -z "$value" ] || printf '127.0.0.1 %s # HostName\n' "$value" >>/etc/hosts
    [ -n "$value" ] || read -r value <"$names/LocalHostName"
    exec /bin/hostname "$value"
}

case "$#:${1-}:${2-}" in
2:--get:ComputerName | 2:--get:LocalHostName | 2:--get:HostName) get "$2" ;;
[23]:--set:ComputerName | [23]:--set:LocalHostName | [23]:--set:HostName) shift && set_name "$@" ;;
*) usage ;;
esac
