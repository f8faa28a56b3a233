package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tenure/internal/buildinfo"
)

func newRoot(environ []string, stdout, stderr io.Writer) *cobra.Command {
	s := newSettings()
	root := &cobra.Command{
		Use:   "kvnode",
		Short: "Run a node of a Tenure cluster",
		Long: "kvnode runs a node of a Tenure cluster. Without arguments: one node, its data in ./kvnode-data, clients on\n" +
			"127.0.0.1:8500. Every flag is also a variable (--lease-time is KVNODE_LEASE_TIME) and a name in the file of\n" +
			"--config; a flag goes before a variable, a variable before the file.",
		Example: "  kvnode\n  kvnode dev\n" +
			"  kvnode --id 1 --cluster 1=127.0.0.1:8300,2=127.0.0.1:8301,3=127.0.0.1:8302 --data ./node1",
		Args:              noArgs,
		Version:           buildinfo.Read().Line("kvnode"),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := s.resolve(environ)
			if err != nil {
				return err
			}
			info := buildinfo.Read()
			cfg.Version, cfg.Revision = info.Version, info.Revision
			return runNode(cmd.Context(), cfg, s, stderr)
		},
	}
	root.Flags().SortFlags = false
	root.Flags().AddFlagSet(s.flags)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetOut(stdout)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newVersion(stdout), newDev(environ, stdout))
	return root
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return badConfig("%q is not a command of %s; see %s --help", args[0], cmd.CommandPath(), cmd.CommandPath())
	}
	return nil
}

// flagError says what is wrong with the command line in the words of the other sources.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return badConfig("--%s: %v", invalid.GetFlag().Name, invalid.Unwrap())
	}
	return badConfig("%v; see %s --help", err, cmd.CommandPath())
}

func newVersion(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the revision that was built",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(stdout, buildinfo.Read().Line("kvnode"))
			return err
		},
	}
}
