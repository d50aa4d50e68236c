# The child that calls a shell function: the code on stdin, what the function prints on descriptor 3.
__code=$(cat; printf x)
exec 0</dev/null
eval "${__code%x}" >/dev/null || { __status=$?; [ "$(type -t -- "$1")" = function ] || exit "$__status"; }
if [ "$(type -t -- "$1")" != function ]; then
  echo "the code defines no function '$1'" >&2
  exit 127
fi
unset __code __status
"$@" >&3 3>&-
