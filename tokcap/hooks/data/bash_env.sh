# tokcap: cap the output of `bash -c STRING`. Made by `tokcap hook print-env`, for the variable BASH_ENV.
#
# bash reads this file before a script or a string. For a string it hands over to tokcap-bash, which runs this
# very call again and caps its output. It does nothing for scripts, for interactive or traced shells, inside of
# tokcap, and if tokcap-bash is gone. Only `[[` is used until then: other commands change `$_`.
if { [[ -n ${BASH_EXECUTION_STRING-} && -z ${TOKCAP_INSIDE-} && $- != *[ivx]* && -x @tokcap-bash@ ]]; } 2> /dev/null; then
  tokcap_call=("$_")
  if [[ -r /proc/self/cmdline && ${BASH_VERSINFO[0]} -ge 5 ]]; then
    # All arguments as they were given. `tokcap_call` is now `$_`, `$0` and the arguments.
    mapfile -d '' -t -O 1 tokcap_call < /proc/self/cmdline
  fi
  if [[ " ${tokcap_call[*]:2}" != *" $BASH_EXECUTION_STRING"* ]]; then
    # No /proc, or an old bash: put together what is known.
    tokcap_call=("${tokcap_call[0]}" "${0#-}" "-${-//[chBs]/}c" "$BASH_EXECUTION_STRING" "$0" "$@")
    if shopt -q -o pipefail; then tokcap_call=("${tokcap_call[@]:0:2}" -o pipefail "${tokcap_call[@]:2}"); fi
    if shopt -q login_shell; then tokcap_call=("${tokcap_call[@]:0:2}" -l "${tokcap_call[@]:2}"); fi
  fi
  # If tokcap-bash cannot be executed, go on without it.
  shopt -s execfail
  exec @tokcap-bash@ --tokcap-as "$BASH" "${tokcap_call[1]}" "${tokcap_call[0]}" "${tokcap_call[@]:2}" || {
    shopt -u execfail
    unset tokcap_call
  }
fi
