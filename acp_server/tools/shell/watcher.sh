# Terminates the processes that a server's commands left running, once the server is gone, even
# after SIGKILL.
#
# Usage: sh watcher.sh MARK
#
# On stdin, one line each: "+GROUP" registers a process group, "-GROUP" removes it. End-of-file on
# stdin means that the server has ended. Where there is a /proc, processes that left their group are
# found by the variable that every command of the server has in its environment.
#
# POSIX only. All code is in functions, so the shell has read the whole file before it waits: an
# upgrade may replace the file meanwhile.

reach_all() { # signal all registered and marked processes; fails if there are none
    status=1
    for group in $groups; do
        kill -s "$1" -- "-$group" && status=0
    done
    for file in $(grep -lsF "ACP_SERVER_COMMAND_ID=$mark" /proc/[0-9]*/environ); do
        process=${file#/proc/}
        kill -s "$1" -- "${process%/environ}" && status=0
    done
    return $status
}

pause() {
    sleep 0.1 || sleep 1 # some systems accept whole seconds only
}

end_all() {
    reach_all TERM || return
    for _ in 1 2 3; do
        pause
        reach_all 0 || return
    done
    for _ in 1 2 3; do # a process that forks during the scan can slip through one round
        reach_all KILL || return
        pause
    done
}

watch() {
    mark=$1
    groups=' '
    while read -r line; do
        group=${line#?}
        case $line in
        +*) groups="$groups$group " ;;
        -*) case $groups in
            *" $group "*) groups="${groups%%" $group "*} ${groups#*" $group "}" ;;
            esac ;;
        esac
    done
    end_all
}

# Signals that end the server, or its whole login session, must not end the watcher before it acts.
trap '' HUP INT QUIT TERM PIPE USR1 USR2 TSTP TTIN TTOU
watch "$1"
exit
