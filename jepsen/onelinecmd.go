package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"tenure/jepsen/mutants"
	"tenure/jepsen/mutants/oneline"
)

func oneLineCommand() *cobra.Command {
	o := oneline.Options{Out: os.Stdout}
	match := ""
	c := &cobra.Command{Use: "oneline", Args: cobra.NoArgs,
		Short: "Change the code one line at a time and see which changes no test notices"}
	f := c.Flags()
	f.StringSliceVar(&o.Files, "files", nil, "every mutant of these files, by their paths in the repository")
	f.Uint64Var(&o.Seed, "seed", 1, "draw mutants by this seed")
	f.IntVar(&o.Count, "count", 0, "draw so many mutants from all packages")
	f.StringVar(&match, "match", "", "of those, only mutants whose line in --list matches this regular expression")
	f.StringVar(&o.Results, "results", "", "append to this file, and skip the mutants that it has (required)")
	f.BoolVar(&o.Again, "again", false, "try the survivors of --results once more, and nothing else")
	f.BoolVar(&o.Quick, "quick", false,
		"run no test that starts clusters or takes more than two seconds: --again without it tries what survives")
	f.BoolVar(&o.List, "list", false, "print the mutants and run nothing")
	f.BoolVar(&o.Report, "report", false,
		"count the results of what --files, --seed and --count choose, and run nothing")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Results == "" && !o.List {
			return errors.New("--results names no file: give one outside the repository; a run that was ended goes " +
				"on from it")
		}
		if match != "" {
			var err error
			if o.Match, err = regexp.Compile(match); err != nil {
				return fmt.Errorf("--match: %w", err)
			}
		}
		root, err := mutants.Root("")
		if err != nil {
			return err
		}
		return oneline.Run(cmd.Context(), root, o)
	}
	return c
}
