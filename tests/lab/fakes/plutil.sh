#!/bin/sh
# plutil -lint: whether a file is a property list.
. /var/db/lab/facts
case "${1-}:$#" in
-lint:1) printf 'No files specified.\n' && exit 1 ;;
-lint:*) shift && exec "$python" -I -S /usr/libexec/lab/plist.py lint "$@" ;;
:0) printf 'No files specified.\n' && exit 1 ;;
*) printf 'plutil: the lab only knows -lint\n' >&2 && exit 69 ;;
esac
