# tokcap: start-up file of a bash that tokcap-bash runs (BASH_ENV). See `source/pipes.py`.
#
# A last stage that has one of these names asks tokcap for a copy of its pipe, and reads that. tokcap stores what
# goes through. Nothing here may fail under `set -eu`, and the trace of `set -x` must not show it.
_tokcap_last=$_ _tokcap_pipes=($TOKCAP_STAGES)
if [[ ${TOKCAP_BASH_ENV-} ]]; then BASH_ENV=$TOKCAP_BASH_ENV; else unset BASH_ENV; fi
unset TOKCAP_STAGES TOKCAP_BASH_ENV

function _tokcap_stage {
  if [[ -p /dev/stdin ]] && _tokcap_reads_pipe "$@"; then
    builtin local _tokcap_slot='' _tokcap_pipe _tokcap_answer=''
    if builtin read -r -t 2 -N 1 _tokcap_slot < "/proc/$_tokcap_pipes/fd/${_tokcap_pipes[1]}"; then
      exec {_tokcap_pipe}< "/proc/$_tokcap_pipes/fd/${_tokcap_pipes[5 + _tokcap_slot]}"
      builtin printf 'stage %s %s %s -\n' "$BASHPID" "$_tokcap_slot" "$1" > "/proc/$_tokcap_pipes/fd/${_tokcap_pipes[2]}"
      builtin read -r -N 1 -u "$_tokcap_pipe" _tokcap_answer || :
      if [[ $_tokcap_answer == + ]]; then exec <&"$_tokcap_pipe"; fi
      exec {_tokcap_pipe}<&-
    fi
  fi
  # A process of its own becomes the command, as without the function.
  if [[ ${_tokcap_pipes[4]} == 1 && $BASHPID != "$$" && ${FUNCNAME[2]-main} == main ]]; then exec "$@" 2>&9 9>&-; fi
  builtin command "$@" 2>&9 9>&- || builtin return
}

# A command that reads files leaves the pipe to others. The first operand of some is a pattern or a program.
function _tokcap_reads_pipe {
  builtin local _tokcap_word _tokcap_program=
  if [[ $1 == @(grep|sed|awk) ]]; then _tokcap_program=1; fi
  for _tokcap_word in "${@:2}"; do
    if [[ $_tokcap_program && $_tokcap_word != -* ]]; then
      _tokcap_program=
    elif [[ -e $_tokcap_word ]]; then
      builtin return 1
    fi
  done
}

# tokcap sends the signal while the pipeline runs. bash calls this when the pipeline has ended; one in the
# background has not.
function _tokcap_statuses {
  local _tokcap_ended=("${PIPESTATUS[@]}") IFS=' '
  if [[ ! ${!-} ]]; then
    builtin printf 'ended %s %s\n' "$BASHPID" "${_tokcap_ended[*]}" > "/proc/$_tokcap_pipes/fd/${_tokcap_pipes[2]}"
  fi
}

function _tokcap_begin {
  builtin local _tokcap_name
  for _tokcap_name in head tail grep sed awk wc sort; do
    if ! builtin declare -F "$_tokcap_name" > /dev/null; then
      builtin eval "function $_tokcap_name { _tokcap_stage $_tokcap_name \"\$@\" || builtin return; } 9>&2 2> /dev/null"
    fi
  done
  if (( _tokcap_pipes[3] )); then builtin trap '{ _tokcap_statuses "$_"; } 2> /dev/null' URG; fi
  builtin unset -f _tokcap_begin
  builtin unset _tokcap_last
}
if [[ ${BASH_ENV-} ]]; then
  builtin . "$BASH_ENV"
  _tokcap_last=$_
fi
# The last argument becomes `$_`.
_tokcap_begin "$_tokcap_last"
