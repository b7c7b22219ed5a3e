#!/bin/sh
# The part of launchd that a lab host has: `boot` loads the daemons on disk, `keep` runs a job as its file says.
jobs=/run/lab/jobs

boot() {
    for file in /Library/LaunchDaemons/*.plist; do
        [ ! -e "$file" ] || /bin/launchctl bootstrap system "$file"
    done
}
# Runs the job and waits. What the job leaves behind in its process group is killed, unless its file says otherwise.
once() {
    read -r runs <"$job/runs"
    printf '%s\n' $((runs + 1)) >"$job/runs"
    /usr/libexec/lab/setsid /bin/sh "$job/run" &
    own=$!
    printf '%s\n' "$own" >"$job/pid"
    wait "$own"
    status=$?
    # The job may have put itself out meanwhile.
    [ -d "$job" ] || exit 0
    printf '%s\n' "$status" >"$job/status"
    rm -f "$job/pid"
    read -r abandon <"$job/abandon"
    [ -n "$abandon" ] || kill -s KILL -- "-$own" 2>/dev/null
}
keep() {
    printf '%s\n' $$ >"$job/keeper"
    read -r start <"$job/run_at_load"
    read -r interval <"$job/interval"
    read -r forever <"$job/keep_alive"
    [ -z "$start$forever" ] || once
    while [ -n "$interval$forever" ]; do
        sleep "${interval:-10}"
        once
    done
    : >"$job/keeper"
}

job=$jobs/${2-}
case "$1" in
boot) boot ;;
keep) keep ;;
once) once ;;
esac
