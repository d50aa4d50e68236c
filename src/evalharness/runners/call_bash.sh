# The child that calls a shell function: the code on stdin; on descriptor 3 what the function prints, then a NUL.
__code=$(cat; printf x)
exec 0</dev/null
eval "${__code%x}" >/dev/null
if [ "$(type -t -- "$1")" != function ]; then
  echo "the code defines no function '$1'" >&2
  exit 127
fi
unset __code
"$@" >&3 3>&- || exit
printf '\0' >&3
