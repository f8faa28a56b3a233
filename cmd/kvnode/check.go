package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"tenure/server/recovery"
)

// errDamaged is what check ends with if it finds damage. It has said everything before.
var errDamaged = errors.New("the data directory is damaged: see above")

// newCheck tells what is wrong with the files of a node that does not run.
func newCheck(stdout io.Writer) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check DIR",
		Short: "Say what is wrong with the files of a stopped node, and what to do",
		Long: "Read every page and record in the data directory of a stopped node, and print what is wrong\n" +
			"with its files and what to do. Nothing is changed, not even the lock file, so the directory may\n" +
			"be a copy, or be on a file system that is mounted read-only. A directory on which a node runs is\n" +
			"refused.\n\n" +
			"The exit code is 0 if the directory is sound, 1 if it is damaged, and 78 if it is not a data\n" +
			"directory or in use.",
		Example: "  kvnode check /var/lib/kvnode",
		Args:    oneArg("check: name one data directory: kvnode check DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			return check(args[0], asJSON, stdout)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a JSON object, also if the directory is refused")
	return cmd
}

// check prints what is wrong with a directory.
func check(dir string, asJSON bool, stdout io.Writer) error {
	r, err := recovery.Check(dir)
	switch {
	case err != nil && asJSON:
		return errors.Join(err, recovery.WriteRefusal(stdout, dir, err))
	case err != nil:
		return err
	case asJSON:
		err = r.WriteJSON(stdout)
	default:
		err = r.Write(stdout)
	}
	if err == nil && !r.Sound {
		err = errDamaged
	}
	return err
}
