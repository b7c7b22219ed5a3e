#!/bin/sh
# fdesetup: whether FileVault is on.
read -r state </var/db/lab/filevault
case "$*:$state" in
status:on) printf 'FileVault is On.\n' ;;
status:*) printf 'FileVault is Off.\n' ;;
isactive:on) printf 'true\n' ;;
isactive:*) printf 'false\n' && exit 1 ;;
*) printf 'Usage: fdesetup <verb> <options>\n' >&2 && exit 1 ;;
esac
