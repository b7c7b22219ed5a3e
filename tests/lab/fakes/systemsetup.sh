#!/bin/sh
# systemsetup: every failure is text on standard output, nearly always with exit status 0.
lab=/var/db/lab
. "$lab/facts"
restart="$lab/pmset/AC Power/autorestart"
force=''

case "${1-}" in -set* | -f) [ ! -w "$lab/calls" ] || printf 'systemsetup %s\n' "$*" >>"$lab/calls" ;; esac
[ -w "$lab/facts" ] || { printf 'You need administrator access to run this tool... exiting!\n' && exit 0; }

usage() {
    printf 'systemsetup: the lab knows network time, its server, remote login and restart after power failure\n'
    exit 1
}
on_off() {
    case "$1" in
    on | On | ON) word=on said=On ;;
    off | Off | OFF) word=off said=Off ;;
    *) printf 'Usage: systemsetup %s <on/off>\n' "$2" && exit 1 ;;
    esac
}
show() {
    read -r word <"$lab/$1"
    case "$word" in on) word=On ;; off) word=Off ;; esac
    printf '%s: %s\n' "$2" "$word"
}
get_restart() {
    [ -e "$restart" ] || { printf 'Restart After Power Failure: Not supported on this machine.\n' && exit 0; }
    read -r word <"$restart"
    if [ "$word" = 0 ]; then word=Off; else word=On; fi
    printf 'Restart After Power Failure: %s\n' "$word"
}
set_restart() {
    on_off "$1" -setrestartpowerfailure
    [ -e "$restart" ] || { printf 'setrestartpowerfailure: Not supported on this machine.\n' && exit 0; }
    if [ "$word" = on ]; then printf '1\n'; else printf '0\n'; fi >"$restart"
    printf 'setrestartpowerfailure: %s\n' "$said"
}
# A noise line comes first; it means nothing.
set_network_time() {
    on_off "$1" -setusingnetworktime
    printf '### Error:-99 File:InternetServices.m Line:395\n' >&2
    read -r stubborn <"$lab/stubborn"
    case " $stubborn " in *' usingnetworktime '*) ;; *) printf '%s\n' "$word" >"$lab/network_time" ;; esac
    printf 'setUsingNetworkTime: %s\n' "$said"
}
set_server() {
    printf '%s\n' "$1" >"$lab/time_server"
    printf 'setNetworkTimeServer: %s\n' "$1"
}
# Without Full Disk Access: newer releases say so, older ones are silent and do nothing.
set_remote_login() {
    on_off "$1" -setremotelogin
    read -r access <"$lab/full_disk_access"
    if [ -z "$access" ]; then
        [ -z "$says_access" ] && exit 0
        printf 'setremotelogin: Turning Remote Login on or off requires Full Disk Access privileges.\n'
        exit 1
    fi
    if [ "$word$force" = off ]; then
        printf 'Do you really want to turn remote login off? If you do, you will lose this connection and can only turn it back on locally at the server (yes/no)? '
        read -r answer || answer=no
        [ "$answer" = yes ] || exit 0
    fi
    printf '%s\n' "$word" >"$lab/remote_login"
}

[ "${1-}" != -f ] || { force=yes && shift; }
case "$#:${1-}" in
1:-getusingnetworktime) show network_time 'Network Time' ;;
1:-getnetworktimeserver) show time_server 'Network Time Server' ;;
1:-getremotelogin) show remote_login 'Remote Login' ;;
1:-getrestartpowerfailure) get_restart ;;
2:-setusingnetworktime) set_network_time "$2" ;;
2:-setnetworktimeserver) set_server "$2" ;;
2:-setremotelogin) set_remote_login "$2" ;;
2:-setrestartpowerfailure) set_restart "$2" ;;
*) usage ;;
esac
