package main

import (
	"errors"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tenure/internal/completion"
	"tenure/internal/suggest"
)

func newRoot(environ []string, stdout, stderr io.Writer) *cobra.Command {
	s := newSettings()
	var version bool
	root := &cobra.Command{
		Use:   "kvnode",
		Short: "Run a node of a Tenure cluster",
		Long: "kvnode runs a node of a Tenure cluster. Without arguments it runs a single node with its data in\n" +
			"./kvnode-data, for clients on 127.0.0.1:8500 and, if that port is free, for nodes that join it on\n" +
			"127.0.0.1:8300. To run a node of a larger cluster, give all nodes the same --cluster list, and each\n" +
			"its own --id and --data. To add a node to a cluster that runs, or to replace one that is lost, start\n" +
			"it with --join.\n\n" +
			"Every flag can also be set by an environment variable (--lease-time by KVNODE_LEASE_TIME) and, under\n" +
			"its own name, in the file that --config names. A flag overrides a variable, and a variable the file.",
		Example: "  kvnode\n  kvnode dev\n" +
			"  kvnode --id 1 --cluster 1=127.0.0.1:8300,2=127.0.0.1:8301,3=127.0.0.1:8302 --data ./node1\n" +
			"  kvnode --join 127.0.0.1:8300 --peer 127.0.0.1:8303 --client 127.0.0.1:8503 --data ./node4",
		Args:              noArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return printVersion(stdout)
			}
			cfg, err := s.resolve(environ)
			if err != nil {
				return s.withAdvice(err)
			}
			return runNode(cmd.Context(), cfg, s, stderr)
		},
	}
	root.Flags().SortFlags = false
	root.Flags().AddFlagSet(s.flags)
	root.Flags().BoolVarP(&version, "version", "v", false, "version for kvnode")
	root.SetOut(stdout)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newVersion(stdout), newDev(environ, stdout), newValidate(environ, stdout),
		newRejoin(environ, stderr), newCheck(stdout), newInspect(stdout, stderr), newRecover(stdout, stderr),
		newRestore(stdout, stderr), newInit(), newCompletion(stdout))
	return root
}

// newCompletion returns the command for scripts of shells. It is for packages, and not listed.
func newCompletion(stdout io.Writer) *cobra.Command {
	cmd := completion.Command("kvnode", stdout)
	cmd.Hidden = true
	return cmd
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		var names []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				names = append(names, c.Name())
			}
		}
		return badConfig("%q is not a command of %s; see %s --help%s",
			args[0], cmd.CommandPath(), cmd.CommandPath(), suggest.Question(args[0], "", names))
	}
	return nil
}

// oneArg accepts one argument. The error about any other number of them is todo.
func oneArg(todo string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return badConfig("%s", todo)
		}
		return nil
	}
}

// flagError words an error about a flag as those of the other sources are.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	var number *strconv.NumError
	if errors.As(err, &invalid) && errors.As(err, &number) { // of pflag's own types, whose words are those of Go
		return badConfig("--%s %q: must be a whole number, at least 0", invalid.GetFlag().Name, number.Num)
	}
	if errors.As(err, &invalid) {
		return badConfig("--%s: %v", invalid.GetFlag().Name, invalid.Unwrap())
	}
	hint := ""
	var missing *pflag.NotExistError
	if errors.As(err, &missing) {
		hint = suggest.Question(missing.GetSpecifiedName(), "--", flagNames(cmd.Flags()))
	}
	return badConfig("%v; see %s --help%s", err, cmd.CommandPath(), hint)
}

func flagNames(f *pflag.FlagSet) []string {
	var names []string
	f.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}
