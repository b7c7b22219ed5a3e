#!/bin/sh
# ibv_devinfo: a port is active when its cable is up and the peer's RDMA is on too.
lab=/var/db/lab
. "$lab/facts"
verbose='' only=''

while [ $# -gt 0 ]; do
    case "$1" in
    -v) verbose=yes ;;
    -d) only=${2-} && shift ;;
    *) printf 'Usage: ibv_devinfo             print the ca attributes\n' >&2 && exit 1 ;;
    esac
    shift
done

port_state() {
    state='PORT_DOWN (1)' link=down offers=no
    read -r link <"/sys/class/net/$1/operstate"
    while read -r number device; do
        [ "$device" = "$1" ] && [ -e "$lab/thunderbolt/$number.offers_rdma" ] &&
            read -r offers <"$lab/thunderbolt/$number.offers_rdma"
    done <"$lab/thunderbolt/buses"
    [ "$link:$offers" != up:yes ] || state='PORT_ACTIVE (4)'
}
gids() {
    printf '\t\t\tgid_tbl_len:\t\t1024\n'
    # shellcheck disable=SC2046  # words are wanted
    set -- "$1" $(/usr/libexec/lab/ip -4 -o addr show dev "$1")
    printf '\t\t\tGID[  0]:\t\tfe80::%s\n' "$suffix"
    [ $# -lt 5 ] || printf '\t\t\tGID[  1]:\t\t::ffff:%s\n' "${5%/*}"
}
show() {
    port_state "$2"
    tail=${3#????????????}
    suffix=${4%:*} suffix=${suffix#*:}
    printf 'hca_id:\trdma_%s\n\ttransport:\t\t\tThunderbolt (100)\n' "$2"
    printf '\tnode_guid:\t\t\t0000:0000:0000:%s\n\tsys_image_guid:\t\t\t0000:0000:0000:0001\n' "$tail"
    printf '\tvendor_id:\t\t\t0x0000\n\tvendor_part_id:\t\t\t0\n\thw_ver:\t\t\t\t0x0\n\tphys_port_cnt:\t\t\t1\n'
    printf '\t\tport:\t1\n\t\t\tstate:\t\t\t%s\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t4096 (5)\n' "$state"
    printf '\t\t\tsm_lid:\t\t\t%s\n\t\t\tport_lid:\t\t%s\n\t\t\tport_lmc:\t\t0x00\n' "$1" "$1"
    printf '\t\t\tlink_layer:\t\tThunderbolt\n'
    [ -z "$verbose" ] || gids "$2"
    printf '\n'
}

read -r flag <"$lab/rdma"
shown=
if [ "$flag$speaks_rdma" = enabledyes ]; then
    while read -r number device guid mac; do
        [ -z "$only" ] || [ "$only" = "rdma_$device" ] || continue
        own=$device
        show "$number" "$own" "$guid" "$mac"
        shown=yes
    done <"$lab/rdma_devices"
fi
# The channel of this text is not known.
[ -n "$shown" ] || { printf 'No IB devices found\n' >&2 && exit 255; }
