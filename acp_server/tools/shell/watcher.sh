# Ends what a server's commands left running, once the server is gone, however it went.
#
# Usage: sh watcher.sh MARK
#
# On stdin, a line each: "+GROUP" names a process group to end, "-GROUP" takes it back. The end of
# stdin is the end of the server. Wherever there is a /proc, processes that left their group are
# found by the variable that every command of the server has in its environment.
#
# POSIX only; reads itself to the end before it begins, for an upgrade may replace the file.

reach_all() { # signal every process there is; fails when there is none
    status=1
    for group in $groups; do
        kill -s "$1" -- "-$group" && status=0
    done
    for file in $(grep -lsF "ACP_SERVER_COMMAND=$mark" /proc/[0-9]*/environ); do
        process=${file#/proc/}
        kill -s "$1" -- "${process%/environ}" && status=0
    done
    return $status
}

pause() {
    sleep 0.1 || sleep 1 # where only whole seconds are known
}

end_all() {
    reach_all TERM || return
    for _ in 1 2 3; do
        pause
        reach_all 0 || return
    done
    for _ in 1 2 3; do # what forks meanwhile can slip through one round
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

trap '' HUP INT QUIT TERM PIPE USR1 USR2 TSTP TTIN TTOU
watch "$1"
exit
