package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// negativeNumbers returns args with a -- before the arguments if one of them is a negative number, which package pflag
// would take for flags: no flag of kvctl is a digit. Command lines with a -- of their own stay as they are.
func negativeNumbers(root *cobra.Command, args []string) []string {
	if !slices.ContainsFunc(args, isNegative) || slices.Contains(args, "--") {
		return args
	}
	cmd, rest, err := root.Find(args)
	if takesNone := !strings.Contains(cmd.Use, " "); err != nil || cmd.DisableFlagParsing || takesNone {
		return args
	}
	var flags, values []string
	negative := false
	for i := 0; i < len(rest); i++ {
		word := rest[i]
		if !strings.HasPrefix(word, "-") || word == "-" || isNegative(word) {
			values = append(values, word)
			negative = negative || isNegative(word)
			continue
		}
		flags = append(flags, word)
		if takesNext(cmd, word) && i+1 < len(rest) {
			i++
			flags = append(flags, rest[i])
		}
	}
	if !negative {
		return args
	}
	path := strings.Fields(cmd.CommandPath())[1:]
	return slices.Concat(path, flags, []string{"--"}, values)
}

// isNegative reports whether an argument is a negative number.
func isNegative(word string) bool {
	if len(word) < 2 || word[0] != '-' || word[1] < '0' || word[1] > '9' {
		return false
	}
	_, err := strconv.ParseFloat(word, 64)
	return err == nil
}

// takesNext reports whether the next argument is the value of the flag that word names.
func takesNext(cmd *cobra.Command, word string) bool {
	f := flagOf(cmd, strings.TrimPrefix(word, "--"))
	if len(word) == 2 {
		f = cmd.Flags().ShorthandLookup(word[1:])
	}
	return f != nil && f.NoOptDefVal == ""
}
