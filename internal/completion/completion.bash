# bash completion for PROGRAM
#
# Nothing that is typed or offered is evaluated: PROGRAM reads the line by itself, and quotes what it offers.

_PROGRAM_candidates() {
    local program=$1 options candidate
    type -P -- "$program" >/dev/null || program=PROGRAM # an alias
    COMPREPLY=()
    {
        IFS= read -r options
        while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done
    } < <(command -- "$program" __candidates bash "$COMP_TYPE" "$2" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    [[ $options != *nospace* ]] || compopt -o nospace
    [[ $options != *nofiles* ]] || compopt +o default
}

complete -o default -F _PROGRAM_candidates PROGRAM
