# fish completion for PROGRAM
#
# Nothing that is typed or offered is evaluated: fish quotes what it inserts.

function __PROGRAM_ask
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    type -q -- $program; or set program PROGRAM
    set -l typed (commandline -ct)
    set -l current (string unescape -- $typed)
    or set current (string unescape -- $typed\')
    or set current (string unescape -- $typed\")
    set -l lines ($program __candidates fish $words "$current" 2>/dev/null)
    set -l options $lines[1]
    set -e lines[1]
    set -g __PROGRAM_candidates $lines
    # Without candidates of the program's own, fish offers files.
    test (count $lines) -gt 0; or string match -q '*nofiles*' -- "$options"
end

complete -c PROGRAM -e
complete -c PROGRAM -n __PROGRAM_ask -f -a '$__PROGRAM_candidates'
