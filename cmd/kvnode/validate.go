package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// newValidate is for whoever has changed the configuration of a node and does not want to find out by a restart.
func newValidate(environ []string, stdout io.Writer) *cobra.Command {
	s := newSettings()
	s.unseen = true
	cmd := &cobra.Command{
		Use:   "validate [FLAGS]",
		Short: "Check the configuration of a node without starting it",
		Long: "Check the flags, the variables and the file of --config as a start of kvnode would, and read the files\n" +
			"of TLS that they name. What is wrong is printed, and the exit code is 78. The data directory is not looked at,\n" +
			"no port is opened, and no other node is asked: a node that runs may go on meanwhile.",
		Example: "  kvnode validate --config /etc/kvnode.toml",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := s.resolve(environ)
			if err != nil {
				return err
			}
			if err := cfg.Check(); err != nil {
				return err
			}
			_, err = fmt.Fprintln(stdout, "the configuration is valid")
			return err
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(s.flags)
	return cmd
}
