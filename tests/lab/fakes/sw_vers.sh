#!/bin/sh
# sw_vers: both spellings of each option; one dash is the older one.
. /var/db/lab/facts
case "$#:${1-}" in
0:) printf 'ProductName:\t\tmacOS\nProductVersion:\t\t%s\nBuildVersion:\t\t%s\n' "$version" "$build" ;;
1:-productName | 1:--productName) printf 'macOS\n' ;;
1:-productVersion | 1:--productVersion) printf '%s\n' "$version" ;;
1:-buildVersion | 1:--buildVersion) printf '%s\n' "$build" ;;
*)
    printf 'Usage: sw_vers [--help|--productName|--productVersion|--productVersionExtra|--buildVersion]\n' >&2
    exit 1
    ;;
esac
