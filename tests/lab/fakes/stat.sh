#!/bin/sh
# stat as BSD has it: a format of a few letters; the options of Linux are refused.
usage() {
    printf 'usage: stat [-FLnq] [-f format | -l | -r | -s | -x] [-t timefmt] [file ...]\n' >&2
    exit 1
}
follow='' form='' newline='\n'
while getopts :f:Lnq option; do
    case "$option" in
    f) form=$OPTARG ;;
    L) follow=-L ;;
    n) newline='' ;;
    q) ;;
    *) printf 'stat: illegal option -- %s\n' "$OPTARG" >&2 && usage ;;
    esac
done
shift $((OPTIND - 1))
case "$#:$form" in 0:* | *:) usage ;; esac
rest=$form form=''
while [ -n "$rest" ]; do
    case "$rest" in
    %Lp* | %OLp* | %Mp%Lp*) form="$form%a" ;;
    %Su*) form="$form%U" ;;
    %Sg*) form="$form%G" ;;
    %Sp*) form="$form%A" ;;
    %HT*) form="$form%F" ;;
    %u*) form="$form%u" ;;
    %g*) form="$form%g" ;;
    %z*) form="$form%s" ;;
    %m*) form="$form%Y" ;;
    %i*) form="$form%i" ;;
    %N*) form="$form%n" ;;
    %*) printf 'stat: the lab does not know %s\n' "$rest" >&2 && exit 69 ;;
    *) form="$form${rest%"${rest#?}"}" && rest=${rest#?} && continue ;;
    esac
    case "$rest" in %Mp%Lp*) rest=${rest#??????} ;; %OL*) rest=${rest#????} ;; %[LSH]*) rest=${rest#???} ;; *) rest=${rest#??} ;; esac
done
# shellcheck disable=SC2086  # nothing when links are not followed
exec /usr/libexec/lab/stat $follow --printf "$form$newline" -- "$@"
