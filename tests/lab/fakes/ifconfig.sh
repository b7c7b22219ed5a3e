#!/bin/sh
# ifconfig over the real interfaces of this host; of the writing side only mtu, up and down.
lab=/var/db/lab
net=/sys/class/net
ip=/usr/libexec/lab/ip

exists() {
    case "$1" in lo0) real=lo ;; lo) real=none ;; *) real=$1 ;; esac
    [ -e "$net/$real" ] || { printf 'ifconfig: interface %s does not exist\n' "$1" >&2 && exit 1; }
}
flags() {
    read -r bits <"$net/$1/flags"
    # A pulled cable leaves an interface up on a Mac; the lab has to take one end down for it.
    [ ! -e "$lab/unplugged/$1" ] || bits=$((bits | 1))
    case "$1:$((bits & 1)):$((bits & 0x100))" in
    lo:*) words='8049<UP,LOOPBACK,RUNNING,MULTICAST>' ;;
    *:1:0) words='8863<UP,BROADCAST,SMART,RUNNING,SIMPLEX,MULTICAST>' ;;
    *:1:*) words='8963<UP,BROADCAST,SMART,RUNNING,PROMISC,SIMPLEX,MULTICAST>' ;;
    *:0:0) words='8822<BROADCAST,SMART,SIMPLEX,MULTICAST>' ;;
    *) words='8922<BROADCAST,SMART,PROMISC,SIMPLEX,MULTICAST>' ;;
    esac
}
addresses_of() {
    while read -r _ name family address word broadcast _; do
        [ "$name" = "$1" ] || continue
        length=${address#*/}
        [ "$word" = brd ] && tail=" broadcast $broadcast" || tail=
        case "$family" in
        inet) printf '\tinet %s netmask 0x%08x%s\n' "${address%/*}" $((0xffffffff << (32 - length) & 0xffffffff)) "$tail" ;;
        inet6)
            case "$1" in lo) scope= ;; *) scope=%$1 ;; esac
            printf '\tinet6 %s%s prefixlen %s\n' "${address%/*}" "$scope" "$length"
            ;;
        esac
    done <<LIST
$addresses
LIST
}
# Lists the members and sets state: a bridge is active as soon as one of its members is.
members() {
    state=down
    printf '\tConfiguration:\n\t\tid 0:0:0:0:0:0 priority 0 hellotime 0 fwddelay 0\n'
    printf '\t\tmaxage 0 holdcnt 0 proto stp maxaddr 100 timeout 1200\n'
    printf '\t\troot id 0:0:0:0:0:0 priority 0 ifcost 0 port 0\n\t\tipfilter disabled flags 0x0\n'
    for member in "$net/$1"/brif/*; do
        [ -e "$member" ] || continue
        read -r link <"$net/${member##*/}/operstate"
        [ "$link" != up ] || state=up
        read -r index <"$member/../../${member##*/}/ifindex"
        printf '\tmember: %s flags=3<LEARNING,DISCOVER>\n' "${member##*/}"
        printf '\t        ifmaxaddr 0 port %s priority 0 path cost 0\n' "$index"
    done
}
show() {
    exists "$1"
    flags "$real"
    read -r mtu <"$net/$real/mtu"
    [ "$real" != lo ] || mtu=16384
    printf '%s: flags=%s mtu %s\n' "$1" "$words" "$mtu"
    if [ "$real" = lo ]; then
        addresses_of lo
        return
    fi
    case "$1" in bridge*) options='63<RXCSUM,TXCSUM,TSO4,TSO6>' media='<unknown type>' ;;
    *) options='460<TSO4,TSO6,CHANNEL_IO>' media='autoselect <full-duplex>' ;; esac
    read -r ether <"$net/$1/address"
    read -r state <"$net/$1/operstate"
    printf '\toptions=%s\n\tether %s\n' "$options" "$ether"
    addresses_of "$1"
    [ ! -d "$net/$1/bridge" ] || members "$1"
    case "$words" in *UP,*) printf '\tnd6 options=201<PERFORMNUD,DAD>\n' ;; esac
    [ "$state" = up ] && state=active || state=inactive
    printf '\tmedia: %s\n\tstatus: %s\n' "$media" "$state"
}
# Runs a function for each interface, loopback first as on a Mac.
each() {
    "$1" lo0
    for path in "$net"/en* "$net"/bridge*; do
        [ ! -d "$path/ifindex" ] && [ -e "$path" ] && "$1" "${path##*/}"
    done
}
name_it() { line="$line${line:+ }$1"; }

# Apple's tool only warns when an MTU is refused: the exit status stays 0.
set_mtu() {
    if [ ! -w "$lab/facts" ]; then
        printf 'ifconfig: ioctl (set mtu): Operation not permitted\n' >&2
    elif ! fits "$1" "$2" || ! "$ip" link set "$1" mtu "$2" 2>/dev/null; then
        printf 'ifconfig: ioctl (set mtu): Invalid argument\n' >&2
    fi
    exit 0
}
# A bridge takes only the MTU that all its members have already.
fits() {
    for member in "$net/$1"/brif/*; do
        [ -e "$member" ] || continue
        read -r size <"$net/${member##*/}/mtu"
        [ "$size" = "$2" ] || return 1
    done
}
switch() {
    [ -w "$lab/facts" ] || { printf 'ifconfig: %s: permission denied\n' "$2" >&2 && exit 1; }
    exec "$ip" link set "$1" "$2"
}

case "$#:${1-}" in
0: | 1:-a)
    addresses=$("$ip" -o addr)
    each show
    ;;
1:-l)
    line=
    each name_it
    printf '%s\n' "$line"
    ;;
*:-*)
    printf 'usage: ifconfig [-L] [-C] interface address_family [address [dest_address]]\n' >&2
    exit 1
    ;;
1:*)
    exists "$1"
    addresses=$("$ip" -o addr show dev "$real")
    show "$1"
    ;;
*)
    exists "$1"
    [ ! -w "$lab/calls" ] || printf 'ifconfig %s\n' "$*" >>"$lab/calls"
    case "$#:$2" in
    3:mtu) set_mtu "$1" "$3" ;;
    2:up | 2:down) switch "$1" "$2" ;;
    esac
    printf 'ifconfig: %s: bad value\n' "$2" >&2
    exit 1
    ;;
esac
