#!/bin/sh
# uname: the fields come in a fixed order, whatever the order of the letters.
. /var/db/lab/facts
read -r node </proc/sys/kernel/hostname

letters=
for word in "$@"; do
    case "$word" in
    -*[!amnoprsv]* | [!-]* | - | '')
        printf 'uname: illegal option -- %s\nusage: uname [-amnoprsv]\n' "${word#-}" >&2
        exit 1
        ;;
    esac
    letters=$letters${word#-}
done
[ -n "$letters" ] || letters=s

line=
say() {
    case "$letters" in *a*) wanted=$2 ;; *"$1"*) wanted=yes ;; *) wanted=no ;; esac
    [ "$wanted" = no ] || line="$line${line:+ }$3"
}
case "$letters" in *o*) say o no Darwin ;; *) say s yes Darwin ;; esac
say n yes "$node"
say r yes "$release"
say v yes "$kernel"
say m yes arm64
say p no arm
printf '%s\n' "$line"
