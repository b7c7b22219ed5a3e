#!/bin/sh
# pmset: one file a setting, one directory a power source.
lab=/var/db/lab
. "$lab/facts"

usage() {
    printf "Usage: pmset <options>\nSee pmset(1) for details: 'man pmset'\n"
    exit 1
}
settings() {
    for file in "$lab/pmset/$1"/*; do
        read -r value <"$file"
        key=${file##*/}
        case "$key" in
        sleep) [ -z "$2" ] || value="$value$prevented" ;;
        esac
        printf ' %-20s %s\n' "$key" "$value"
    done
}
live() {
    prevented=
    [ ! -e "$lab/prevented" ] || { read -r names <"$lab/prevented" && prevented=" (sleep prevented by $names)"; }
    printf 'System-wide power settings:\n'
    [ ! -e "$lab/sleep_disabled" ] || { read -r value <"$lab/sleep_disabled" && printf ' SleepDisabled\t\t%s\n' "$value"; }
    printf 'Currently in use:\n'
    settings 'AC Power' live
}
custom() {
    for source in 'Battery Power' 'AC Power'; do
        [ -d "$lab/pmset/$source" ] || continue
        printf '%s:\n' "$source"
        settings "$source" ''
    done
}
capabilities() {
    printf 'Capabilities for AC Power:\n'
    printf ' %s\n' displaysleep disksleep sleep womp standby powernap ttyskeepawake hibernatemode hibernatefile \
        tcpkeepalive lowpowermode
    [ -z "$high_power" ] || printf ' highpowermode\n'
    [ -n "$laptop" ] || printf ' autorestart\n'
}
battery() {
    printf "Now drawing from 'AC Power'\n"
    [ -z "$laptop" ] || printf ' -InternalBattery-0 (id=4194404)\t96%%; charged; 0:00 remaining present: true\n'
}
thermal() {
    read -r level <"$lab/thermal"
    if [ -n "$level" ]; then
        printf 'Thermal Warning Level = %s\n' "$level"
    else
        printf 'Note: No thermal warning level has been recorded\n'
    fi
    printf 'Note: No performance warning level has been recorded\nNote: No CPU power status has been recorded\n'
}
known() {
    [ ! -e "$lab/pmset/AC Power/$1" ] || return 0
    case "$1" in powermode) printf 'HighPowerMode not supported on AC Power\n' ;; esac
    usage
}
store() {
    for directory in "$lab"/pmset/$2; do
        [ -d "$directory" ] && printf '%s\n' "$3" >"$directory/$1"
    done
}
# Without root the refusal is text on standard output; for disablesleep even the exit status is 0.
change() {
    if [ ! -w "$lab/facts" ]; then
        printf "'pmset' must be run as root...\n"
        [ "$2" = disablesleep ] && exit 0
        exit 1
    fi
    case "$1" in -a) sources='*' ;; -b) sources='Battery*' ;; -c) sources='AC*' ;; *) usage ;; esac
    shift
    [ $# -gt 1 ] || usage
    while [ $# -gt 1 ]; do
        if [ "$1" = disablesleep ]; then
            printf '%s\n' "$2" >"$lab/sleep_disabled"
        else
            known "$1"
            store "$1" "$sources" "$2"
        fi
        shift 2
    done
    [ $# -eq 0 ] || usage
}

case "$*" in
-g | '-g live') live ;;
'-g custom') custom ;;
'-g cap') capabilities ;;
'-g batt' | '-g ps') battery ;;
'-g therm') thermal ;;
-[abc]\ *) change "$@" ;;
*) usage ;;
esac
