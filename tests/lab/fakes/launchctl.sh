#!/bin/sh
# launchctl: resource limits, and the jobs of the system domain. What is loaded is forgotten at reboot.
lab=/var/db/lab
jobs=/run/lab/jobs
tools=/usr/libexec/lab
. "$lab/facts"

usage() {
    printf 'Usage: launchctl %s\n' "$1" >&2
    exit 64
}
# $1 says what was tried, $2 and $3 the number and text of launchd's error.
fail() {
    printf '%s: %s: %s\n' "$1" "$2" "$3" >&2
    exit "$2"
}
root() {
    [ -w "$lab/facts" ] || fail "$1" 1 'Operation not permitted'
}
service() {
    case "$1" in
    system/?*) label=${1#system/} ;;
    *) printf 'Unrecognized target specifier.\n' >&2 && usage "$2" ;;
    esac
}

limits() {
    for line in cpu:unlimited:unlimited filesize:unlimited:unlimited data:unlimited:unlimited stack:8372224:67092480 \
        core:0:unlimited rss:unlimited:unlimited memlock:unlimited:unlimited maxproc:5333:8000; do
        hard=${line##*:} soft=${line%:*}
        printf '\t%-11s %-14s %-14s \n' "${line%%:*}" "${soft#*:}" "$hard"
    done
    max_files
}
max_files() {
    read -r soft hard <"$lab/limits/maxfiles"
    printf '\t%-11s %-14s %-14s \n' maxfiles "$soft" "$hard"
}
# The kernel's caps follow, and with System Integrity Protection on they may only grow.
set_max_files() {
    what='Could not set resource limits' soft=$1 hard=${2-$1}
    root "$what"
    case "$soft:$hard" in *[!0-9]*:* | :* | *:) usage 'limit [<limit-name> [<both-limits> | <soft-limit> <hard-limit>]]' ;; esac
    read -r files <"$lab/sysctl/kern.maxfiles"
    read -r each <"$lab/sysctl/kern.maxfilesperproc"
    total=$hard
    [ "$hard" != unlimited ] || total=$files
    case "$total" in *[!0-9]*) usage 'limit [<limit-name> [<both-limits> | <soft-limit> <hard-limit>]]' ;; esac
    [ "$soft" -le "$total" ] || fail "$what" 22 'Invalid argument'
    read -r sip <"$lab/sip"
    if [ "$sip" = enabled ] && { [ "$soft" -lt "$each" ] || [ "$total" -lt "$files" ]; }; then
        fail "$what" 150 'Operation not permitted while System Integrity Protection is engaged'
    fi
    printf '%s %s\n' "$soft" "$hard" >"$lab/limits/maxfiles"
    printf '%s\n' "$total" >"$lab/sysctl/kern.maxfiles"
    printf '%s\n' "$soft" >"$lab/sysctl/kern.maxfilesperproc"
}

