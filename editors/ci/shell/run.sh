#!/usr/bin/env bash
# Does a task in a pipeline, tries again where that may help, and ends with the code of the last try.
# usage: run.sh TASK.md [options of acp-server run]
set -uo pipefail

task=${1:?usage: run.sh TASK.md [options]}
shift
retry_delay=${ACP_RETRY_DELAY_SECONDS:-${ACP_WAIT_SECONDS:-30}}  # the second is an old name
max_cost=${ACP_MAX_COST-1}  # empty for models whose price nobody knows
code=75
for try in 1 2 3; do
  acp-server run --prompt-file "$task" --format json ${max_cost:+--max-cost "$max_cost"} \
    --timeout "${ACP_TIMEOUT:-900}" "$@" > acp-server.json < /dev/null
  code=$?
  [ "$code" -eq 75 ] || break
  [ "$try" -eq 3 ] || sleep "$((retry_delay * try))"
done
case $code in
  0) echo "done" >&2 ;;
  5) echo "denied: something was left undone, see permission_denials" >&2 ;;
  6) echo "there are findings" >&2 ;;
  *) echo "not done (exit code $code), see acp-server.json" >&2 ;;
esac
exit "$code"
