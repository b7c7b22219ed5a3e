#!/bin/sh
# networksetup, the reading side. Errors go to standard output with exit status 4, as the real one does it.
lab=/var/db/lab
net=/sys/class/net
note='An asterisk (*) denotes that a network service is disabled.'

refuse() {
    [ $# -eq 0 ] || printf '%s\n' "$1"
    printf '** Error: The parameters were not valid.\n'
    exit 4
}
# Sets device to that of the service $1.
service() {
    while read -r _ device name; do
        [ "$name" = "$1" ] && return
    done <"$lab/services"
    refuse "$1 is not a recognized network service."
}
# Sets port to the hardware port of device $1.
port_of() {
    while read -r device port; do
        [ "$device" = "$1" ] && return
    done <"$lab/ports"
    port=
}
# Sets device to what $1 names: a device, a hardware port or a service.
anything() {
    while read -r device name; do
        case "$1" in "$device" | "$name") return ;; esac
    done <"$lab/ports"
    service "$1"
}
hardware_ports() {
    while read -r device name; do
        address=N/A
        [ ! -e "$net/$device/address" ] || read -r address <"$net/$device/address"
        printf '\nHardware Port: %s\nDevice: %s\nEthernet Address: %s\n' "$name" "$device" "$address"
    done <"$lab/ports"
    printf '\nVLAN Configurations\n===================\n'
}
services() {
    printf '%s\n' "$note"
    while read -r state _ name; do
        [ "$state" = on ] || name="*$name"
        printf '%s\n' "$name"
    done <"$lab/services"
}
order() {
    printf '%s\n' "$note"
    number=0
    while read -r state own name; do
        if [ "$state" = on ]; then number=$((number + 1)) mark=$number; else mark='*'; fi
        port_of "$own"
        printf '(%s) %s\n(Hardware Port: %s, Device: %s)\n\n' "$mark" "$name" "$port" "$own"
    done <"$lab/services"
}
# Sets address and mask from the first IPv4 address of device $1.
address_of() {
    address=
    # shellcheck disable=SC2046  # words are wanted
    set -- $(/usr/libexec/lab/ip -4 -o addr show dev "$1" 2>/dev/null)
    [ $# -gt 3 ] || return
    address=${4%/*}
    bits=$((0xffffffff << (32 - ${4#*/}) & 0xffffffff))
    mask=$((bits >> 24)).$((bits >> 16 & 255)).$((bits >> 8 & 255)).$((bits & 255))
}
info() {
    service "$1"
    own=$device name=$1
    address_of "$own"
    if [ "$own" = en0 ]; then
        printf 'DHCP Configuration\n' && router=10.77.255.254
    else
        printf 'Manual Configuration\n' && router='(null)'
    fi
    [ -z "$address" ] || printf 'IP address: %s\nSubnet mask: %s\nRouter: %s\n' "$address" "$mask" "$router"
    [ "$own" != en0 ] || printf 'Client ID: \n'
    printf 'IPv6: Automatic\nIPv6 IP address: none\nIPv6 Router: none\n'
    read -r address <"$net/$own/address"
    case "$name" in Wi-Fi) label=Wi-Fi\ ID ;; *) label=Ethernet\ Address ;; esac
    printf '%s: %s\n' "$label" "$address"
}
mtu() {
    anything "$1"
    read -r size <"$net/$device/mtu"
    printf 'Active MTU: %s (Current Setting: %s)\n' "$size" "$size"
}
mtu_range() {
    anything "$1"
    port_of "$device"
    case "$port" in Thunderbolt*) most=65518 ;; Ethernet) most=9000 ;; *) most=1500 ;; esac
    printf 'Valid MTU Range: 1280-%s\n' "$most"
}
enabled() {
    service "$1"
    while read -r state _ name; do
        [ "$name" = "$1" ] || continue
        if [ "$state" = on ]; then printf 'Enabled\n'; else printf 'Disabled\n'; fi
    done <"$lab/services"
}

case "$#:${1-}" in
1:-listallhardwareports) hardware_ports ;;
1:-listallnetworkservices) services ;;
1:-listnetworkserviceorder) order ;;
1:-listlocations | 1:-getcurrentlocation) printf 'Automatic\n' ;;
2:-getinfo) info "$2" ;;
2:-getMTU) mtu "$2" ;;
2:-listValidMTURange | 2:-listvalidMTUrange) mtu_range "$2" ;;
2:-getnetworkserviceenabled) enabled "$2" ;;
*:-set* | *:-create* | *:-delete* | *:-switchto* | *:-remove*)
    [ ! -w "$lab/calls" ] || printf 'networksetup %s\n' "$*" >>"$lab/calls"
    [ -w "$lab/facts" ] || { printf '** Error: Command requires admin privileges.\n' && exit 14; }
    printf 'networksetup: the lab does not act on %s\n' "$1" >&2
    exit 69
    ;;
*) refuse ;;
esac
