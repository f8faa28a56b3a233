package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tenure/internal/suggest"
)

// usageError is a command line that cannot be carried out.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// many is the number of arguments of a command that takes any number.
const many = 1 << 30

// arguments returns a check that a command is given at least least and at most most arguments.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch n := len(args); {
		case n >= least && n <= most:
			return nil
		case most == 0:
			return usage("%s takes no arguments, and %q is one", cmd.CommandPath(), args[0])
		default:
			return usage("wrong number of arguments (%d); write it as %s", n, writtenAs(cmd))
		}
	}
}

// writtenAs returns the command's usage line without the general flags.
func writtenAs(cmd *cobra.Command) string {
	path := cmd.CommandPath()
	if cmd.HasParent() {
		path = cmd.Parent().CommandPath() + " " + cmd.Use
	}
	return path
}

// writtenDashed returns the command's usage line with -- before the arguments.
func writtenDashed(cmd *cobra.Command) string {
	line := writtenAs(cmd)
	return cmd.CommandPath() + " --" + strings.TrimPrefix(line, cmd.CommandPath())
}

// group makes cmd a command that only holds others.
func group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	var names []string
	for _, c := range children {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return noCommand(cmd, args[0], names)
		}
		return usage("%s needs a command: %s", cmd.CommandPath(), strings.Join(names, ", "))
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.RemoveCommand(children...)
	cmd.AddCommand(children...)
	return cmd
}

// noCommand returns the error that cmd has no command of the given name, with the names that were probably meant, or
// all.
func noCommand(cmd *cobra.Command, given string, names []string) error {
	hint := suggest.Question(given, "", names)
	if here, ok := elsewhere[given]; ok && !cmd.HasParent() {
		hint = "; did you mean " + here + "?"
	}
	if hint == "" {
		hint = "; there are " + strings.Join(names, ", ")
	}
	return usage("%s has no command %q%s", cmd.CommandPath(), given, hint)
}

// elsewhere has commands of etcdctl, consul and redis-cli, and what does the same here.
var elsewhere = map[string]string{
	"kv": "get, set, delete or list", "incr": "add", "keys": "list", "scan": "list",
	"snapshot": "backup", "endpoint": "status", "info": "status", "operator": "member or master",
	"move-leader": "master transfer", "leader": "master", "auth": "acl", "user": "acl token", "role": "acl policy",
}

// elsewhereFlags are flags of theirs in the same way.
var elsewhereFlags = map[string]string{"recurse": "prefix"}

// valueKinds describe what flags take, by the names that package pflag has for their types.
var valueKinds = map[string]string{
	"int": "must be a whole number", "uint64": "must be a number from 0 up", "float64": "must be a number",
	"bool": "must be true or false", "duration": "must be a time with its unit, such as 500ms, 2m or 7d",
}

// flagError rewrites package pflag's complaint about a flag.
func flagError(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if errors.As(err, &missing) {
		name := missing.GetSpecifiedName()
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		hint := suggest.Question(name, "--", names)
		if here := elsewhereFlags[name]; cmd.Flags().Lookup(here) != nil {
			hint = "; did you mean --" + here + "?"
		}
		if hint == "" && strings.Contains(cmd.Use, " ") {
			hint = "; an argument that begins with a dash goes behind --, as in " + writtenDashed(cmd)
		}
		return usage("%w%s", err, hint)
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		f := invalid.GetFlag()
		why, known := valueKinds[f.Value.Type()]
		var own usageError
		if errors.As(invalid.Unwrap(), &own) || !known {
			why = invalid.Unwrap().Error()
		}
		return usage("--%s %q: %s", f.Name, invalid.GetValue(), why)
	}
	return usageError{err}
}

// decimal is the value of a flag that takes a number from 0 up. Unlike package pflag's own it reads 010 as ten, as the
// API and the arguments of the other commands do.
type decimal uint64

// String returns the flag's value.
func (d *decimal) String() string { return strconv.FormatUint(uint64(*d), 10) }

// Type returns the name of the value in help texts.
func (d *decimal) Type() string { return "uint64" }

// Set reads the flag's value.
func (d *decimal) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return errors.New(valueKinds["uint64"])
	}
	*d = decimal(n)
	return nil
}

// commandNames returns the names of the commands that cmd's help lists.
func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(append(names, c.Name()), c.Aliases...)
		}
	}
	return names
}
