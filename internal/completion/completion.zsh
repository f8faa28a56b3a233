#compdef PROGRAM
#
# zsh completion for PROGRAM
#
# Nothing that is typed or offered is evaluated: (Q) only takes quotes away, and compadd quotes what it inserts.

_PROGRAM() {
    local program=${(Q)words[1]} line options
    local -a lines names shown open openShown
    whence -p -- "$program" >/dev/null || program=PROGRAM # an alias
    lines=("${(@f)$(command -- "$program" __candidates zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    options=${lines[1]}
    for line in "${(@)lines[2,-1]}"; do
        [[ -n $line ]] || continue
        if [[ $options == *nospace* && ${line%%$'\t'*} == */ ]]; then
            open+=("${line%%$'\t'*}")
            openShown+=("${line/$'\t'/  -- }")
        else
            names+=("${line%%$'\t'*}")
            shown+=("${line/$'\t'/  -- }")
        fi
    done
    if (( ${#names} + ${#open} )); then
        compadd -d shown -a -- names
        compadd -S '' -d openShown -a -- open
    elif [[ $options != *nofiles* ]]; then
        compset -P '--[^=]##='
        _files
    fi
}

# Sourced, the script only registers the function; autoloaded, it is the function.
if [[ ${funcstack[1]} == _PROGRAM ]]; then
    _PROGRAM "$@"
else
    compdef _PROGRAM PROGRAM
fi
