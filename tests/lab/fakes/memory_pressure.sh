#!/bin/sh
# memory_pressure -Q: claims pages of 4096 bytes, which is wrong on Apple silicon.
[ "$*" = -Q ] || { printf 'usage: memory_pressure [-Q]\n' >&2 && exit 64; }
. /var/db/lab/facts
read -r free </var/db/lab/free_percent
printf 'The system has %s (%s pages with a page size of 4096).\n' "$memory" "$pages"
printf 'System-wide memory free percentage: %s%%\n' "$free"
