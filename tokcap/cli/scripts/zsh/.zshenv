# tokcap: start-up file of a zsh that tokcap-zsh runs (ZDOTDIR). It does what `pipes.bash` does for bash.
#
# Here a last stage runs in the shell that waits for the pipeline, which knows how the other stages have ended.
if [[ -n ${TOKCAP_ZDOTDIR-} ]]; then ZDOTDIR=$TOKCAP_ZDOTDIR; else unset ZDOTDIR; fi
_tokcap_pipes=(${=TOKCAP_STAGES})
unset TOKCAP_STAGES TOKCAP_ZDOTDIR
if [[ -r ${ZDOTDIR:-$HOME}/.zshenv ]]; then builtin . ${ZDOTDIR:-$HOME}/.zshenv; fi

function _tokcap_stage {
  builtin emulate -L zsh
  builtin local slot='' relay='' answer='' place=inner result=0
  if [[ -p /dev/stdin ]] && _tokcap_reads_pipe "$@" &&
    builtin read -r -t 2 -u 0 -k 1 slot < /proc/$_tokcap_pipes[1]/fd/$_tokcap_pipes[2]; then
    # Other stages run in processes without jobs.
    if (( $#jobstates )); then place=last; fi
    exec {relay}< /proc/$_tokcap_pipes[1]/fd/$_tokcap_pipes[slot+6]
    builtin print -r -- stage $sysparams[pid] $slot $1 $place > /proc/$_tokcap_pipes[1]/fd/$_tokcap_pipes[3]
    builtin read -r -u $relay -k 1 answer
    if [[ $answer == + ]]; then exec <&$relay; fi
    exec {relay}<&-
  fi
  builtin command "$@" 2>&9 9>&- || result=$?
  if [[ $place$answer == last+ ]]; then _tokcap_states $1; fi
  builtin return $result
}

# A command that reads files leaves the pipe to others. The first operand of some is a pattern or a program.
function _tokcap_reads_pipe {
  builtin local word program=''
  if [[ $1 == (grep|sed|awk) ]]; then program=1; fi
  for word in "${@[2,-1]}"; do
    if [[ -n $program && $word != -* ]]; then
      program=''
    elif [[ -e $word ]]; then
      builtin return 1
    fi
  done
}

# The end of a stage is seen a little later than the end of its output.
function _tokcap_states {
  if [[ $1 != head && ${(j: :)jobstates} == *=running* ]]; then zselect -t 1; fi
  builtin print -r -- ended $sysparams[pid] ${(j:;:)jobstates} > /proc/$_tokcap_pipes[1]/fd/$_tokcap_pipes[3]
}

function _tokcap_begin {
  builtin emulate -L zsh -o no_aliases
  builtin zmodload zsh/parameter zsh/system zsh/zselect || builtin return 0
  builtin local name
  for name in head tail grep sed awk wc sort; do
    if (( ! $+functions[$name] )); then
      builtin eval "function $name { _tokcap_stage $name \"\$@\" || builtin return \$? } 9>&2 2> /dev/null"
    fi
  done
  builtin unfunction _tokcap_begin
}
_tokcap_begin