bootstrap() {
    what='Bootstrap failed'
    if [ ! -w "$lab/facts" ]; then
        printf '%s: 5: Input/output error\nTry re-running the command as root for richer errors.\n' "$what" >&2
        exit 5
    fi
    fresh=/run/lab/fresh.$$
    "$python" -I -S "$tools/plist.py" job "$1" "$fresh"
    case $? in
    0) ;;
    2) printf '%s: No such file or directory\n' "$1" >&2 && fail "$what" 2 'No such file or directory' ;;
    122) printf '%s: Path had bad ownership/permissions\n' "$1" >&2 && fail "$what" 122 'Path had bad ownership/permissions' ;;
    *) fail "$what" 5 'Input/output error' ;;
    esac
    read -r label <"$fresh/label"
    override=enabled
    [ ! -e "$lab/launchd/$label" ] || read -r override <"$lab/launchd/$label"
    [ "$override" = enabled ] || { rm -r "$fresh" && fail "$what" 119 'Service is disabled'; }
    [ ! -e "$jobs/$label" ] || { rm -r "$fresh" && fail "$what" 5 'Input/output error'; }
    mkdir -p "$jobs"
    mv "$fresh" "$jobs/$label"
    "$tools/setsid" -f "$tools/launchd" keep "$label" </dev/null >/dev/null 2>&1
    until [ -e "$jobs/$label/keeper" ]; do sleep 0.01; done
}
# The job is told to end, and made to after its time; whatever it has left in its group goes with it.
bootout() {
    root 'Boot-out failed'
    [ -d "$jobs/$1" ] || fail 'Boot-out failed' 3 'No such process'
    gone=/run/lab/gone.$$
    mv "$jobs/$1" "$gone"
    read -r keeper <"$gone/keeper" && kill -s KILL -- "-$keeper" 2>/dev/null
    if [ -e "$gone/pid" ]; then
        read -r pid <"$gone/pid"
        read -r patience <"$gone/exit_timeout"
        kill -TERM "$pid" 2>/dev/null
        tenths=$((patience * 10))
        while [ "$tenths" -gt 0 ] && alive "$pid"; do sleep 0.1 && tenths=$((tenths - 1)); done
        kill -KILL "$pid" 2>/dev/null
        abandon=$(cat "$gone/abandon")
        rm -r "$gone"
        [ -n "$abandon" ] || kill -s KILL -- "-$pid" 2>/dev/null
        exit 0
    fi
    rm -r "$gone"
}
# A dead child of a killed keeper waits a moment for PID 1.
alive() {
    [ -e "/proc/$1/stat" ] || return 1
    read -r _ _ state _ <"/proc/$1/stat" && [ "$state" != Z ]
}
running() {
    pid='' status=0
    [ ! -e "$jobs/$1/pid" ] || read -r pid <"$jobs/$1/pid"
    [ ! -e "$jobs/$1/status" ] || read -r status <"$jobs/$1/status"
}
show() {
    [ -d "$jobs/$1" ] || { printf 'Bad request.\nCould not find service "%s" in domain for system\n' "$1" >&2 && exit 113; }
    running "$1"
    read -r path <"$jobs/$1/path"
    read -r runs <"$jobs/$1/runs"
    read -r interval <"$jobs/$1/interval"
    if [ -n "$pid" ]; then state=running; else state='not running'; fi
    printf 'system/%s = {\n\tactive count = %s\n\tpath = %s\n\ttype = LaunchDaemon\n' "$1" $((0${pid:+1})) "$path"
    printf '\tstate = %s\n\n' "$state"
    cat "$jobs/$1/print"
    printf '\tdomain = system\n\tminimum runtime = 10\n\truns = %s\n' "$runs"
    [ -z "$pid" ] || printf '\tpid = %s\n' "$pid"
    if [ "$runs" = 0 ]; then printf '\tlast exit code = (never exited)\n'; else printf '\tlast exit code = %s\n' "$status"; fi
    [ -z "$interval" ] || printf '\trun interval = %s seconds\n' "$interval"
    printf '}\n'
}
# Without root only the user's own jobs are listed, and it has none.
list() {
    printf 'PID\tStatus\tLabel\n'
    [ -w "$lab/facts" ] || exit 0
    for job in "$jobs"/*; do
        [ -d "$job" ] || continue
        running "${job##*/}"
        printf '%s\t%s\t%s\n' "${pid:--}" "$status" "${job##*/}"
    done
}
list_one() {
    if [ ! -w "$lab/facts" ] || [ ! -d "$jobs/$1" ]; then
        printf 'Could not find service "%s" in domain for system\n' "$1" >&2
        exit 113
    fi
    running "$1"
    printf '{\n\t"LimitLoadToSessionType" = "System";\n\t"Label" = "%s";\n' "$1"
    printf '\t"OnDemand" = true;\n\t"LastExitStatus" = %s;\n' $((status * 256))
    [ -z "$pid" ] || printf '\t"PID" = %s;\n' "$pid"
    printf '};\n'
}
override() {
    root "Could not $1 service"
    mkdir -p "$lab/launchd"
    printf '%sd\n' "$1" >"$lab/launchd/$2"
}
print_disabled() {
    printf '\n\tdisabled services = {\n'
    for file in "$lab/launchd"/*; do
        [ -e "$file" ] || continue
        read -r word <"$file"
        printf '\t\t"%s" => %s\n' "${file##*/}" "$word"
    done
    printf '\t}\n'
}
kick() {
    root 'Could not kickstart service "'"$1"'"'
    [ -d "$jobs/$1" ] || { printf 'Could not find service "%s" in domain for system\n' "$1" >&2 && exit 113; }
    "$tools/setsid" -f "$tools/launchd" once "$1" </dev/null >/dev/null 2>&1
}

case "${1-}" in
bootstrap | bootout | enable | disable | kickstart | limit)
    [ "$1:$#" = limit:1 ] || [ "$1:$#" = limit:2 ] || [ ! -w "$lab/calls" ] || printf 'launchctl %s\n' "$*" >>"$lab/calls"
    ;;
esac
case "$#:${1-}:${2-}" in
1:limit:) limits ;;
2:limit:maxfiles) max_files ;;
[34]:limit:maxfiles) set_max_files "$3" ${4+"$4"} ;;
*:limit:*) usage 'limit [<limit-name> [<both-limits> | <soft-limit> <hard-limit>]]' ;;
3:bootstrap:system) bootstrap "$3" ;;
*:bootstrap:*) usage 'bootstrap <domain-target> [service-path, service-path2, ...]' ;;
3:bootout:system)
    label=$("$python" -I -S "$tools/plist.py" label "$3") || { printf '%s: No such file or directory\n' "$3" >&2 && fail 'Boot-out failed' 2 'No such file or directory'; }
    bootout "$label"
    ;;
2:bootout:*) service "$2" 'bootout <domain-target> [service-path1, service-path2, ...] | <service-target>' && bootout "$label" ;;
2:print:*) service "$2" 'print <domain-target> | <service-target>' && show "$label" ;;
2:print-disabled:system) print_disabled ;;
1:list:) list ;;
2:list:*) list_one "$2" ;;
2:enable:* | 2:disable:*) service "$2" "$1 <service-target>" && override "$1" "$label" ;;
2:kickstart:*) service "$2" 'kickstart [-k] [-p] <service-target>' && kick "$label" ;;
*:load:* | *:unload:* | *:kill:* | *:setenv:*)
    printf 'launchctl: the lab does not act on %s\n' "$1" >&2
    exit 69
    ;;
0:*) usage '<subcommand> ... | help [subcommand]' ;;
*) printf 'Unrecognized subcommand: %s\n' "$1" >&2 && usage '<subcommand> ... | help [subcommand]' ;;
esac
