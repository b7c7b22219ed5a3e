#!/bin/sh
# pmset: one file a setting, one directory a power source.
lab=/var/db/lab
. "$lab/facts"
# A key that this machine has no file for is accepted and not kept, as Apple's tool does it.
keys='sleep displaysleep disksleep standby standbydelayhigh standbydelaylow highstandbythreshold womp ring'
keys="$keys autorestart powernap powerbutton tcpkeepalive lidwake acwake lessbright halfdim proximitywake"
keys="$keys ttyskeepawake networkoversleep hibernatemode hibernatefile autopoweroff autopoweroffdelay gpuswitch"
keys=" $keys lowpowermode powermode disablesleep haltlevel haltafter haltremain destroyfvkeyonstandby "

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
    read -r source <"$lab/power_source"
    [ ! -e "$lab/prevented" ] || { read -r names <"$lab/prevented" && prevented=" (sleep prevented by $names)"; }
    printf 'System-wide power settings:\n'
    [ ! -e "$lab/sleep_disabled" ] || { read -r value <"$lab/sleep_disabled" && printf ' SleepDisabled\t\t%s\n' "$value"; }
    printf 'Currently in use:\n'
    settings "$source" live
}
custom() {
    for source in 'Battery Power' 'AC Power' 'UPS Power'; do
        [ -d "$lab/pmset/$source" ] || continue
        printf '%s:\n' "$source"
        settings "$source" ''
    done
}
capabilities() {
    read -r source <"$lab/power_source"
    printf 'Capabilities for %s:\n' "$source"
    printf ' %s\n' displaysleep disksleep sleep
    case "$source" in Battery*) printf ' lessbright\n' ;; *) printf ' womp\n' ;; esac
    printf ' %s\n' standby powernap ttyskeepawake hibernatemode hibernatefile tcpkeepalive lowpowermode
    [ -z "$high_power" ] || printf ' highpowermode\n'
    [ -n "$laptop" ] || printf ' autorestart\n'
}
battery() {
    read -r source <"$lab/power_source"
    printf "Now drawing from '%s'\n" "$source"
    [ ! -d "$lab/pmset/UPS Power" ] || printf ' -Example UPS 900 (id=7340032)\t100%%; charged; 0:00 remaining present: true\n'
    [ -n "$laptop" ] || return 0
    case "$source" in
    Battery*) printf ' -InternalBattery-0 (id=4194404)\t71%%; discharging; 4:12 remaining present: true\n' ;;
    *) printf ' -InternalBattery-0 (id=4194404)\t96%%; charged; 0:00 remaining present: true\n' ;;
    esac
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
check() {
    case "$keys" in *" $1 "*) ;; *) usage ;; esac
    case "$1:$2" in
    hibernatefile:*) return ;;
    *:'' | *:*[!0-9]*) usage ;;
    powermode:[01]) ;;
    powermode:2) [ -n "$high_power" ] || { printf 'HighPowerMode not supported on %s\n' "${only:-AC Power}" && usage; } ;;
    powermode:*) printf 'Unsupported mode %s\n' "$2" && usage ;;
    esac
}
# Without root the refusal is text on standard output; for disablesleep even the exit status is 0.
refuse() {
    printf "'pmset' must be run as root...\n"
    while [ $# -gt 1 ]; do
        [ "$1" = disablesleep ] || exit 1
        shift 2
    done
    exit 0
}
store() {
    case "$stubborn" in *" $1 "*) return ;; esac
    key=$1
    # Where High Power Mode exists the two modes are one key; elsewhere the low one has its own.
    case "$key:$high_power" in lowpowermode:yes) key=powermode ;; powermode:) key=lowpowermode ;; esac
    for directory in "$lab"/pmset/$sources; do
        [ ! -e "$directory/$key" ] || printf '%s\n' "$2" >"$directory/$key"
    done
}
warn() {
    for directory in "$lab"/pmset/$sources; do
        [ -d "$directory" ] || continue
        read -r sleep <"$directory/sleep"
        read -r display <"$directory/displaysleep"
        read -r disk <"$directory/disksleep"
        [ "$sleep" != 0 ] || continue
        late='' never=''
        if [ "$display" = 0 ] || [ "$display" -gt "$sleep" ]; then late=yes; fi
        [ "$disk" != 0 ] || never=yes
        [ -n "$late$never" ] || continue
        printf 'Warning: Idle sleep timings for "%s" may not behave as expected.\n' "${directory##*/}" >&2
        [ -z "$late" ] || printf -- '- Display sleep should have a lower timeout than system sleep.\n' >&2
        [ -z "$never" ] || printf -- '- Disk sleep should be non-zero whenever system sleep is non-zero.\n' >&2
    done
}
# Every word is understood before anything is changed.
change() {
    [ ! -w "$lab/calls" ] || printf 'pmset %s\n' "$*" >>"$lab/calls"
    case "$1" in
    -a) sources='*' only='' ;;
    -b) sources='Battery*' only='Battery Power' ;;
    -c) sources='AC*' only='AC Power' ;;
    -u) sources='UPS*' only='UPS Power' ;;
    esac
    shift
    case "$#" in 0 | *[13579]) usage ;; esac
    words=$#
    while [ "$words" -gt 0 ]; do
        check "$1" "$2"
        set -- "$@" "$1" "$2"
        shift 2
        words=$((words - 2))
    done
    [ -w "$lab/facts" ] || refuse "$@"
    read -r stubborn <"$lab/stubborn"
    stubborn=" $stubborn "
    while [ $# -gt 1 ]; do
        if [ "$1" != disablesleep ]; then
            store "$1" "$2"
        else
            case "$stubborn" in *' disablesleep '*) ;; *) printf '%s\n' "$2" >"$lab/sleep_disabled" ;; esac
        fi
        shift 2
    done
    warn
}

case "$*" in
-g | '-g live') live ;;
'-g custom') custom ;;
'-g cap') capabilities ;;
'-g batt' | '-g ps') battery ;;
'-g therm') thermal ;;
'-g log') exec cat "$lab/power_log" ;;
-[abcu]\ *) change "$@" ;;
*) usage ;;
esac
