#!/bin/sh
# spctl --status: Gatekeeper; the exit status follows.
[ "$*" = --status ] || { printf 'spctl: unrecognized option\n' >&2 && exit 2; }
read -r state </var/db/lab/gatekeeper
printf 'assessments %s\n' "$state"
[ "$state" = enabled ]
