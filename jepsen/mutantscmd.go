package main

import (
	"fmt"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"tenure/jepsen/mutants"
)

func mutantsCommand() *cobra.Command {
	o := mutants.Options{Out: os.Stdout}
	list, run := false, ""
	c := &cobra.Command{Use: "mutants", Args: cobra.NoArgs,
		Short: "Break the rules one by one and check that the tests notice"}
	c.Flags().StringVar(&run, "run", "", "only mutants whose name matches this regular expression")
	c.Flags().BoolVar(&o.Update, "update", false, "write the results to results.toml and TABLE.md")
	c.Flags().BoolVar(&list, "list", false, "list the mutants and exit")
	c.Flags().BoolVar(&o.Verbose, "verbose", false, "print the output of the tests")
	c.Flags().IntVar(&o.Workers, "workers", 2, "mutants to test at a time")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		var err error
		if run != "" {
			if o.Run, err = regexp.Compile(run); err != nil {
				return fmt.Errorf("--run: %w", err)
			}
		}
		root, err := mutants.Root("")
		if err != nil {
			return err
		}
		if list {
			return mutants.List(root, o)
		}
		return mutants.Run(cmd.Context(), root, o)
	}
	return c
}
